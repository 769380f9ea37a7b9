/* SPDX-License-Identifier: MIT */
/* json:{...} names: a JSON object flattened into dotted keys. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/strbuf.h"
#include "blockdev/include/options.h"

/* The text comes from users and from images: bounded in size and depth. */
#define MAX_TEXT (1u << 20)
#define MAX_DEPTH 512
#define MAX_KEY 4096

struct flat {
	struct bd_opts *opts;
	struct strbuf key;
	struct bd_error *err;
};

/*
 * QEMU's JSON knows strings in single quotes too; rewrite them as ordinary ones.
 */
static char *requote(const char *text)
{
	struct strbuf out = {0};
	char quote = '\0';

	for (; *text; text++) {
		char c = *text;

		if (!quote && (c == '\'' || c == '"')) {
			quote = c;
			c = '"';
		} else if (quote && c == quote) {
			quote = '\0';
			c = '"';
		} else if (quote && c == '"') {
			bd_strbuf_addc(&out, '\\');
		} else if (quote && c == '\\' && text[1]) {
			if (*++text != '\'')
				bd_strbuf_addc(&out, '\\');
			c = *text;
		}
		bd_strbuf_addc(&out, c);
	}
	return bd_strbuf_steal(&out);
}

/* QEMU's words for what is wrong with the text. */
static int syntax_error(const json_error_t *json, struct bd_error *err)
{
	switch (json_error_code(json)) {
	case json_error_premature_end_of_input:
		return bd_fail(err, -EINVAL,
			       "Could not parse the JSON options: JSON parse error, premature EOI");
	case json_error_duplicate_key:
		return bd_fail(err, -EINVAL,
			       "Could not parse the JSON options: JSON parse error, duplicate key");
	default:
		return bd_fail(err, -EINVAL,
			       "Could not parse the JSON options: JSON parse error, %s",
			       json->text);
	}
}

static int set_scalar(struct flat *flat, const json_t *value)
{
	char number[64];
	const char *text = number;
	int ret;

	switch (json_typeof(value)) {
	case JSON_STRING:
		text = json_string_value(value);
		break;
	case JSON_INTEGER:
		snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT,
			 json_integer_value(value));
		break;
	case JSON_REAL:
		snprintf(number, sizeof(number), "%.17g", json_real_value(value));
		break;
	case JSON_TRUE:
		text = "on";
		break;
	case JSON_FALSE:
		text = "off";
		break;
	default: /* null: nothing there, as an empty text */
		text = "";
	}
	if (json_is_number(value) || json_is_boolean(value))
		ret = flat->key.failed ? -ENOMEM
				       : bd_opts_set_bare(flat->opts, flat->key.text, text);
	else
		ret = flat->key.failed ? -ENOMEM : bd_opts_set(flat->opts, flat->key.text, text);
	if (ret < 0)
		return bd_fail_errno(flat->err, -ENOMEM, "Could not parse the JSON options");
	return 0;
}

static int flatten(struct flat *flat, json_t *value, unsigned depth);

/* @value under "key" or, if the key so far is not empty, "outer.key". */
static int flatten_member(struct flat *flat, const char *key, json_t *value, unsigned depth)
{
	size_t len = flat->key.len;
	int ret;

	if (len)
		bd_strbuf_addc(&flat->key, '.');
	bd_strbuf_adds(&flat->key, key);
	if (flat->key.len > MAX_KEY)
		return bd_fail(flat->err, -EINVAL, "JSON option name is too long");
	ret = flatten(flat, value, depth);
	bd_strbuf_cut(&flat->key, len);
	return ret;
}

static int flatten(struct flat *flat, json_t *value, unsigned depth)
{
	const char *key;
	json_t *item;
	size_t i;
	int ret;

	if (!json_is_object(value) && !json_is_array(value))
		return set_scalar(flat, value);
	if (depth >= MAX_DEPTH)
		return bd_fail(flat->err, -EINVAL, "JSON options are nested too deeply");
	json_object_foreach(value, key, item) {
		ret = flatten_member(flat, key, item, depth + 1);
		if (ret < 0)
			return ret;
	}
	json_array_foreach(value, i, item) {
		char index[24];

		snprintf(index, sizeof(index), "%zu", i);
		ret = flatten_member(flat, index, item, depth + 1);
		if (ret < 0)
			return ret;
	}
	return 0;
}

