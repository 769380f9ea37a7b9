/* SPDX-License-Identifier: MIT */
/* qimg measure: how large an image would become. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "blockdev/include/create.h"
#include "qimg/command.h"
#include "qimg/image.h"
#include "qimg/info_print.h"
#include "qimg/report.h"

struct measure_values {
	struct image_values image;
	const char *output, *target, *snapshot, *size;
	char *options;
	bool compressed;
};

static const struct opt measure_opts[] = {
	{ NULL, "output", NULL, OPT_TEXT, offsetof(struct measure_values, output), "OFMT",
	  "human or json" },
	{ "O", "target-format", NULL, OPT_TEXT, offsetof(struct measure_values, target), "FMT",
	  "format to measure for (default: raw)" },
	{ "o", "options", "target-format-options", OPT_JOIN,
	  offsetof(struct measure_values, options), "OPTIONS",
	  "options of that format, name=value,..." },
	{ "s", "size", NULL, OPT_TEXT, offsetof(struct measure_values, size), "SIZE",
	  "size of a new disk, instead of FILE" },
	OPT_COMMON_OBJECT,
	{ NULL, "image-opts", "source-image-opts", OPT_FLAG,
	  offsetof(struct measure_values, image.image_opts), NULL,
	  "the image is named by options: driver=qcow2,file.filename=..." },
	{ "f", "format", "source-format", OPT_TEXT,
	  offsetof(struct measure_values, image.format), "FMT",
	  "format of FILE; guessed if not given" },
	{ "l", "snapshot", NULL, OPT_TEXT, offsetof(struct measure_values, snapshot), "SNAPSHOT",
	  "an internal snapshot of FILE" },
	{ NULL, "compressed", NULL, OPT_FLAG, offsetof(struct measure_values, compressed), NULL,
	  "estimate from samples what convert -c would need, too" },
	OPT_COMMON_SHARE(struct measure_values),
	{ 0 },
};

static int print(const struct bd_measure *m, bool json)
{
	json_t *object;

	if (!json) {
		printf("required size: %" PRIu64 "\nfully allocated size: %" PRIu64 "\n",
		       m->required, m->fully_allocated);
		if (m->has_bitmaps)
			printf("bitmaps size: %" PRIu64 "\n", m->bitmaps);
		if (m->want_compressed)
			printf("compressed size: %" PRIu64 " (estimated)\n", m->compressed);
		return 0;
	}
	object = json_object();
	if (m->has_bitmaps)
		json_object_set_new(object, "bitmaps", json_integer((json_int_t)m->bitmaps));
	json_object_set_new(object, "required", json_integer((json_int_t)m->required));
	json_object_set_new(object, "fully-allocated",
			    json_integer((json_int_t)m->fully_allocated));
	if (m->want_compressed)
		json_object_set_new(object, "compressed", json_integer((json_int_t)m->compressed));
	return json_print(object);
}

static int parse_options(struct bd_opts *opts, const struct measure_values *values,
			 const char *format)
{
	struct bd_error err = { 0 };

	if (values->options && bd_opts_parse(opts, values->options, NULL, &err) < 0) {
		report_failure(&err, "%s", "");
		report_error("Invalid options for file format '%s'", format);
		return 1;
	}
	if (image_wrong_option(opts, format, "file:")) {
		report_error("Invalid options for file format '%s'", format);
		return 1;
	}
	if (values->size && bd_opts_set(opts, "size", values->size) < 0) {
		report_error("%s", strerror(ENOMEM));
		return 1;
	}
	return 0;
}

static int measure(const char *name, const struct measure_values *values, const char *format,
		   struct bd_opts *opts, bool json)
{
	struct bd_queue *queue = image_queue(64);
	struct bd_node *node = NULL;
	struct bd_measure result = { .want_compressed = values->compressed };
	struct bd_error err = { 0 };
	int status = 1;

	if (!queue)
		return 1;
	if (name)
		node = image_open(queue, name, &values->image,
				  values->compressed ? 0 : BD_O_NO_DATA, "cache");
	if (name && !node)
		goto out;
	if (values->snapshot && image_load_snapshot(node, values->snapshot))
		goto out;
	if (parse_options(opts, values, format))
		goto out;
	if (bd_measure(format, opts, node, &result, &err) < 0)
		report_failure(&err, "%s", "");
	else
		status = print(&result, json);
out:
	if (node)
		bd_close(node);
	bd_queue_free(queue);
	return status;
}

static int run(struct invocation *inv)
{
	const struct measure_values *values = inv->values;
	const char *format = values->target ? values->target : "raw";
	const char *name = inv->nr_operands ? inv->operands[0] : NULL;
	struct bd_opts *opts;
	uint64_t bytes;
	bool json, create;
	int status = 1;

	if (values->size && opts_size("image size", values->size, 0, INT64_MAX, &bytes))
		return 1;
	if (opts_output(values->output, &json))
		return 1;
	if (inv->nr_operands > 1) {
		report_error("At most one filename argument is allowed.");
	} else if (!name && (values->image.image_opts || values->image.format ||
			     values->snapshot)) {
		report_error("--image-opts, -f, and -l require a filename argument.");
	} else if (!name && !values->size) {
		report_error("Either --size N or one filename must be specified.");
	} else if (name && values->size) {
		report_error("--size N cannot be used together with a filename.");
	} else if (!bd_format_known(format, &create)) {
		report_error("Unknown file format '%s'", format);
	} else if (!image_conflict(&values->image)) {
		opts = bd_opts_new();
		if (opts)
			status = measure(name, values, format, opts, json);
		bd_opts_free(opts);
	}
	return status;
}

const struct command cmd_measure = {
	.name = "measure",
	.operands = "[FILE]",
	.summary = "Show how large an image would become",
	.opts = measure_opts,
	.values_size = sizeof(struct measure_values),
	.run = run,
};
