/* SPDX-License-Identifier: MIT */
/* qimg-io: reopen, the image closed and opened again with some options changed. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blockdev/include/options.h"
#include "qimg/io.h"
#include "qimg/report.h"

struct change {
	struct io_open how;
	char *options;                /* of -o; NULL: none */
	bool access, cache;           /* -r or -w, -c given */
};

static int take_letter(struct change *change, int letter)
{
	switch (letter) {
	case 'c':
		change->cache = true;
		return io_cache_mode(optarg, &change->how.flags);
	case 'o':
		report_short_forms(optarg, false);
		return io_join_options(&change->options, optarg);
	case 'r':
	case 'w':
		if (change->access) {
			report_error("Only one -r/-w option may be given");
			return -EINVAL;
		}
		change->access = true;
		change->how.flags &= ~(unsigned)BD_O_RDWR;
		change->how.flags |= letter == 'w' ? BD_O_RDWR : 0;
		return 0;
	default:
		return -EINVAL;
	}
}

static int take_letters(struct change *change, int argc, char **argv)
{
	int letter, ret = 0;

	while (ret == 0 &&
	       (letter = io_getopt(io_find("reopen"), argc, argv, "c:o:rw")) != -1)
		ret = take_letter(change, letter);
	if (ret == 0 && optind != argc) {
		io_usage(io_find("reopen"));
		ret = -EINVAL;
	}
	return ret;
}

static bool starts(const char *text, const char *front)
{
	return !strncmp(text, front, strlen(front));
}

/* Options of one layer that may change while it is open. */
static bool is_changeable(const char *format, const char *leaf)
{
	static const char *const any[] = {
		"read-only", "auto-read-only", "discard", "detect-zeroes", "force-share",
		"cache.direct", "cache.no-flush",
	};
	static const char *const qcow2[] = {
		"lazy-refcounts", "pass-discard-", "discard-no-unref", "overlap-check",
		"cache-", "l2-cache-", "refcount-cache-", "encrypt.",
	};

	for (size_t i = 0; i < sizeof(any) / sizeof(any[0]); i++)
		if (!strcmp(leaf, any[i]))
			return true;
	for (size_t i = 0; !strcmp(format, "qcow2") && i < sizeof(qcow2) / sizeof(qcow2[0]); i++)
		if (starts(leaf, qcow2[i]))
			return true;
	return !strcmp(format, "raw") && (!strcmp(leaf, "offset") || !strcmp(leaf, "size"));
}

/* The option at @key of the layer it belongs to; other values than today's may be refused. */
static int check_option(struct bd_node *node, const char *key, const char *value)
{
	const char *format = bd_format_name(node), *now = NULL;
	const char *leaf = key;

	while (node && starts(leaf, "backing.")) {
		leaf += strlen("backing.");
		node = bd_backing(node);
		format = node ? bd_format_name(node) : "";
	}
	if (starts(leaf, "file.")) {
		leaf += strlen("file.");
		format = "file";
	}
	if (!strcmp(leaf, "file") || !strcmp(leaf, "backing")) {
		report_error("Cannot find device='' nor node-name='%s'", value);
		return -EINVAL;
	}
	if (!strcmp(leaf, "driver"))
		now = format;
	else if (!strcmp(leaf, "filename") && node)
		now = bd_filename(node);
	if (is_changeable(format, leaf) || (now && !strcmp(now, value)))
		return 0;
	report_error("Cannot change the option '%s'", leaf);
	return -EINVAL;
}

static void drop(struct bd_opts *opts, const char *front)
{
	for (size_t i = bd_opts_count(opts); i-- > 0;) {
		const char *key = bd_opts_key(opts, i);

		if (starts(key, front)) {
			char *copy = strdup(key);

			if (copy)
				free(bd_opts_take(opts, copy));
			free(copy);
		}
	}
}

/*
 * Old values stay where no new ones were given.  A new template of the overlap checks and a new
 * size of all caches take the place of what was said about parts of them, and the reverse.
 */
static int merge(struct bd_opts *old, const struct bd_opts *new)
{
	bool whole = bd_opts_get(new, "cache-size");

	if (bd_opts_get(new, "overlap-check") || bd_opts_get(new, "overlap-check.template"))
		drop(old, "overlap-check");
	if (whole) {
		drop(old, "l2-cache-size");
		drop(old, "refcount-cache-size");
	} else if (bd_opts_get(new, "l2-cache-size") || bd_opts_get(new, "refcount-cache-size")) {
		drop(old, "cache-size");
	}
	for (size_t i = 0; i < bd_opts_count(new); i++)
		if (bd_opts_set(old, bd_opts_key(new, i), bd_opts_value(new, i)) < 0)
			return -ENOMEM;
	return 0;
}

/* As text again; commas of values are doubled.  NULL: out of memory. */
static char *to_text(const struct bd_opts *opts)
{
	char *text = NULL;
	size_t room;
	FILE *out = open_memstream(&text, &room);

	if (!out)
		return NULL;
	for (size_t i = 0; i < bd_opts_count(opts); i++) {
		fprintf(out, "%s%s=", i ? "," : "", bd_opts_key(opts, i));
		for (const char *at = bd_opts_value(opts, i); *at; at++)
			fprintf(out, *at == ',' ? ",," : "%c", *at);
	}
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

static int check_change(struct io_state *io, const struct change *change,
			const struct bd_opts *new)
{
	if (change->access && bd_opts_get(new, "read-only")) {
		report_error("Cannot set both -r/-w and 'read-only'");
		return -EINVAL;
	}
	if (change->cache && (bd_opts_get(new, "cache.direct") ||
			      bd_opts_get(new, "cache.no-flush"))) {
		report_error("Cannot set both -c and the cache options");
		return -EINVAL;
	}
	for (size_t i = 0; i < bd_opts_count(new); i++) {
		int ret = check_option(io->node, bd_opts_key(new, i), bd_opts_value(new, i));

		if (ret < 0)
			return ret;
	}
	return 0;
}

/* What the image is opened with when the change is made: the old options with the new ones. */
static int merged(struct io_state *io, const struct change *change, char **text)
{
	struct bd_opts *old = bd_opts_new(), *new = bd_opts_new();
	struct bd_error err = {0};
	int ret = old && new ? 0 : -ENOMEM;

	if (ret == 0 && io->options)
		ret = bd_opts_parse(old, io->options, NULL, &err);
	if (ret == 0 && change->options)
		ret = bd_opts_parse(new, change->options, NULL, &err);
	if (ret < 0)
		report_failure(&err, "%s", "");
	if (ret == 0)
		ret = check_change(io, change, new);
	if (ret == 0)
		ret = merge(old, new);
	if (ret == 0 && bd_opts_count(old)) {
		*text = to_text(old);
		ret = *text ? 0 : -ENOMEM;
	}
	bd_opts_free(old);
	bd_opts_free(new);
	return ret;
}

int io_run_reopen(struct io_state *io, int argc, char **argv)
{
	struct io_open old = io->how;
	struct change change = {.how = io->how};
	char *name = io->name ? strdup(io->name) : NULL, *options = NULL;
	char *before = io->options ? strdup(io->options) : NULL;
	int ret = take_letters(&change, argc, argv);

	if (ret == 0)
		ret = merged(io, &change, &options);
	if (ret == 0)
		ret = io_close_image(io);
	if (ret == 0) {
		change.how.again = true;
		ret = io_open_image(io, name, options, &change.how);
		if (ret < 0)
			io_open_image(io, name, before, &old);
	}
	free(change.options);
	free(options);
	free(name);
	free(before);
	return ret;
}
