/* SPDX-License-Identifier: MIT */
/* Opens and closes images for the commands; prints what can be said with -o. */
#include "qimg/image.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/include/create.h"
#include "blockdev/include/snapshot.h"
#include "qimg/report.h"

struct bd_queue *image_queue(unsigned depth)
{
	struct bd_error err = { 0 };
	struct bd_queue *queue = NULL;

	if (bd_queue_new(getenv("QIMG_ENGINE"), depth, &queue, &err) < 0) {
		report_failure(&err, "Could not start I/O: ");
		return NULL;
	}
	return queue;
}

int image_cache(const char *mode, const char *what, unsigned *flags)
{
	if (!mode || bd_cache_mode(mode, flags) == 0)
		return 0;
	report_error("Invalid %s option: %s", what, mode);
	return 1;
}

bool image_conflict(const struct image_values *image)
{
	if (!image->image_opts || !image->format)
		return false;
	report_error("--image-opts and --format are mutually exclusive");
	return true;
}

struct bd_node *image_open(struct bd_queue *queue, const char *name,
			   const struct image_values *image, unsigned flags, const char *what)
{
	struct bd_open_args args = {
		.filename = name, .format = image->format, .opts = image->more, .flags = flags,
	};
	struct bd_opts *opts = NULL;
	struct bd_error err = { 0 };
	struct bd_node *node = NULL;
	int ret = 0;

	if (image_cache(image->cache, what, &args.flags))
		return NULL;
	if (image->force_share)
		args.flags |= BD_O_FORCE_SHARE;
	if (getenv("QIMG_CONFINE"))
		args.flags |= BD_O_NO_FOLLOW;
	if (image->force_share && (flags & BD_O_RDWR)) {
		report_error("Could not open '%s': force-share=on can only be used with "
			     "read-only images", name);
		return NULL;
	}
	if (image->image_opts) {
		opts = bd_opts_new();
		report_short_forms(name, true);
		ret = opts ? bd_opts_parse(opts, name, "file", &err) :
			     bd_fail(&err, -12, "Cannot allocate memory");
		args.filename = NULL;
		args.opts = opts;
	}
	if (ret < 0)
		report_failure(&err, "%s", "");
	else if (bd_open(queue, &args, &node, &err) < 0)
		report_failure(&err, "Could not open '%s': ", name);
	bd_opts_free(opts);
	return node;
}

int image_check_cut(struct bd_node *node, uint64_t off, uint64_t end)
{
	struct bd_extent ext[64];

	while (off < end) {
		int nr = bd_map(node, off, end - off, ext, 64);

		for (int i = 0; i < nr; i++) {
			if (ext[i].flags & BD_EXTENT_CUT) {
				nr = -EIO;
				off = ext[i].guest_off;
			}
		}
		if (nr <= 0) {
			report_error("error while reading at byte %llu: %s",
				     (unsigned long long)off, strerror(nr ? -nr : EIO));
			return 1;
		}
		off = ext[nr - 1].guest_off + ext[nr - 1].len;
	}
	return 0;
}

int image_close(struct bd_node *node)
{
	char name[256];
	int ret;

	if (!node)
		return 0;
	snprintf(name, sizeof(name), "%s", bd_filename(node));
	ret = bd_close(node);
	if (ret < 0)
		report_error("Could not close '%s': %s", name, strerror(-ret));
	return ret < 0;
}

bool image_asks_help(const char *options)
{
	while (options) {
		size_t len = strcspn(options, ",");

		if ((len == 4 && !strncmp(options, "help", 4)) ||
		    (len == 1 && options[0] == '?'))
			return true;
		/* A doubled comma is part of a value. */
		while (options[len] && options[len + 1] == ',')
			len += 2 + strcspn(options + len + 2, ",");
		options = options[len] ? options + len + 1 : NULL;
	}
	return false;
}

