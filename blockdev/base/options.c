/* SPDX-License-Identifier: MIT */
/* An ordered list of keys and values, and the "a=b,c=d" notation. */
#include "blockdev/include/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/strbuf.h"

struct pair {
	char *key, *value;
	bool bare;              /* a number or a truth value of JSON, not a text */
};

struct bd_opts {
	struct pair *pairs;
	size_t nr, room;
};

/* More keys than any real option tree has; keeps look-ups, which are linear, cheap. */
#define MAX_KEYS 8192

struct bd_opts *bd_opts_new(void)
{
	return calloc(1, sizeof(struct bd_opts));
}

void bd_opts_free(struct bd_opts *opts)
{
	if (!opts)
		return;
	for (size_t i = 0; i < opts->nr; i++) {
		free(opts->pairs[i].key);
		free(opts->pairs[i].value);
	}
	free(opts->pairs);
	free(opts);
}

static int set(struct bd_opts *opts, const char *key, const char *value, bool bare);

struct bd_opts *bd_opts_copy(const struct bd_opts *opts)
{
	struct bd_opts *copy = bd_opts_new();

	for (size_t i = 0; copy && opts && i < opts->nr; i++) {
		if (set(copy, opts->pairs[i].key, opts->pairs[i].value, opts->pairs[i].bare) == 0)
			continue;
		bd_opts_free(copy);
		copy = NULL;
	}
	return copy;
}

static struct pair *find(const struct bd_opts *opts, const char *key)
{
	for (size_t i = 0; i < opts->nr; i++)
		if (!strcmp(opts->pairs[i].key, key))
			return &opts->pairs[i];
	return NULL;
}

static int append(struct bd_opts *opts, char *key, char *value, bool bare)
{
	if (opts->nr == opts->room) {
		size_t room = opts->room ? opts->room * 2 : 8;
		struct pair *pairs;

		if (room > MAX_KEYS)
			return -ENOMEM;
		pairs = realloc(opts->pairs, room * sizeof(*pairs));
		if (!pairs)
			return -ENOMEM;
		opts->pairs = pairs;
		opts->room = room;
	}
	opts->pairs[opts->nr++] = (struct pair){ key, value, bare };
	return 0;
}

static int set(struct bd_opts *opts, const char *key, const char *value, bool bare)
{
	struct pair *pair = find(opts, key);
	char *key_copy, *value_copy = strdup(value);

	if (!value_copy)
		return -ENOMEM;
	if (pair) {
		free(pair->value);
		pair->value = value_copy;
		pair->bare = bare;
		return 0;
	}
	key_copy = strdup(key);
	if (key_copy && append(opts, key_copy, value_copy, bare) == 0)
		return 0;
	free(key_copy);
	free(value_copy);
	return -ENOMEM;
}

int bd_opts_set(struct bd_opts *opts, const char *key, const char *value)
{
	return set(opts, key, value, false);
}

int bd_opts_set_bare(struct bd_opts *opts, const char *key, const char *value)
{
	return set(opts, key, value, true);
}

int bd_opts_set_from(struct bd_opts *opts, const char *key, const struct bd_opts *from, size_t i)
{
	return set(opts, key, from->pairs[i].value, from->pairs[i].bare);
}

bool bd_opts_is_bare(const struct bd_opts *opts, size_t i)
{
	return opts->pairs[i].bare;
}

const char *bd_opts_get(const struct bd_opts *opts, const char *key)
{
	const struct pair *pair = opts ? find(opts, key) : NULL;

	return pair ? pair->value : NULL;
}

/* Drops the pair from the list; its strings are the caller's. */
static struct pair take_at(struct bd_opts *opts, size_t i)
{
	struct pair pair = opts->pairs[i];

	opts->nr--;
	memmove(&opts->pairs[i], &opts->pairs[i + 1], (opts->nr - i) * sizeof(pair));
	return pair;
}

char *bd_opts_take(struct bd_opts *opts, const char *key)
{
	struct pair *at = find(opts, key), pair;

	if (!at)
		return NULL;
	pair = take_at(opts, (size_t)(at - opts->pairs));
	free(pair.key);
	return pair.value;
}

size_t bd_opts_take_prefix(struct bd_opts *opts, const char *prefix, struct bd_opts *sub)
{
	size_t len = strlen(prefix), taken = 0, i = 0;

	while (i < opts->nr) {
		struct pair pair;

		if (strncmp(opts->pairs[i].key, prefix, len)) {
			i++;
			continue;
		}
		if (set(sub, opts->pairs[i].key + len, opts->pairs[i].value,
			opts->pairs[i].bare) < 0)
			return taken;
		pair = take_at(opts, i);
		free(pair.key);
		free(pair.value);
		taken++;
	}
	return taken;
}

size_t bd_opts_count(const struct bd_opts *opts)
{
	return opts ? opts->nr : 0;
}

const char *bd_opts_key(const struct bd_opts *opts, size_t i)
{
	return opts->pairs[i].key;
}

const char *bd_opts_value(const struct bd_opts *opts, size_t i)
{
	return opts->pairs[i].value;
}

/* The value at @text up to a single comma; returns where the next option starts. */
static const char *parse_value(const char *text, struct strbuf *value)
{
	bd_strbuf_add(value, "", 0);
	for (; *text; text++) {
		if (*text == ',' && *++text != ',')
			return text;
		bd_strbuf_addc(value, *text);
	}
	return text;
}

/* One "key=value", "word" or "noword" at *text. */
static int parse_one(struct bd_opts *opts, const char **text, const char *implied)
{
	size_t len = strcspn(*text, "=,");
	struct strbuf key = {0}, value = {0};
	int ret = -ENOMEM;

	if ((*text)[len] == '=') {
		bd_strbuf_add(&key, *text, len);
		*text = parse_value(*text + len + 1, &value);
	} else if (implied && *implied) {
		bd_strbuf_adds(&key, implied);
		*text = parse_value(*text, &value);
	} else {
		bool off = !strncmp(*text, "no", 2);

		bd_strbuf_add(&key, *text + (off ? 2 : 0), len - (off ? 2 : 0));
		bd_strbuf_adds(&value, off ? "off" : "on");
		*text += len + ((*text)[len] == ',');
	}
	if (!key.failed && !value.failed)
		ret = bd_opts_set(opts, key.text, value.text);
	bd_strbuf_free(&key);
	bd_strbuf_free(&value);
	return ret;
}

/* An empty element; a doubled comma at the end belongs to a value. */
static bool malformed(const char *text)
{
	size_t len = strlen(text), commas = 0;

	while (commas < len && text[len - 1 - commas] == ',')
		commas++;
	return text[0] == ',' || commas % 2;
}

int bd_opts_parse(struct bd_opts *opts, const char *text, const char *implied,
		  struct bd_error *err)
{
	if (!implied && malformed(text))
		return bd_fail(err, -EINVAL, "Invalid option list: %s", text);
	while (*text) {
		int ret = parse_one(opts, &text, implied);

		if (ret < 0)
			return bd_fail_errno(err, ret, "Could not parse options");
		implied = NULL;
	}
	return 0;
}
