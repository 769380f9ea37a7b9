/* SPDX-License-Identifier: MIT */
/* qimg commit: write an image's changes into its backing file. */
#include <jansson.h>
#include <stdio.h>

#include "blockdev/include/chain.h"
#include "qimg/command.h"
#include "qimg/image.h"
#include "qimg/info_print.h"
#include "qimg/report.h"

struct commit_values {
	struct image_values image;
	const char *base, *rate, *output;
	bool drop, progress, quiet;
};

static const struct opt commit_opts[] = {
	OPT_COMMON_OBJECT,
	OPT_COMMON_IMAGE_OPTS(struct commit_values),
	OPT_COMMON_QUIET(struct commit_values),
	OPT_COMMON_FORMAT(struct commit_values),
	{ "t", "cache", NULL, OPT_TEXT, offsetof(struct commit_values, image.cache), "CACHE",
	  "cache mode of the images" },
	{ "b", "base", NULL, OPT_TEXT, offsetof(struct commit_values, base), "BASE",
	  "the layer to write into (default: the next one); implies -d" },
	{ "r", "rate-limit", NULL, OPT_TEXT, offsetof(struct commit_values, rate), "RATE",
	  "bytes to write per second at most" },
	{ "d", "drop", NULL, OPT_FLAG, offsetof(struct commit_values, drop), NULL,
	  "the image is to be thrown away: do not empty it" },
	OPT_COMMON_PROGRESS(struct commit_values),
	OPT_COMMON_OUTPUT(struct commit_values),
	{ 0 },
};

static int commit(struct bd_node *node, const struct commit_values *values, uint64_t rate,
		  bool json)
{
	struct progress progress;
	struct bd_error err = { 0 };
	const struct bd_commit_args args = {
		.top = node,
		.base = values->base,
		.rate = rate,
		.keep_top = values->drop || values->base,
		.progress = progress_update,
		.user = &progress,
	};
	int ret;

	progress_begin(&progress, values->progress && !values->quiet && !json, 1);
	progress_update(0, 1, &progress);
	ret = bd_commit(&args, &err);
	progress_end(&progress);
	if (ret < 0)
		report_failure(&err, "%s", "");
	return ret < 0;
}

/* What will have been done; the images are closed when it is printed.  NULL: out of memory. */
static json_t *describe(struct bd_node *node, const struct commit_values *values)
{
	struct bd_node *base = bd_backing(node);
	json_t *json = json_object();

	json_object_set_new(json, "filename", bd_json_text(bd_filename(node)));
	json_object_set_new(json, "format", bd_json_text(bd_format_name(node)));
	if (values->base || base)
		json_object_set_new(json, "base", bd_json_text(values->base ? values->base :
							    bd_filename(base)));
	json_object_set_new(json, "emptied", json_boolean(!values->drop && !values->base));
	return json;
}

static int open_and_commit(struct bd_queue *queue, const char *name,
			   const struct commit_values *values, uint64_t rate, bool json)
{
	struct bd_node *node = image_open(queue, name, &values->image, BD_O_RDWR | BD_O_UNMAP,
					  "cache");
	json_t *result;
	int status;

	if (!node)
		return 1;
	result = json ? describe(node, values) : NULL;
	status = commit(node, values, rate, json);
	if (image_close(node))
		status = 1;
	if (!status && !values->quiet && !json)
		printf("Image committed.\n");
	if (!status && !values->quiet && json)
		return json_print(result);
	json_decref(result);
	return status;
}

static int run(struct invocation *inv)
{
	const struct commit_values *values = inv->values;
	struct bd_queue *queue;
	uint64_t rate = 0;
	bool json;
	int status;

	if (values->rate && opts_size("rate limit", values->rate, 0, INT64_MAX, &rate))
		return 1;
	if (opts_output(values->output, &json))
		return 1;
	if (inv->nr_operands != 1)
		return report_usage("Expecting one image file name");
	if (image_conflict(&values->image))
		return 1;
	queue = image_queue(64);
	if (!queue)
		return 1;
	status = open_and_commit(queue, inv->operands[0], values, rate, json);
	bd_queue_free(queue);
	return status;
}

const struct command cmd_commit = {
	.name = "commit",
	.operands = "FILE",
	.summary = "Write the changes of an image into its backing file",
	.opts = commit_opts,
	.values_size = sizeof(struct commit_values),
	.run = run,
};
