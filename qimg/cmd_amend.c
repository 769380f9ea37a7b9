/* SPDX-License-Identifier: MIT */
/* qimg amend: change options of an existing image. */
#include <string.h>

#include "blockdev/include/create.h"
#include "qimg/command.h"
#include "qimg/image.h"
#include "qimg/report.h"

struct amend_values {
	struct image_values image;
	char *options;
	bool progress, quiet, force;
};

static const struct opt amend_opts[] = {
	OPT_COMMON_OBJECT,
	OPT_COMMON_IMAGE_OPTS(struct amend_values),
	OPT_COMMON_PROGRESS(struct amend_values),
	OPT_COMMON_QUIET(struct amend_values),
	OPT_COMMON_FORMAT(struct amend_values),
	{ "t", "cache", NULL, OPT_TEXT, offsetof(struct amend_values, image.cache), "CACHE",
	  "cache mode" },
	{ NULL, "force", NULL, OPT_FLAG, offsetof(struct amend_values, force), NULL,
	  "allow what may make data unreadable: overwrite or erase the last key slot" },
	{ "o", "options", NULL, OPT_JOIN, offsetof(struct amend_values, options), "OPTIONS",
	  "what to change, name=value,...; help lists the options" },
	{ 0 },
};

/* What begins says 0 once more.  Like: QEMU */
static void show_step(uint64_t done, uint64_t total, void *user)
{
	struct progress *progress = user;

	if (!done)
		progress->last = -1;
	progress_update(done, total, progress);
}

static int amend(struct bd_node *node, const struct amend_values *values, struct progress *progress)
{
	struct bd_opts *opts = bd_opts_new();
	const struct bd_amend_args args = {
		.force = values->force,
		.progress = show_step,
		.user = progress,
	};
	struct bd_error err = { 0 };
	int ret = opts ? bd_opts_parse(opts, values->options, NULL, &err) :
			 bd_fail(&err, -12, "Cannot allocate memory");

	if (ret == 0)
		ret = bd_amend_check(node, opts, &err);
	if (ret == 0) {
		progress_update(0, 1, progress);
		ret = bd_amend(node, opts, &args, &err);
		progress_update(1, 1, progress);
	}
	progress_end(progress);
	if (ret < 0)
		report_failure(&err, "%s", "");
	bd_opts_free(opts);
	return ret < 0;
}

static int open_and_amend(const char *name, const struct amend_values *values,
			  struct progress *progress)
{
	struct bd_queue *queue = image_queue(64);
	struct bd_node *node;
	int status = 1;

	if (!queue)
		return 1;
	node = image_open(queue, name, &values->image, BD_O_RDWR, "cache");
	if (node) {
		if (image_asks_help(values->options))
			status = image_amend_help(bd_format_name(node));
		else
			status = amend(node, values, progress);
		if (image_close(node))
			status = 1;
	}
	bd_queue_free(queue);
	return status;
}

static int amend_one(struct invocation *inv, struct progress *progress)
{
	const struct amend_values *values = inv->values;

	if (values->image.format && image_asks_help(values->options))
		return image_amend_help(values->image.format);
	if (inv->nr_operands != 1) {
		report_error("Expecting one image file name");
		return 1;
	}
	if (image_conflict(&values->image))
		return 1;
	return open_and_amend(inv->operands[0], values, progress);
}

static int run(struct invocation *inv)
{
	const struct amend_values *values = inv->values;
	struct progress progress;
	int status;

	if (!values->options)
		return report_usage("Must specify options (-o)");
	progress_begin(&progress, values->progress && !values->quiet, 1);
	status = amend_one(inv, &progress);
	progress_end(&progress);
	return status;
}

const struct command cmd_amend = {
	.name = "amend",
	.operands = "FILE",
	.summary = "Change options of an existing image",
	.opts = amend_opts,
	.values_size = sizeof(struct amend_values),
	.run = run,
};