int bd_opts_parse_json(struct bd_opts *opts, const char *text, struct bd_error *err)
{
	struct flat flat = { .opts = opts, .err = err };
	json_error_t json;
	json_t *root;
	char *plain;
	int ret;

	if (strlen(text) > MAX_TEXT)
		return bd_fail(err, -EINVAL, "JSON options are too long");
	plain = requote(text);
	if (!plain)
		return bd_fail_errno(err, -ENOMEM, "Could not parse the JSON options");
	root = json_loads(plain, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &json);
	free(plain);
	if (!root)
		return syntax_error(&json, err);
	if (json_is_object(root))
		ret = flatten(&flat, root, 0);
	else
		ret = bd_fail(err, -EINVAL, "Invalid JSON object given");
	json_decref(root);
	bd_strbuf_free(&flat.key);
	return ret;
}

/* The object that "a.b." of @key leads to, made where it is missing; *last: the rest of the key. */
static json_t *descend(json_t *root, const char *key, const char **last)
{
	const char *dot;

	while ((dot = strchr(key, '.'))) {
		/* "cache.direct", "encrypt.key-secret" and their kind are single words to QEMU. */
		json_t *inner;
		char name[MAX_KEY];

		if (!strncmp(key, "cache.", 6) || !strncmp(key, "encrypt.", 8) ||
		    !strncmp(key, "inject-error.", 13) || !strncmp(key, "set-state.", 10) ||
		    (size_t)(dot - key) >= sizeof(name))
			break;
		memcpy(name, key, (size_t)(dot - key));
		name[dot - key] = '\0';
		inner = json_object_get(root, name);
		if (inner && !json_is_object(inner))
			break;
		if (!inner) {
			inner = json_object();
			if (json_object_set_new(root, name, inner) < 0)
				break;
		}
		root = inner;
		key = dot + 1;
	}
	*last = key;
	return root;
}

/*
 * Where QEMU's dictionaries keep a key: the order in which it writes names.  The hash is that of
 * the trivial database, over 512 buckets.
 */
static unsigned bucket(const char *key)
{
	uint32_t value = (uint32_t)(0x238f13af * strlen(key));

	for (unsigned i = 0; key[i]; i++)
		value += (uint32_t)(uint8_t)key[i] << (i * 5 % 24);
	return (1103515243 * value + 12345) % 512;
}

static int by_bucket(const void *a, const void *b)
{
	unsigned x = bucket(*(const char *const *)a), y = bucket(*(const char *const *)b);

	return x < y ? -1 : x > y;
}

/* A copy of @object with its keys, and those of objects inside, in QEMU's order. */
static json_t *ordered(json_t *object)
{
	size_t nr = json_object_size(object), at = 0;
	const char **keys = calloc(nr + 1, sizeof(*keys)), *key;
	json_t *out = json_object(), *value;

	if (!keys || !out) {
		free(keys);
		return out;
	}
	json_object_foreach(object, key, value)
		keys[at++] = key;
	qsort(keys, nr, sizeof(*keys), by_bucket);
	for (size_t i = 0; i < nr; i++) {
		value = json_object_get(object, keys[i]);
		json_object_set_new(out, keys[i],
				    json_is_object(value) ? ordered(value) : json_incref(value));
	}
	free(keys);
	return out;
}

static json_t *scalar(const char *value, bool bare)
{
	json_t *number = NULL;

	if (bare && (!strcmp(value, "on") || !strcmp(value, "off")))
		return json_boolean(value[1] == 'n');
	if (bare)
		number = json_loads(value, JSON_DECODE_ANY, NULL);
	return number ? number : json_string(value);
}

char *bd_opts_to_json(const struct bd_opts *opts)
{
	json_t *root = json_object(), *out;
	char *text;

	for (size_t i = 0; i < bd_opts_count(opts); i++) {
		const char *last;
		json_t *object = descend(root, bd_opts_key(opts, i), &last);

		json_object_set_new(object, last,
				    scalar(bd_opts_value(opts, i), bd_opts_is_bare(opts, i)));
	}
	out = ordered(root);
	text = json_dumps(out, JSON_PRESERVE_ORDER);
	json_decref(root);
	json_decref(out);
	return text;
}
