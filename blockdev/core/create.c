/* SPDX-License-Identifier: MIT */
/* Creating an image: check the options, look at the backing file, announce, let the format work. */
#include "blockdev/include/create.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blockdev/base/cleanup.h"
#include "blockdev/base/path.h"
#include "blockdev/base/opts_take.h"
#include "blockdev/base/strbuf.h"
#include "blockdev/core/open.h"

static const struct bd_option *find_option(const struct bd_option *table, const char *name)
{
	for (; table->name; table++)
		if (!strcmp(table->name, name))
			return table;
	return NULL;
}

int bd_option_check(struct bd_opts *opts, const struct bd_option *option, struct bd_error *err)
{
	const char *text = bd_opts_get(opts, option->name);
	uint64_t number;
	char plain[24];
	bool flag;
	int ret;

	switch (option->type) {
	case BD_OPT_BOOL:
		return bd_opt_bool(option->name, text, &flag, err);
	case BD_OPT_NUMBER:
		/* A sign is taken, and wraps, as strtoull does. */
		return bd_opt_number(option->name, text + (*text == '-'), &number, err);
	case BD_OPT_SIZE:
		ret = bd_opt_size(option->name, text, &number, err);
		if (ret < 0)
			return ret;
		snprintf(plain, sizeof(plain), "%llu", (unsigned long long)number);
		return bd_opts_set(opts, option->name, plain);
	default:
		return 0;
	}
}

int bd_create_check(const char *format, const char *filename, struct bd_opts *opts,
		    struct bd_error *err)
{
	const struct bd_format *fmt = bd_format_find(format);
	const struct bd_option *protocol = bd_protocol_create_options(filename);

	for (size_t i = 0; i < bd_opts_count(opts); i++) {
		const char *key = bd_opts_key(opts, i);
		const struct bd_option *option = find_option(fmt->create->options, key);
		int ret;

		if (!option)
			option = find_option(protocol, key);
		if (!option)
			return bd_fail(err, -EINVAL, "Invalid parameter '%s'", key);
		ret = bd_option_check(opts, option, err);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int add_defaults(struct bd_opts *opts, const struct bd_option *table)
{
	for (; table->name; table++) {
		int ret;

		if (!table->def || bd_opts_get(opts, table->name))
			continue;
		ret = bd_opts_set(opts, table->name, table->def);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* What the name of the backing file means, seen from the new image. */
static char *full_backing_name(const char *filename, const char *backing)
{
	if (!strncmp(filename, "file:", 5))
		filename += 5;
	if (bd_path_has_protocol(backing) || bd_path_is_absolute(backing))
		return strdup(backing);
	return bd_path_combine(filename, backing);
}

static int open_backing(struct bd_queue *queue, const struct bd_create_args *args,
			const char *backing, struct bd_node **out, struct bd_error *err)
{
	__cleanup(free) char *full = full_backing_name(args->filename, backing);
	struct bd_open_args open_args = {
		.filename = full,
		.format = bd_opts_get(args->opts, "backing_fmt"),
		.flags = BD_O_NO_IO | BD_O_FORCE_SHARE,
	};
	int ret;

	if (!full)
		return bd_fail(err, -ENOMEM, "Out of memory");
	ret = bd_open(queue, &open_args, out, err);
	if (ret < 0)
		bd_hint(err, "Could not open backing image.");
	return ret;
}

static int set_size(struct bd_opts *opts, uint64_t size)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)size);
	return bd_opts_set(opts, "size", text);
}

/* The backing file must be there and named with its format; it lends its size. */
static int look_at_backing(struct bd_queue *queue, struct bd_create_args *args,
			   struct bd_error *err)
{
	const char *backing = bd_opts_get(args->opts, "backing_file");
	const char *format = bd_opts_get(args->opts, "backing_fmt");
	struct bd_node *node = NULL;
	int ret = 0;

