/* SPDX-License-Identifier: MIT */
/* qimg commit: write an image's changes into its backing file. */
#include <stdio.h>

#include "blockdev/include/chain.h"
#include "qimg/command.h"
#include "qimg/image.h"
#include "qimg/report.h"

struct commit_values {
	struct image_values image;
	const char *base, *rate;
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
	{ 0 },
};

static int commit(struct bd_node *node, const struct commit_values *values, uint64_t rate)
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

	progress_begin(&progress, values->progress && !values->quiet, 1);
	ret = bd_commit(&args, &err);
	progress_end(&progress);
	if (ret < 0)
		report_failure(&err, "%s", "");
	return ret < 0;
}

static int run(struct invocation *inv)
{
	const struct commit_values *values = inv->values;
	struct bd_queue *queue;
	struct bd_node *node;
	uint64_t rate = 0;
	int status = 1;

	if (values->rate && opts_size("rate limit", values->rate, 0, INT64_MAX, &rate))
		return 1;
	if (inv->nr_operands != 1)
		return report_usage("Expecting one image file name");
	if (image_conflict(&values->image))
		return 1;
	queue = image_queue(64);
	if (!queue)
		return 1;
	node = image_open(queue, inv->operands[0], &values->image, BD_O_RDWR | BD_O_UNMAP, "cache");
	if (node) {
		status = commit(node, values, rate);
		if (image_close(node))
			status = 1;
		if (!status && !values->quiet)
			printf("Image committed.\n");
	}
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
