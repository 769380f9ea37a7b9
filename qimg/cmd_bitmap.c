/* SPDX-License-Identifier: MIT */
/* qimg bitmap: persistent dirty bitmaps; several steps on one bitmap, in the order given. */
#include "blockdev/include/bitmap.h"

#include <string.h>

#include "qimg/bitmap_list.h"
#include "qimg/command.h"
#include "qimg/image.h"
#include "qimg/report.h"

struct bitmap_values {
	struct image_values image;
	char *steps;
	const char *granularity, *source, *source_format, *output;
	bool list, remove_all;
};

#define STEP(name, arg, help) \
	{ NULL, name, NULL, OPT_STEP, offsetof(struct bitmap_values, steps), arg, help }

static const struct opt bitmap_opts[] = {
	STEP("add", NULL, "make a new bitmap, enabled"),
	STEP("remove", NULL, "remove the bitmap"),
	STEP("clear", NULL, "set all its bits to zero"),
	STEP("enable", NULL, "let writers keep it up to date"),
	STEP("disable", NULL, "let it be as it is"),
	STEP("merge", "BITMAP", "add what is set in another bitmap"),
	{ NULL, "remove-all", NULL, OPT_FLAG, offsetof(struct bitmap_values, remove_all), NULL,
	  "remove all bitmaps; no BITMAP is given" },
	{ NULL, "list", NULL, OPT_FLAG, offsetof(struct bitmap_values, list), NULL,
	  "list all bitmaps; no BITMAP is given" },
	{ NULL, "output", NULL, OPT_TEXT, offsetof(struct bitmap_values, output), "OFMT",
	  "human or json, for the list" },
	{ "g", "granularity", NULL, OPT_TEXT, offsetof(struct bitmap_values, granularity), "SIZE",
	  "bytes per bit of a new bitmap (default: the cluster size, 4k to 64k)" },
	{ "b", "source-file", NULL, OPT_TEXT, offsetof(struct bitmap_values, source), "FILE",
	  "the image that has the bitmap to merge" },
	{ "F", "source-format", NULL, OPT_TEXT, offsetof(struct bitmap_values, source_format),
	  "FMT", "format of that image" },
	OPT_COMMON_OBJECT,
	OPT_COMMON_IMAGE_OPTS(struct bitmap_values),
	OPT_COMMON_FORMAT(struct bitmap_values),
	{ 0 },
};

struct bitmap_job {
	const struct bitmap_values *values;
	struct bd_node *node, *source; /* source: of a merge; may be the same */
	const char *name;
	uint64_t granularity;
};

/* One step: a word, and what stands behind its "=". */
static int run_step(const struct bitmap_job *job, const char *word, const char *arg,
		    struct bd_error *err)
{
	if (!strcmp(word, "add"))
		return bd_bitmap_add(job->node, job->name, job->granularity, true, err);
	if (!strcmp(word, "remove"))
		return bd_bitmap_remove(job->node, job->name, err);
	if (!strcmp(word, "clear"))
		return bd_bitmap_clear(job->node, job->name, err);
	if (!strcmp(word, "merge"))
		return bd_bitmap_merge(job->node, job->name, job->source, arg, err);
	return bd_bitmap_enable(job->node, job->name, !strcmp(word, "enable"), err);
}

static int run_steps(const struct bitmap_job *job)
{
	char *next = job->values->steps;

	while (next && *next) {
		char *word = next, *end = strchr(next, OPT_STEP_END[0]), *arg;
		struct bd_error err = { 0 };

		if (end)
			*end = 0;
		next = end ? end + 1 : NULL;
		arg = strchr(word, '=');
		if (arg)
			*arg++ = 0;
		if (run_step(job, word, arg ? arg : "", &err) < 0) {
			report_failure(&err, "Operation %s on bitmap %s failed: ", word, job->name);
			return 1;
		}
	}
	return 0;
}

