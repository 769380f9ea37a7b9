/* SPDX-License-Identifier: MIT */
/* qimg info: what an image, or a whole backing chain, is. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qimg/command.h"
#include "qimg/image.h"
#include "qimg/info_print.h"
#include "qimg/report.h"

struct info_values {
	struct image_values image;
	const char *output;
	bool backing_chain, limits;
};

static const struct opt info_opts[] = {
	OPT_COMMON_OBJECT,
	OPT_COMMON_IMAGE_OPTS(struct info_values),
	OPT_COMMON_FORMAT(struct info_values),
	{ NULL, "output", NULL, OPT_TEXT, offsetof(struct info_values, output), "OFMT",
	  "human or json" },
	{ NULL, "backing-chain", NULL, OPT_FLAG, offsetof(struct info_values, backing_chain),
	  NULL, "the backing files, too" },
	{ NULL, "limits", NULL, OPT_FLAG, offsetof(struct info_values, limits), NULL,
	  "the sizes and alignments that suit the image" },
	{ "t", "cache", NULL, OPT_TEXT, offsetof(struct info_values, image.cache), "CACHE",
	  "cache mode" },
	OPT_COMMON_SHARE(struct info_values),
	{ 0 },
};

/* Names seen so far: a chain that comes back to one of them has no end. */
struct chain {
	char **names;
	size_t nr;
};

static int chain_add(struct chain *chain, const char *name)
{
	char **more;

	for (size_t i = 0; i < chain->nr; i++) {
		if (!strcmp(chain->names[i], name)) {
			report_error("Backing file '%s' creates an infinite loop.", name);
			return 1;
		}
	}
	more = realloc(chain->names, (chain->nr + 1) * sizeof(*more));
	if (more)
		chain->names = more;
	if (!more || !(chain->names[chain->nr] = strdup(name))) {
		report_error("%s", strerror(ENOMEM));
		return 1;
	}
	chain->nr++;
	return 0;
}

static void chain_clear(struct chain *chain)
{
	while (chain->nr)
		free(chain->names[--chain->nr]);
	free(chain->names);
}

/* Where the next layer is. */
struct next {
	char *name, *format;
};

/* Name the layer below, if the whole chain is asked for; 0, or 1: reported. */
static int find_next(const struct bd_info *info, struct next *next)
{
	free(next->name);
	free(next->format);
	*next = (struct next){ 0 };
	if (!info->backing_name)
		return 0;
	if (!info->backing_full) {
		report_error("Could not determine the backing file name");
		return 1;
	}
	next->name = strdup(info->backing_full);
	next->format = info->backing_format ? strdup(info->backing_format) : NULL;
	if (next->name && (next->format || !info->backing_format))
		return 0;
	report_error("%s", strerror(ENOMEM));
	return 1;
}

/* Where the result is gathered: a broken chain prints nothing. */
struct sink {
	json_t *list; /* NULL: text */
	FILE *text;
	bool limits;
};

static void add_json(const struct sink *sink, struct bd_node *node, const struct bd_info *info)
{
	json_t *json = bd_info_json(node, info);

	if (json && sink->limits)
		json_object_set_new(json, "limits", info_limits_to_json(&info->limits));
	json_array_append_new(sink->list, json);
}

/* Open, look, gather, close. */
static int one_layer(struct bd_queue *queue, const char *name, const struct image_values *image,
		     const struct sink *sink, struct next *next)
{
	struct bd_error err = { 0 };
	struct bd_info info = { 0 };
	struct bd_node *node = image_open(queue, name, image, BD_O_NO_BACKING | BD_O_NO_IO,
					  "cache");
	int status = 1;

	if (!node)
		return 1;
	if (bd_info_get(node, &info, &err) < 0) {
		report_failure(&err, "%s", "");
	} else {
		status = find_next(&info, next);
		if (sink->list)
			add_json(sink, node, &info);
		else
			info_print_human(sink->text, node, &info);
		if (sink->text && sink->limits)
			info_print_limits(sink->text, &info.limits);
		bd_info_clear(&info);
	}
	bd_close(node);
	return status;
}

static int walk_chain(struct bd_queue *queue, const char *name, const struct info_values *values,
		      const struct sink *sink)
{
	struct image_values image = values->image;
	struct chain chain = { 0 };
	struct next next = { 0 };
	int status = 0;

	for (const char *layer = name; layer && !status; layer = next.name) {
		status = values->backing_chain && chain_add(&chain, layer);
		if (status)
			break;
		if (layer != name && sink->text)
			fputc('\n', sink->text);
		status = one_layer(queue, layer, &image, sink, &next);
		if (!values->backing_chain)
			break;
		image.image_opts = false;
		image.format = next.format;
	}
	free(next.name);
	free(next.format);
	chain_clear(&chain);
	return status;
}

static int print_json(const struct sink *sink, bool whole)
{
	return json_print(json_incref(whole ? sink->list : json_array_get(sink->list, 0)));
}

static int show(struct bd_queue *queue, const char *name, const struct info_values *values,
		bool json)
{
	struct sink sink = { .limits = values->limits };
	char *text = NULL;
	size_t len = 0;
	int status;

	if (json)
		sink.list = json_array();
	else
		sink.text = open_memstream(&text, &len);
	if (!sink.list && !sink.text) {
		report_error("%s", strerror(ENOMEM));
		return 1;
	}
	status = walk_chain(queue, name, values, &sink);
	if (sink.text)
		fclose(sink.text);
	if (!status && json)
		status = print_json(&sink, values->backing_chain);
	else if (!status)
		fwrite(text, 1, len, stdout);
	json_decref(sink.list);
	free(text);
	return status;
}

static int run(struct invocation *inv)
{
	const struct info_values *values = inv->values;
	struct bd_queue *queue;
	bool json;
	int status;

	if (inv->nr_operands != 1)
		return report_usage("Expecting one image file name");
	if (opts_output(values->output, &json) || image_conflict(&values->image))
		return 1;
	queue = image_queue(64);
	if (!queue)
		return 1;
	status = show(queue, inv->operands[0], values, json);
	bd_queue_free(queue);
	return status;
}

const struct command cmd_info = {
	.name = "info",
	.operands = "FILE",
	.summary = "Show what an image is: format, sizes, backing file, snapshots",
	.opts = info_opts,
	.values_size = sizeof(struct info_values),
	.run = run,
};
