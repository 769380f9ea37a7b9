/* SPDX-License-Identifier: MIT */
/* qimg checksum: a digest of the disk in an image, the same for every format. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "blockdev/include/checksum.h"
#include "qimg/command.h"
#include "qimg/image.h"
#include "qimg/info_print.h"
#include "qimg/report.h"

struct checksum_values {
	struct image_values image;
	const char *algorithm, *output;
	bool progress;
};

static const struct opt checksum_opts[] = {
	OPT_COMMON_OBJECT,
	OPT_COMMON_IMAGE_OPTS(struct checksum_values),
	OPT_COMMON_FORMAT(struct checksum_values),
	{ NULL, "algorithm", NULL, OPT_TEXT, offsetof(struct checksum_values, algorithm),
	  "ALGORITHM",
	  "sha256 (the default), sha512, or xxh3" },
	{ NULL, "output", NULL, OPT_TEXT, offsetof(struct checksum_values, output), "OFMT",
	  "human or json" },
	{ "T", "cache", NULL, OPT_TEXT, offsetof(struct checksum_values, image.cache), "CACHE",
	  "cache mode" },
	OPT_COMMON_SHARE(struct checksum_values),
	OPT_COMMON_PROGRESS(struct checksum_values),
	{ 0 },
};

static json_t *to_json(struct bd_node *node, const char *name, const char *algorithm,
		       const char *text)
{
	json_t *json = json_object();

	json_object_set_new(json, "filename", bd_json_text(name));
	json_object_set_new(json, "format", json_string(bd_format_name(node)));
	json_object_set_new(json, "virtual-size", json_integer((json_int_t)bd_size(node)));
	json_object_set_new(json, "algorithm", json_string(algorithm));
	json_object_set_new(json, "block-size", json_integer(BD_CHECKSUM_BLOCK));
	json_object_set_new(json, "checksum", json_string(text));
	return json;
}

/* One image; its line is printed, or its object appended to @list.  0, or 1: reported. */
static int one(struct bd_node *node, const char *name, const struct checksum_values *values,
	       json_t *list)
{
	struct progress progress;
	struct bd_checksum_args args = {
		.node = node,
		.algorithm = values->algorithm ? values->algorithm : "sha256",
		.progress = progress_update,
		.user = &progress,
	};
	uint8_t out[BD_CHECKSUM_MAX];
	char text[2 * BD_CHECKSUM_MAX + 1];
	struct bd_error err = { 0 };
	size_t len;
	int ret;

	progress_begin(&progress, values->progress, 1);
	ret = bd_checksum(&args, out, &len, &err);
	progress_end(&progress);
	if (ret < 0) {
		report_failure(&err, "%s: ", name);
		return 1;
	}
	for (size_t i = 0; i < len; i++)
		sprintf(text + 2 * i, "%02x", out[i]);
	if (list)
		json_array_append_new(list, to_json(node, name, args.algorithm, text));
	else
		printf("%s  %s\n", text, name);
	return 0;
}

static int run_all(struct invocation *inv, json_t *list)
{
	const struct checksum_values *values = inv->values;
	struct bd_queue *queue = image_queue(128);
	int status = queue ? 0 : 1;

	for (int i = 0; queue && i < inv->nr_operands; i++) {
		const char *name = inv->operands[i];
		struct bd_node *node = image_open(queue, name, &values->image, 0, "source cache");

		if (!node || one(node, name, values, list))
			status = 1;
		image_close(node);
	}
	bd_queue_free(queue);
	return status;
}

static bool known(const char *algorithm)
{
	const char *const *name = bd_checksum_algorithms();

	while (*name && strcmp(*name, algorithm))
		name++;
	return *name;
}

static int run(struct invocation *inv)
{
	const struct checksum_values *values = inv->values;
	const char *algorithm = values->algorithm ? values->algorithm : "sha256";
	json_t *list = NULL;
	bool json;
	int status;

	if (opts_output(values->output, &json) || image_conflict(&values->image))
		return 1;
	if (!inv->nr_operands)
		return report_usage("Expecting one image file name at least");
	if (!known(algorithm)) {
		report_error("Unknown algorithm '%s'", algorithm);
		return 1;
	}
	if (json && !(list = json_array())) {
		report_error("%s", strerror(ENOMEM));
		return 1;
	}
	status = run_all(inv, list);
	if (list && json_print(list))
		status = 1;
	return status;
}

const struct command cmd_checksum = {
	.name = "checksum",
	.operands = "FILE...",
	.summary = "Print a digest of the disk in each image, whatever its format",
	.opts = checksum_opts,
	.values_size = sizeof(struct checksum_values),
	.run = run,
};
