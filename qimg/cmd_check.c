/* SPDX-License-Identifier: MIT */
/* qimg check: is the metadata of an image consistent; repair it. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "blockdev/include/check.h"
#include "qimg/command.h"
#include "qimg/image.h"
#include "qimg/info_print.h"
#include "qimg/report.h"

/* Exit states beyond success and failure. */
enum { EXIT_CORRUPT = 2, EXIT_LEAKS = 3, EXIT_NO_CHECK = 63 };

struct check_values {
	struct image_values image;
	const char *output, *repair;
	bool quiet, force;
};

static const struct opt check_opts[] = {
	OPT_COMMON_OBJECT,
	OPT_COMMON_IMAGE_OPTS(struct check_values),
	OPT_COMMON_QUIET(struct check_values),
	OPT_COMMON_FORMAT(struct check_values),
	{ NULL, "output", NULL, OPT_TEXT, offsetof(struct check_values, output), "OFMT",
	  "human or json" },
	{ "r", "repair", NULL, OPT_TEXT, offsetof(struct check_values, repair), "WHAT",
	  "leaks: give lost clusters back; all: mend everything" },
	{ NULL, "force", NULL, OPT_FLAG, offsetof(struct check_values, force), NULL,
	  "with -r: repair even what may be the last trace of guest data" },
	{ "T", "cache", NULL, OPT_TEXT, offsetof(struct check_values, image.cache), "CACHE",
	  "cache mode" },
	OPT_COMMON_SHARE(struct check_values),
	{ 0 },
};

static void print_human(const struct bd_check *check)
{
	if (!check->corruptions && !check->leaks && !check->check_errors)
		printf("No errors were found on the image.\n");
	if (check->corruptions)
		printf("\n%" PRIu64 " errors were found on the image.\n"
		       "Data may be corrupted, or further writes to the image may corrupt it.\n",
		       check->corruptions);
	if (check->leaks)
		printf("\n%" PRIu64 " leaked clusters were found on the image.\n%s\n",
		       check->leaks,
		       check->lost_tables ? "Some look like lost mapping tables: guest data may "
					    "be missing." :
					    "This means waste of disk space, but no harm to data.");
	if (check->check_errors)
		printf("\n%" PRIu64 " internal errors have occurred during the check.\n",
		       check->check_errors);
	if (check->total_clusters && check->allocated_clusters)
		printf("%" PRIu64 "/%" PRIu64 " = %0.2f%% allocated, %0.2f%% fragmented, "
		       "%0.2f%% compressed clusters\n",
		       check->allocated_clusters, check->total_clusters,
		       (double)check->allocated_clusters * 100.0 / (double)check->total_clusters,
		       (double)check->fragmented_clusters * 100.0 /
			       (double)check->allocated_clusters,
		       (double)check->compressed_clusters * 100.0 /
			       (double)check->allocated_clusters);
	if (check->image_end_offset)
		printf("Image end offset: %" PRIu64 "\n", check->image_end_offset);
}

static void set_number(json_t *json, const char *name, uint64_t value)
{
	if (value)
		json_object_set_new(json, name, json_integer((json_int_t)value));
}

static int print_json(struct bd_node *node, const char *name, const struct bd_check *check)
{
	json_t *json = json_object();

	/* In QEMU's order, for those who read the text. */
	set_number(json, "image-end-offset", check->image_end_offset);
	set_number(json, "compressed-clusters", check->compressed_clusters);
	set_number(json, "total-clusters", check->total_clusters);
	set_number(json, "corruptions-fixed", check->corruptions_fixed);
	set_number(json, "corruptions", check->corruptions);
	json_object_set_new(json, "check-errors", json_integer((json_int_t)check->check_errors));
	set_number(json, "leaks-fixed", check->leaks_fixed);
	set_number(json, "leaks", check->leaks);
	set_number(json, "allocated-clusters", check->allocated_clusters);
	json_object_set_new(json, "filename", bd_json_text(name));
	json_object_set_new(json, "format", bd_json_text(bd_format_name(node)));
	set_number(json, "lost-tables", check->lost_tables);
	set_number(json, "fragmented-clusters", check->fragmented_clusters);
	return json_print(json);
}

