/* SPDX-License-Identifier: MIT */
/* qimg compare: do two images hold the same disk. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "blockdev/include/copy.h"
#include "qimg/command.h"
#include "qimg/image.h"
#include "qimg/info_print.h"
#include "qimg/report.h"

/* 0: the same, 1: they differ (and errors of usage), then these. */
enum { EXIT_OPEN = 2, EXIT_STATUS = 3, EXIT_READ = 4 };

struct compare_values {
	struct image_values image;
	const char *format_b, *output;
	bool strict, progress, quiet;
};

static const struct opt compare_opts[] = {
	OPT_COMMON_OBJECT,
	OPT_COMMON_IMAGE_OPTS(struct compare_values),
	{ "f", "a-format", NULL, OPT_TEXT, offsetof(struct compare_values, image.format), "FMT",
	  "format of the first image" },
	{ "F", "b-format", NULL, OPT_TEXT, offsetof(struct compare_values, format_b), "FMT",
	  "format of the second image" },
	{ "T", "cache", NULL, OPT_TEXT, offsetof(struct compare_values, image.cache), "CACHE",
	  "cache mode" },
	OPT_COMMON_PROGRESS(struct compare_values),
	OPT_COMMON_QUIET(struct compare_values),
	{ "s", "strict", NULL, OPT_FLAG, offsetof(struct compare_values, strict), NULL,
	  "size and allocation must be the same, too" },
	OPT_COMMON_OUTPUT(struct compare_values),
	OPT_COMMON_SHARE(struct compare_values),
	{ 0 },
};

struct job {
	struct progress progress;
	bool quiet, size_differs;
};

static void size_differs(void *user)
{
	struct job *job = user;

	job->size_differs = true;
	if (!job->quiet)
		printf("Warning: Image size mismatch!\n");
}

static void progress(uint64_t done, uint64_t total, void *user)
{
	struct job *job = user;

	progress_update(done, total, &job->progress);
}

static void say_result(int result, uint64_t offset)
{
	switch (result) {
	case BD_SAME:
		printf("Images are identical.\n");
		break;
	case BD_DIFFER_CONTENT:
		printf("Content mismatch at offset %" PRIu64 "!\n", offset);
		break;
	case BD_DIFFER_STATUS:
		printf("Strict mode: Offset %" PRIu64 " block status mismatch!\n", offset);
		break;
	case BD_DIFFER_SIZE:
		printf("Strict mode: Image size mismatch!\n");
		break;
	}
}

static void print_json(const struct bd_compare_args *args, int result)
{
	static const char *const kinds[] = {
		[BD_SAME] = NULL,
		[BD_DIFFER_CONTENT] = "content",
		[BD_DIFFER_STATUS] = "allocation",
		[BD_DIFFER_SIZE] = "size",
	};
	const struct job *job = args->user;
	json_t *json = json_object();
	bool sizes = job->size_differs || result == BD_DIFFER_SIZE;

	json_object_set_new(json, "identical", json_boolean(result == BD_SAME));
	json_object_set_new(json, "sizes-differ", json_boolean(sizes));
	if (kinds[result])
		json_object_set_new(json, "difference", json_string(kinds[result]));
	if (result == BD_DIFFER_CONTENT || result == BD_DIFFER_STATUS)
		json_object_set_new(json, "offset", json_integer((json_int_t)args->offset));
	json_print(json);
}

static int compare(struct bd_node *a, struct bd_node *b, const struct compare_values *values,
		   struct job *job)
{
	const bool json = values->output && !strcmp(values->output, "json");
	struct bd_compare_args args = {
		.a = a,
		.b = b,
		.strict = values->strict,
		.progress = progress,
		.size_differs = size_differs,
		.user = job,
	};
	struct bd_error err = { 0 };
	int ret;

	progress_update(0, 1, &job->progress);
	ret = bd_compare(&args, &err);
	if (ret < 0)
		report_failure(&err, "%s", "");
	else if (!job->quiet)
		say_result(ret, args.offset);
	progress_end(&job->progress);
	if (ret >= 0 && json && !values->quiet)
		print_json(&args, ret);
	if (ret < 0)
		return args.status_failed ? EXIT_STATUS : EXIT_READ;
	return ret != BD_SAME;
}

static int open_and_compare(struct bd_queue *queue, char **names,
			    const struct compare_values *values)
{
	struct image_values second = values->image;
	struct job job = { .quiet = values->quiet ||
				    (values->output && !strcmp(values->output, "json")) };
	struct bd_node *a, *b = NULL;
	int status = EXIT_OPEN;

	second.format = values->format_b;
	progress_begin(&job.progress, values->progress && !job.quiet, 2);
	a = image_open(queue, names[0], &values->image, 0, "source cache");
	if (a)
		b = image_open(queue, names[1], &second, 0, "source cache");
	if (b)
		status = compare(a, b, values, &job);
	else
		progress_end(&job.progress);
	image_close(b);
	image_close(a);
	return status;
}

static int run(struct invocation *inv)
{
	const struct compare_values *values = inv->values;
	struct bd_queue *queue;
	int status;
	bool json;

	if (opts_output(values->output, &json))
		return 1;
	if (inv->nr_operands != 2)
		return report_usage("Expecting two image file names");
	if (image_conflict(&values->image))
		return EXIT_OPEN;
	queue = image_queue(128);
	if (!queue)
		return EXIT_OPEN;
	status = open_and_compare(queue, inv->operands, values);
	bd_queue_free(queue);
	return status;
}

const struct command cmd_compare = {
	.name = "compare",
	.operands = "FILE1 FILE2",
	.summary = "Compare the disks in two images; exit 0: the same, 1: they differ",
	.opts = compare_opts,
	.values_size = sizeof(struct compare_values),
	.object_status = EXIT_OPEN,
	.run = run,
};