static bool has_step(const char *steps, const char *word)
{
	size_t len = strlen(word);

	while (steps && *steps) {
		if (!strncmp(steps, word, len) &&
		    (steps[len] == '=' || steps[len] == OPT_STEP_END[0]))
			return true;
		steps = strchr(steps, OPT_STEP_END[0]);
		steps += !!steps;
	}
	return false;
}

static int check(const struct bitmap_values *values, int nr_operands)
{
	const char *text = NULL;

	if (values->list || values->remove_all)
		text = values->steps || values->list == values->remove_all || nr_operands != 1 ?
		       "--list and --remove-all stand alone, with one image file name" : NULL;
	else if (!values->steps)
		text = "Need at least one of --add, --remove, --clear, --enable, --disable, or "
		       "--merge";
	else if (values->granularity && strcmp(values->granularity, "0") &&
		 !has_step(values->steps, "add"))
		text = "granularity only supported with --add";
	else if (values->source_format && !values->source)
		text = "-F only supported with -b";
	else if (values->source && !has_step(values->steps, "merge"))
		text = "Merge bitmap source file only supported with --merge";
	else if (nr_operands != 2)
		text = "Expecting filename and bitmap name";
	if (text)
		report_error("%s", text);
	return text != NULL;
}

static int remove_all(struct bd_node *node)
{
	struct bd_bitmap_info *list = NULL;
	struct bd_error err = { 0 };
	size_t nr = 0;
	int ret = bd_bitmaps_get(node, &list, &nr, &err);

	if (ret < 0)
		report_failure(&err, "%s", "");
	for (size_t i = 0; i < nr && ret == 0; i++) {
		ret = bd_bitmap_remove(node, list[i].name, &err);
		if (ret < 0)
			report_failure(&err, "Operation remove on bitmap %s failed: ",
				       list[i].name);
	}
	bd_bitmaps_free(list, nr);
	return ret < 0;
}

/* What concerns all bitmaps. */
static int run_on_all(struct bd_queue *queue, const struct bitmap_values *values, const char *name)
{
	unsigned flags = BD_O_NO_BACKING | (values->list ? BD_O_NO_DATA : BD_O_RDWR);
	struct bd_node *node = image_open(queue, name, &values->image, flags, "cache");
	const bool json = values->output && !strcmp(values->output, "json");
	int status;

	if (!node)
		return 1;
	status = values->list ? bitmap_list(node, json) : remove_all(node);
	return image_close(node) ? 1 : status;
}

static int open_and_run(struct bitmap_job *job, struct bd_queue *queue, const char *name)
{
	const struct bitmap_values *values = job->values;
	struct image_values source = { .format = values->source_format };
	int status = 1;

	job->node = image_open(queue, name, &values->image, BD_O_RDWR | BD_O_NO_BACKING, "cache");
	if (!job->node)
		return 1;
	job->source = job->node;
	if (values->source)
		job->source = image_open(queue, values->source, &source, BD_O_NO_BACKING, "cache");
	if (job->source)
		status = run_steps(job);
	if (job->source != job->node)
		bd_close(job->source);
	return image_close(job->node) ? 1 : status;
}

static int run(struct invocation *inv)
{
	const struct bitmap_values *values = inv->values;
	struct bitmap_job job = { .values = values };
	struct bd_queue *queue;
	bool json;
	int status;

	if (values->granularity &&
	    opts_size("granularity", values->granularity, 0, INT64_MAX, &job.granularity))
		return 1;
	if (opts_output(values->output, &json) || check(values, inv->nr_operands) ||
	    image_conflict(&values->image))
		return 1;
	queue = image_queue(64);
	if (!queue)
		return 1;
	if (values->steps) {
		job.name = inv->operands[1];
		status = open_and_run(&job, queue, inv->operands[0]);
	} else {
		status = run_on_all(queue, values, inv->operands[0]);
	}
	bd_queue_free(queue);
	return status;
}

const struct command cmd_bitmap = {
	.name = "bitmap",
	.operands = "FILE [BITMAP]",
	.summary = "Add, change or remove persistent bitmaps",
	.opts = bitmap_opts,
	.values_size = sizeof(struct bitmap_values),
	.run = run,
};