/* A repair is followed by a second look; the counts of what was mended are kept. */
static int check_again(struct bd_node *node, struct bd_check *check, bool say,
		       struct bd_error *err)
{
	uint64_t leaks_fixed = check->leaks_fixed, corruptions_fixed = check->corruptions_fixed;
	int ret;

	if (say)
		printf("The following inconsistencies were found and repaired:\n\n"
		       "    %" PRIu64 " leaked clusters\n"
		       "    %" PRIu64 " corruptions\n\n"
		       "Double checking the fixed image now...\n",
		       leaks_fixed, corruptions_fixed);
	*check = (struct bd_check){ .report = check->report, .user = check->user };
	ret = bd_check(node, 0, check, err);
	check->leaks_fixed = leaks_fixed;
	check->corruptions_fixed = corruptions_fixed;
	return ret;
}

static int failed(const struct bd_error *err, int ret)
{
	if (err->msg[0])
		report_failure(err, "Check failed: ");
	else
		report_error("Check failed: %s", strerror(-ret));
	return 1;
}

static int check_node(struct bd_node *node, const char *name, const struct check_values *values,
		      bool json, unsigned fix)
{
	struct bd_check check = { .report = report_err_line };
	struct bd_error err = { 0 };
	int ret = bd_check(node, fix, &check, &err);

	if (ret == -ENOTSUP) {
		report_error("This image format does not support checks");
		return EXIT_NO_CHECK;
	}
	if (ret == 0 && (check.corruptions_fixed || check.leaks_fixed))
		ret = check_again(node, &check, !json && !values->quiet, &err);
	if (ret < 0)
		return failed(&err, ret);
	if (!values->quiet && json)
		print_json(node, name, &check);
	else if (!values->quiet)
		print_human(&check);
	if (check.check_errors) {
		report_error("Check failed");
		return 1;
	}
	if (check.corruptions || check.lost_tables || check.not_repaired)
		return EXIT_CORRUPT;
	return check.leaks ? EXIT_LEAKS : 0;
}

static int look(const char *name, const char *arg, void *values)
{
	(void)values;
	if (strcmp(name, "repair") || !strcmp(arg, "leaks") || !strcmp(arg, "all"))
		return 0;
	return report_usage("Unknown option value for -r (expecting 'leaks' or 'all'): %s", arg);
}

static int run(struct invocation *inv)
{
	struct check_values *values = inv->values;
	unsigned fix = 0, flags = BD_O_CHECK | BD_O_NO_BACKING | BD_O_NO_DATA;
	struct bd_queue *queue;
	struct bd_node *node;
	bool json;
	int status = 1;

	if (values->repair && !strcmp(values->repair, "leaks"))
		fix = BD_FIX_LEAKS;
	else if (values->repair && !strcmp(values->repair, "all"))
		fix = BD_FIX_LEAKS | BD_FIX_ERRORS;
	if (values->force && !fix)
		return report_usage("--force is for repairs: use it with -r");
	if (values->force)
		fix |= BD_FIX_FORCE;
	if (inv->nr_operands != 1)
		return report_usage("Expecting one image file name");
	if (opts_output(values->output, &json) || image_conflict(&values->image))
		return 1;
	if (fix)
		flags |= BD_O_RDWR;
	queue = image_queue(64);
	if (!queue)
		return 1;
	node = image_open(queue, inv->operands[0], &values->image, flags, "source cache");
	if (node) {
		status = check_node(node, inv->operands[0], values, json, fix);
		if (image_close(node) && !status)
			status = 1;
	}
	bd_queue_free(queue);
	return status;
}

const struct command cmd_check = {
	.name = "check",
	.operands = "FILE",
	.summary = "Check an image's metadata; exit 0: fine, 2: errors, 3: leaks, 63: no check",
	.opts = check_opts,
	.values_size = sizeof(struct check_values),
	.look = look,
	.run = run,
};