static int by_name(const void *a, const void *b)
{
	const struct bd_option *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static void print_option(const struct bd_option *option)
{
	static const char *const types[] = {
		[BD_OPT_STRING] = "str",
		[BD_OPT_BOOL] = "bool (on/off)",
		[BD_OPT_SIZE] = "size",
		[BD_OPT_NUMBER] = "num",
	};
	char text[80];

	snprintf(text, sizeof(text), "%s=<%s>", option->name, types[option->type]);
	if (option->help)
		printf("  %-22s - %s\n", text, option->help);
	else
		printf("  %s\n", text);
}

static size_t collect(const struct bd_option *table, const struct bd_option **list, size_t nr,
		      size_t room)
{
	for (; table && table->name; table++) {
		size_t i = 0;

		if (!(table->flags & BD_OPTION_CREATE) || (table->flags & BD_OPTION_NEWER))
			continue;
		while (i < nr && strcmp(list[i]->name, table->name))
			i++;
		if (i == nr && nr < room)
			list[nr++] = table;
	}
	return nr;
}

int image_option_help(const char *format, const char *name)
{
	const struct bd_option *list[64];
	const struct bd_option *table = bd_create_options(format);
	bool create;
	size_t nr;

	if (!bd_format_known(format, &create)) {
		report_error("Unknown file format '%s'", format);
		return 1;
	}
	if (!table) {
		report_error("Format driver '%s' does not support image creation", format);
		return 1;
	}
	nr = collect(table, list, 0, 64);
	if (name)
		nr = collect(bd_protocol_create_options(name), list, nr, 64);
	qsort(list, nr, sizeof(list[0]), by_name);
	printf(name ? "Supported options:\n" : "Supported %s options:\n", format);
	for (size_t i = 0; i < nr; i++)
		print_option(list[i]);
	if (!name)
		printf("\nThe protocol level may support further options.\n"
		       "Specify the target filename to include those options.\n");
	return 0;
}

int image_amend_help(const char *format)
{
	const struct bd_option *list[64];
	const struct bd_option *table = bd_amend_options(format);
	size_t nr = 0;

	if (!bd_format_known(format, NULL)) {
		report_error("Unknown file format '%s'", format);
		return 1;
	}
	if (!table) {
		report_error("Format driver '%s' does not support option amendment", format);
		return 1;
	}
	for (; table->name && nr < 64; table++)
		list[nr++] = table;
	qsort(list, nr, sizeof(list[0]), by_name);
	printf("Amend options for '%s':\n", format);
	for (size_t i = 0; i < nr; i++)
		print_option(list[i]);
	return 0;
}

bool image_has_option(const struct bd_option *table, const char *name)
{
	while (table && table->name && strcmp(table->name, name))
		table++;
	return table && table->name;
}

bool image_wrong_option(struct bd_opts *opts, const char *format, const char *name)
{
	struct bd_error err = { 0 };

	if (bd_create_check(format, name, opts, &err) == 0)
		return false;
	report_failure(&err, "%s", "");
	return true;
}

/* "snapshot.id=ID,snapshot.name=NAME".  0, or 1: reported. */
static int parse_snapshot(const char *text, struct bd_opts *opts)
{
	struct bd_error err = { 0 };
	const char *bad = NULL;

	if (bd_opts_parse(opts, text, NULL, &err) < 0)
		report_failure(&err, "%s", "");
	for (size_t i = 0; i < bd_opts_count(opts) && !bad; i++) {
		const char *key = bd_opts_key(opts, i);

		if (strcmp(key, "snapshot.id") && strcmp(key, "snapshot.name"))
			bad = key;
	}
	if (bad)
		report_error("Invalid parameter '%s'", bad);
	if (!bad && !err.msg[0])
		return 0;
	report_error("Failed in parsing snapshot param '%s'", text);
	return 1;
}

int image_load_snapshot(struct bd_node *node, const char *text)
{
	struct bd_opts *opts = bd_opts_new();
	struct bd_error err = { 0 };
	int ret;

	if (!opts) {
		report_error("Cannot allocate memory");
		return 1;
	}
	if (strncmp(text, "snapshot.", 9)) {
		ret = bd_snapshot_load_any(node, text, &err);
	} else if (parse_snapshot(text, opts)) {
		bd_opts_free(opts);
		return 1;
	} else {
		ret = bd_snapshot_load(node, bd_opts_get(opts, "snapshot.id"),
				       bd_opts_get(opts, "snapshot.name"), &err);
	}
	bd_opts_free(opts);
	if (ret < 0)
		report_failure(&err, "Failed to load snapshot: ");
	return ret < 0;
}
