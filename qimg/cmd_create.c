/* SPDX-License-Identifier: MIT */
/* qimg create: make an image. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "blockdev/include/create.h"
#include "qimg/command.h"
#include "qimg/image.h"
#include "qimg/report.h"

struct create_values {
	const char *format, *backing, *backing_format;
	char *options;
	bool backing_unsafe, quiet;
};

static const struct opt create_opts[] = {
	{ "f", "format", NULL, OPT_TEXT, offsetof(struct create_values, format), "FMT",
	  "format of the image (default: raw)" },
	{ "o", "options", NULL, OPT_JOIN, offsetof(struct create_values, options), "OPTIONS",
	  "options of the format, name=value,...; help lists them" },
	{ "b", "backing", NULL, OPT_TEXT, offsetof(struct create_values, backing), "FILE",
	  "backing file of the image" },
	{ "FB", "backing-format", NULL, OPT_TEXT, offsetof(struct create_values, backing_format),
	  "FMT", "format of the backing file" },
	{ "u", "backing-unsafe", NULL, OPT_FLAG, offsetof(struct create_values, backing_unsafe),
	  NULL, "do not open the backing file" },
	OPT_COMMON_QUIET(struct create_values),
	OPT_COMMON_OBJECT,
	{ 0 },
};

/* Put -b, -F and the size into the option list. */
static int add_options(struct bd_opts *opts, const struct create_values *values,
		       const char *name, const char *format, const char *size)
{
	const struct bd_option *table = bd_create_options(format);
	struct bd_error err = { 0 };

	if (table && bd_create_check(format, name, opts, &err) < 0) {
		report_failure(&err, "%s: ", name);
		return 1;
	}
	if (table && values->backing && !image_has_option(table, "backing_file")) {
		report_error("%s: Backing file not supported for file format '%s'", name, format);
		return 1;
	}
	if (table && values->backing_format && !image_has_option(table, "backing_fmt")) {
		report_error("%s: Backing file format not supported for file format '%s'",
			     name, format);
		return 1;
	}
	if (size && bd_opts_get(opts, "size")) {
		report_error("%s: The image size must be specified only once", name);
		return 1;
	}
	if ((size && bd_opts_set(opts, "size", size) < 0) ||
	    (values->backing && bd_opts_set(opts, "backing_file", values->backing) < 0) ||
	    (values->backing_format &&
	     bd_opts_set(opts, "backing_fmt", values->backing_format) < 0)) {
		report_error("%s: %s", name, strerror(ENOMEM));
		return 1;
	}
	return 0;
}

static int create(const struct create_values *values, const char *name, const char *format,
		  struct bd_opts *opts)
{
	struct bd_create_args args = {
		.filename = name,
		.format = format,
		.opts = opts,
		.backing_unsafe = values->backing_unsafe,
		.announce = values->quiet ? NULL : report_out_line,
		.warn = report_warn_line,
	};
	struct bd_queue *queue = image_queue(64);
	struct bd_error err = { 0 };
	int ret;

	if (!queue)
		return 1;
	signals_remove(name);
	signals_remove(bd_opts_get(opts, "data_file"));
	ret = bd_create(queue, &args, &err);
	if (ret < 0)
		signals_remove_now();
	signals_keep();
	if (ret < 0)
		report_failure(&err, "%s: ", name);
	bd_queue_free(queue);
	return ret < 0;
}

static int run(struct invocation *inv)
{
	const struct create_values *values = inv->values;
	const char *name = inv->nr_operands ? inv->operands[0] : NULL;
	const char *format = values->format ? values->format : "raw";
	struct bd_error err = { 0 };
	struct bd_opts *opts;
	uint64_t bytes;
	int status = 1;

	if (image_asks_help(values->options))
		return image_option_help(format, name);
	if (!name)
		return report_usage("Expecting image file name");
	if (inv->nr_operands > 1 && opts_size("image size", inv->operands[1], 0, INT64_MAX, &bytes))
		return 1;
	if (inv->nr_operands > 2)
		return report_usage("Unexpected argument: %s", inv->operands[2]);
	opts = bd_opts_new();
	if (!opts)
		report_error("%s", strerror(ENOMEM));
	else if (values->options && bd_opts_parse(opts, values->options, NULL, &err) < 0)
		report_failure(&err, "%s: ", name);
	else if (!add_options(opts, values, name, format,
			      inv->nr_operands > 1 ? inv->operands[1] : NULL))
		status = create(values, name, format, opts);
	bd_opts_free(opts);
	return status;
}

const struct command cmd_create = {
	.name = "create",
	.operands = "FILE [SIZE]",
	.summary = "Create an image; without SIZE it takes that of its backing file",
	.opts = create_opts,
	.values_size = sizeof(struct create_values),
	.run = run,
};