	if (!backing)
		return 0;
	if (!*backing)
		return bd_fail(err, -EINVAL, "Expected backing file name, got empty string");
	if (!strcmp(backing, args->filename))
		return bd_fail(err, -EINVAL, "Error: Trying to create an image with the same "
					     "filename as the backing file");
	if (!args->backing_unsafe)
		ret = open_backing(queue, args, backing, &node, err);
	if (ret < 0)
		return ret;
	if (!format) {
		ret = bd_fail(err, -EINVAL, "Backing file specified without backing format");
		if (node)
			bd_hint(err, "Detected format of %s.", bd_format_name(node));
	} else if (node && !bd_opts_get(args->opts, "size")) {
		ret = set_size(args->opts, bd_size(node));
	}
	bd_close(node);
	return ret;
}

static void add_value(struct strbuf *line, const struct bd_option *option, const char *value)
{
	bd_strbuf_addf(line, " %s=", option->name);
	for (; *value; value++) {
		if (*value == ',')
			bd_strbuf_addc(line, ',');
		bd_strbuf_addc(line, *value);
	}
}

static void add_values(struct strbuf *line, const struct bd_option *table,
		       const struct bd_option *except, const struct bd_opts *opts)
{
	for (; table->name; table++) {
		const char *value = bd_opts_get(opts, table->name);

		if (value && !(except && find_option(except, table->name)))
			add_value(line, table, value);
	}
}

static void announce(const struct bd_create_args *args, const struct bd_format *fmt)
{
	struct strbuf line = {0};

	if (!args->announce)
		return;
	bd_strbuf_addf(&line, "Formatting '%s', fmt=%s", args->filename, fmt->name);
	add_values(&line, fmt->create->options, NULL, args->opts);
	add_values(&line, bd_protocol_create_options(args->filename), fmt->create->options,
		   args->opts);
	if (!line.failed)
		args->announce(line.text, args->user);
	bd_strbuf_free(&line);
}

static int run_create(struct bd_queue *queue, const struct bd_create_args *args,
		      const struct bd_format *fmt, struct bd_error *err)
{
	const char *path = strncmp(args->filename, "file:", 5) ? args->filename
							       : args->filename + 5;
	bool hint;
	struct stat info;
	bool fresh = lstat(path, &info) < 0 && errno == ENOENT;
	const char *backing_fmt = bd_opts_get(args->opts, "backing_fmt");
	int ret;

	if (backing_fmt && !bd_format_known(backing_fmt, &hint) && !bd_is_protocol(backing_fmt))
		return bd_fail(err, -EINVAL, "Parameter 'backing-fmt' does not accept value '%s'",
			       backing_fmt);
	hint = find_option(fmt->create->options, "cluster_size") != NULL;
	ret = fmt->create->create(queue, args->filename, args->opts, err);

	if (ret < 0 && fresh)
		unlink(path);
	if (ret == -EFBIG)
		return bd_fail(err, ret, "The image size is too large for file format '%s'%s",
			       fmt->name, hint ? " (try using a larger cluster size)" : "");
	return ret;
}

/* Is the name one that a file can have?  Before anything is said. */
static int check_name(const char *filename, struct bd_error *err)
{
	__cleanup(opts) struct bd_opts *opts = bd_opts_new();

	return opts ? io_name_to_opts(filename, opts, err) :
		      bd_fail(err, -ENOMEM, "Out of memory");
}

int bd_create(struct bd_queue *queue, struct bd_create_args *args, struct bd_error *err)
{
	const struct bd_format *fmt = bd_format_find(args->format);
	int ret;

	if (!fmt)
		return bd_fail(err, -EINVAL, io_driver_exists(args->format)
			       ? "Format driver '%s' does not support image creation"
			       : "Unknown file format '%s'", args->format);
	if (!fmt->create || !fmt->create->create)
		return bd_fail(err, -ENOTSUP, "Format driver '%s' does not support image creation",
			       fmt->name);
	if ((ret = bd_create_check(args->format, args->filename, args->opts, err)) < 0 ||
	    (ret = look_at_backing(queue, args, err)) < 0)
		return ret;
	if (!bd_opts_get(args->opts, "size"))
		return bd_fail(err, -EINVAL, "Image creation needs a size parameter");
	ret = check_name(args->filename, err);
	if (ret < 0)
		return ret;
	ret = add_defaults(args->opts, fmt->create->options);
	if (ret < 0)
		return bd_fail(err, ret, "Out of memory");
	announce(args, fmt);
	return run_create(queue, args, fmt, err);
}

int bd_stream(const struct bd_stream_args *args, struct bd_error *err)
{
	const struct bd_format *fmt = bd_format_find(args->format);

	if (!fmt || !fmt->create || !fmt->create->stream)
		return bd_fail(err, -ENOTSUP, "Format '%s' cannot be written in one go",
			       args->format);
	return fmt->create->stream(args, err);
}
