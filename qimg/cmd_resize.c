/* SPDX-License-Identifier: MIT */
/* qimg resize: change the size of the guest disk. */
#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "qimg/command.h"
#include "qimg/image.h"
#include "qimg/info_print.h"
#include "qimg/report.h"

struct resize_values {
	struct image_values image;
	const char *prealloc, *output;
	const char *minus;     /* a size such as "-1G", taken out of the options */
	int nr_words;          /* behind the command */
	bool shrink, quiet, json;
};

static int check_mode(const char *name, const char *mode, void *values)
{
	(void)values;
	if (strcmp(name, "preallocation") || !strcmp(mode, "off") ||
	    !strcmp(mode, "metadata") || !strcmp(mode, "falloc") || !strcmp(mode, "full"))
		return 0;
	report_error("Invalid preallocation mode '%s'", mode);
	return 1;
}

static const struct opt resize_opts[] = {
	OPT_COMMON_OBJECT,
	OPT_COMMON_IMAGE_OPTS(struct resize_values),
	OPT_COMMON_FORMAT(struct resize_values),
	{ NULL, "preallocation", NULL, OPT_TEXT, offsetof(struct resize_values, prealloc), "MODE",
	  "how the new part is allocated: off, metadata, falloc, full" },
	OPT_COMMON_QUIET(struct resize_values),
	OPT_COMMON_OUTPUT(struct resize_values),
	{ NULL, "shrink", NULL, OPT_FLAG, offsetof(struct resize_values, shrink), NULL,
	  "allow data behind the new end to be lost" },
	{ 0 },
};

/* "-1G" is a size, not options: no option is called by a digit.  Nor is a wrong one at the end. */
static bool looks_like_size(const char *word, bool last)
{
	return word[0] == '-' && (isdigit((unsigned char)word[1]) ||
				  (last && word[1] && !strchr("-fqh", word[1])));
}

static void take_minus(int *argc, char **argv, void *arg)
{
	struct resize_values *values = arg;

	values->nr_words = *argc - 1;
	for (int i = *argc - 1; i > 0; i--) {
		if (!looks_like_size(argv[i], i == *argc - 1))
			continue;
		values->minus = argv[i];
		memmove(&argv[i], &argv[i + 1], (size_t)(*argc - i) * sizeof(argv[0]));
		--*argc;
		return;
	}
}

/* "N", "+N" or "-N". */
struct change {
	char sign;      /* 0: absolute */
	uint64_t bytes;
};

static int parse_change(const char *text, struct change *change)
{
	int ret = -EINVAL;

	change->sign = text[0] == '+' || text[0] == '-' ? text[0] : 0;
	text += !!change->sign;
	if (isdigit((unsigned char)text[0]))
		ret = bd_parse_size_below(text, UINT64_MAX, &change->bytes);
	if (ret == 0)
		return 0;
	if (ret == -ERANGE) {
		report_error("Value '%s' is out of range for parameter 'size'", text);
		return 1;
	}
	report_error("Parameter 'size' expects a non-negative number below 2^64\n"
		     "Optional suffix k, M, G, T, P or E means kilo-, mega-, giga-, tera-, "
		     "peta-\nand exabytes, respectively.");
	return 1;
}

/* 0: it would not be positive, or too large. */
static uint64_t new_size(const struct change *change, uint64_t old)
{
	uint64_t size = change->bytes;
	bool bad = false;

	if (change->sign == '+')
		bad = __builtin_add_overflow(old, change->bytes, &size);
	else if (change->sign == '-')
		bad = __builtin_sub_overflow(old, change->bytes, &size);
	return bad || size > INT64_MAX ? 0 : size;
}

static int resize(struct bd_node *node, const struct resize_values *values,
		  const struct change *change)
{
	const char *prealloc = values->prealloc ? values->prealloc : "off";
	uint64_t old = bd_size(node), size = new_size(change, old);
	struct bd_error err = { 0 };

	if (!size) {
		report_error("New image size must be positive");
		return 1;
	}
	if (size <= old && strcmp(prealloc, "off")) {
		report_error("Preallocation can only be used for growing images");
		return 1;
	}
	if (size < old && !values->shrink) {
		report_error("Use the --shrink option to perform a shrink operation.");
		report_warning("Shrinking an image will delete all data beyond the shrunken "
			       "image's end. Before performing such an operation, make sure "
			       "there is no important data there.");
		return 1;
	}
	if (bd_resize(node, size, prealloc, values->shrink, &err) < 0) {
		report_failure(&err, "%s", "");
		return 1;
	}
	return 0;
}

static json_t *describe(struct bd_node *node, const char *name, uint64_t old)
{
	json_t *json = json_object();

	json_object_set_new(json, "filename", bd_json_text(name));
	json_object_set_new(json, "format", bd_json_text(bd_format_name(node)));
	json_object_set_new(json, "old-size", json_integer((json_int_t)old));
	json_object_set_new(json, "virtual-size", json_integer((json_int_t)bd_size(node)));
	return json;
}

static int open_and_resize(const char *name, const struct change *change,
			   const struct resize_values *values)
{
	struct bd_queue *queue = image_queue(64);
	struct bd_node *node;
	json_t *result = NULL;
	int status = 1;

	if (!queue)
		return 1;
	node = image_open(queue, name, &values->image, BD_O_RDWR | BD_O_RESIZE, "cache");
	if (node) {
		uint64_t old = bd_size(node);

		status = resize(node, values, change);
		if (!status && !values->quiet && values->json)
			result = describe(node, name, old);
		if (image_close(node))
			status = 1;
		if (!status && result)
			json_print(json_incref(result));
		else if (!status && !values->quiet)
			printf("Image resized.\n");
		json_decref(result);
	}
	bd_queue_free(queue);
	return status;
}

static int run(struct invocation *inv)
{
	struct resize_values *values = inv->values;
	int nr = inv->nr_operands + !!values->minus;
	struct change change;

	if (opts_output(values->output, &values->json))
		return 1;
	if (values->nr_words < 2)
		return report_usage("Not enough arguments");
	if (nr != 2)
		return report_usage("Expecting image file name and size");
	if (parse_change(values->minus ? values->minus : inv->operands[1], &change))
		return 1;
	if (image_conflict(&values->image))
		return 1;
	return open_and_resize(inv->operands[0], &change, values);
}

const struct command cmd_resize = {
	.name = "resize",
	.operands = "FILE [+|-]SIZE",
	.summary = "Change the size of the disk in an image",
	.opts = resize_opts,
	.values_size = sizeof(struct resize_values),
	.prepare = take_minus,
	.look = check_mode,
	.run = run,
};
