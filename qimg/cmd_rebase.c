/* SPDX-License-Identifier: MIT */
/* qimg rebase: give an image another backing file, without changing the disk. */
#include <jansson.h>

#include "blockdev/include/chain.h"
#include "qimg/command.h"
#include "qimg/image.h"
#include "qimg/info_print.h"
#include "qimg/report.h"

struct rebase_values {
	struct image_values image;
	const char *backing, *backing_format, *backing_cache;
	const char *output;
	bool unsafe, compress, progress, quiet, json;
};

static const struct opt rebase_opts[] = {
	OPT_COMMON_OBJECT,
	OPT_COMMON_IMAGE_OPTS(struct rebase_values),
	OPT_COMMON_SHARE(struct rebase_values),
	OPT_COMMON_QUIET(struct rebase_values),
	OPT_COMMON_FORMAT(struct rebase_values),
	{ "t", "cache", NULL, OPT_TEXT, offsetof(struct rebase_values, image.cache), "CACHE",
	  "cache mode of the image" },
	{ "T", "backing-cache", NULL, OPT_TEXT, offsetof(struct rebase_values, backing_cache),
	  "CACHE", "cache mode of the new backing file" },
	OPT_COMMON_PROGRESS(struct rebase_values),
	{ "u", "backing-unsafe", NULL, OPT_FLAG, offsetof(struct rebase_values, unsafe), NULL,
	  "change the name only, even if the disk changes with it" },
	{ "c", "compress", NULL, OPT_FLAG, offsetof(struct rebase_values, compress), NULL,
	  "compress what must be copied into the image" },
	{ "b", "backing", NULL, OPT_TEXT, offsetof(struct rebase_values, backing), "FILE",
	  "the new backing file; \"\": none" },
	{ "FB", "backing-format", NULL, OPT_TEXT,
	  offsetof(struct rebase_values, backing_format), "FMT",
	  "format of the new backing file" },
	OPT_COMMON_OUTPUT(struct rebase_values),
	{ 0 },
};

static int rebase(struct bd_node *node, const struct rebase_values *values, unsigned flags,
		  struct progress *progress)
{
	struct bd_error err = { 0 };
	const struct bd_rebase_args args = {
		.node = node,
		.backing = values->backing,
		.format = values->backing_format,
		.flags = flags,
		.unsafe = values->unsafe,
		.compress = values->compress,
		.progress = progress_update,
		.user = progress,
	};
	int ret;

	if (values->compress && !bd_can_compress(node)) {
		report_error("Compression not supported for this file format");
		return 1;
	}
	ret = bd_rebase(&args, &err);
	if (ret == 0)
		progress_update(1, 1, progress);
	progress_end(progress);
	if (ret < 0)
		report_failure(&err, "%s", "");
	return ret < 0;
}

static int print_json(const char *name, const struct rebase_values *values)
{
	json_t *json = json_object();

	json_object_set_new(json, "filename", bd_json_text(name));
	if (values->backing && *values->backing)
		json_object_set_new(json, "backing-filename", bd_json_text(values->backing));
	if (values->backing_format)
		json_object_set_new(json, "backing-filename-format",
				    bd_json_text(values->backing_format));
	json_object_set_new(json, "safe", json_boolean(!values->unsafe));
	return json_print(json);
}

static int open_and_rebase(const char *name, const struct rebase_values *values)
{
	unsigned flags = BD_O_RDWR | (values->unsafe ? BD_O_NO_BACKING : 0);
	unsigned new_flags = values->image.force_share ? BD_O_FORCE_SHARE : 0;
	struct rebase_values own = *values;
	struct progress progress;
	struct bd_queue *queue;
	struct bd_node *node;
	int status = 1;

	progress_begin(&progress, values->progress && !values->quiet && !values->json, 2);
	progress_update(0, 1, &progress);
	if (image_cache(values->image.cache, "cache", &flags) ||
	    image_cache(values->backing_cache, "source cache", &new_flags)) {
		progress_end(&progress);
		return 1;
	}
	queue = image_queue(64);
	if (!queue)
		return 1;
	/* -U is meant for the backing files: the image itself is written. */
	own.image.force_share = false;
	node = image_open(queue, name, &own.image, flags, "cache");
	if (node) {
		status = rebase(node, values, new_flags, &progress);
		if (image_close(node))
			status = 1;
	}
	progress_end(&progress);
	bd_queue_free(queue);
	if (!status && values->json && !values->quiet)
		status = print_json(name, values);
	return status;
}

static int run(struct invocation *inv)
{
	struct rebase_values *values = inv->values;

	if (opts_output(values->output, &values->json))
		return 1;
	if (inv->nr_operands != 1)
		return report_usage("Expecting one image file name");
	if (values->unsafe && values->compress)
		return report_usage("-c has no effect with -u: nothing is copied");
	if (!values->unsafe && !values->backing)
		return report_usage("Must specify backing file (-b) or use unsafe mode (-u)");
	if (image_conflict(&values->image))
		return 1;
	return open_and_rebase(inv->operands[0], values);
}

const struct command cmd_rebase = {
	.name = "rebase",
	.operands = "FILE",
	.summary = "Change the backing file of an image",
	.opts = rebase_opts,
	.values_size = sizeof(struct rebase_values),
	.run = run,
};
