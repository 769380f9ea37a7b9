/* SPDX-License-Identifier: MIT */
/* qimg map: where each range of the guest disk lies. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qimg/command.h"
#include "qimg/image.h"
#include "qimg/map_picture.h"
#include "qimg/report.h"

enum { BATCH = 64 };

struct map_values {
	struct image_values image;
	const char *output, *start, *length, *svg;
	bool picture;
};

static const struct opt map_opts[] = {
	OPT_COMMON_OBJECT,
	OPT_COMMON_IMAGE_OPTS(struct map_values),
	OPT_COMMON_FORMAT(struct map_values),
	{ "s", "start-offset", NULL, OPT_TEXT, offsetof(struct map_values, start), "OFFSET",
	  "first byte to describe" },
	{ "l", "max-length", NULL, OPT_TEXT, offsetof(struct map_values, length), "LEN",
	  "how many bytes to describe" },
	{ NULL, "output", NULL, OPT_TEXT, offsetof(struct map_values, output), "OFMT",
	  "human or json" },
	{ NULL, "picture", NULL, OPT_FLAG, offsetof(struct map_values, picture), NULL,
	  "draw the disk with letters" },
	{ NULL, "svg", NULL, OPT_TEXT, offsetof(struct map_values, svg), "FILE",
	  "draw the disk into an SVG file" },
	OPT_COMMON_SHARE(struct map_values),
	{ 0 },
};

struct entry {
	uint64_t start, len, host;
	unsigned depth;
	bool present, zero, data, has_host;
	const char *file;
};

static struct entry to_entry(const struct bd_extent *ext)
{
	bool zero = ext->kind <= BD_ZERO || (ext->flags & BD_EXTENT_SPARSE);

	return (struct entry){
		.start = ext->guest_off,
		.len = ext->len,
		.host = ext->host_off,
		.depth = ext->depth,
		.present = ext->kind != BD_UNALLOCATED,
		.zero = zero,
		.data = ext->kind >= BD_DATA,
		.has_host = (ext->flags & BD_EXTENT_HAS_OFFSET) &&
			    !(ext->flags & BD_EXTENT_ENCRYPTED) && ext->kind != BD_COMPRESSED,
		.file = ext->node ? bd_data_filename(ext->node) : "",
	};
}

static bool mergeable(const struct entry *a, const struct entry *b)
{
	if (!a->len || a->zero != b->zero || a->data != b->data || a->present != b->present ||
	    a->depth != b->depth || a->has_host != b->has_host)
		return false;
	if (a->has_host && (a->host + a->len != b->host || strcmp(a->file, b->file)))
		return false;
	return true;
}

static int print_human(const struct entry *e)
{
	if (e->data && !e->has_host) {
		report_error("File contains external, encrypted or compressed clusters.");
		return 1;
	}
	if (e->data && !e->zero)
		printf("%#-16" PRIx64 "%#-16" PRIx64 "%#-16" PRIx64 "%s\n", e->start, e->len,
		       e->host, e->file);
	return 0;
}

static void print_json(const struct entry *e, bool last)
{
	static const char *const words[] = { "false", "true" };

	printf("{ \"start\": %" PRIu64 ", \"length\": %" PRIu64 ", \"depth\": %u, "
	       "\"present\": %s, \"zero\": %s, \"data\": %s",
	       e->start, e->len, e->depth, words[e->present], words[e->zero], words[e->data]);
	if (e->has_host)
		printf(", \"offset\": %" PRIu64, e->host);
	printf(last ? "}]\n" : "},\n");
}

static int print_entry(const struct entry *e, bool json, bool last)
{
	if (!json)
		return print_human(e);
	print_json(e, last);
	return 0;
}

/* People see only what is there: the rest is one kind, so that more ranges join. */
static void simplify(struct entry *e)
{
	if (e->data && !e->zero)
		return;
	e->data = e->has_host = e->present = false;
	e->zero = true;
	e->depth = 0;
}

/* Walk [start, end), join, print. */
static int walk(struct bd_node *node, uint64_t start, uint64_t end, bool json)
{
	struct entry last = { .start = start };
	struct bd_extent ext[BATCH];

	while (last.start + last.len < end) {
		uint64_t off = last.start + last.len;
		int nr = bd_map(node, off, end - off, ext, BATCH);

		if (nr <= 0) {
			report_error("Could not read file metadata: %s", strerror(nr ? -nr : 5));
			return 1;
		}
		for (int i = 0; i < nr; i++) {
			struct entry next = to_entry(&ext[i]);

			if (!json)
				simplify(&next);
			if (mergeable(&last, &next)) {
				last.len += next.len;
				continue;
			}
			if (last.len && print_entry(&last, json, false))
				return 1;
			last = next;
		}
	}
	return print_entry(&last, json, true);
}

static int list(struct bd_node *node, uint64_t start, uint64_t end, bool json)
{
	if (json)
		putchar('[');
	else
		printf("%-16s%-16s%-16s%s\n", "Offset", "Length", "Mapped to", "File");
	return walk(node, start, end, json);
}

/* Letters fit on a terminal; a file has room for more. */
static int draw(struct bd_node *node, uint64_t start, uint64_t end,
		const struct map_values *values)
{
	struct picture letters = { .start = start, .end = end, .cols = 64 };
	struct picture squares = { .start = start, .end = end, .cols = 128 };
	int status = 0;

	if (values->picture) {
		status = picture_collect(node, &letters, 8);
		if (!status)
			picture_print(&letters);
		free(letters.cells);
	}
	if (values->svg && !status) {
		status = picture_collect(node, &squares, 32) ||
			 picture_svg(&squares, values->svg, bd_filename(node));
		free(squares.cells);
	}
	return status;
}

static int map_image(const char *name, const struct map_values *values, bool json,
		     uint64_t start, uint64_t max)
{
	struct bd_queue *queue = image_queue(64);
	struct bd_node *node;
	uint64_t end;
	int status;

	if (!queue)
		return 1;
	node = image_open(queue, name, &values->image, 0, "cache");
	if (!node) {
		bd_queue_free(queue);
		return 1;
	}
	end = bd_size(node);
	if (start <= end && max < end - start)
		end = start + max;
	if (values->picture || values->svg)
		status = draw(node, start < end ? start : end, end, values);
	else
		status = list(node, start, end, json);
	bd_close(node);
	bd_queue_free(queue);
	return status;
}

static int look(const char *name, const char *arg, void *values)
{
	uint64_t value;

	(void)values;
	if (!strcmp(name, "start-offset"))
		return opts_size("start offset", arg, 0, INT64_MAX, &value);
	if (!strcmp(name, "max-length"))
		return opts_size("max length", arg, 0, INT64_MAX, &value);
	return 0;
}

static int run(struct invocation *inv)
{
	const struct map_values *values = inv->values;
	uint64_t start = 0, max = UINT64_MAX;
	bool json;

	if (values->start && opts_size("start offset", values->start, 0, INT64_MAX, &start))
		return 1;
	if (values->length && opts_size("max length", values->length, 0, INT64_MAX, &max))
		return 1;
	if (inv->nr_operands != 1)
		return report_usage("Expecting one image file name");
	if (opts_output(values->output, &json) || image_conflict(&values->image))
		return 1;
	return map_image(inv->operands[0], values, json, start, max);
}

const struct command cmd_map = {
	.name = "map",
	.operands = "FILE",
	.summary = "Show which ranges of the disk are allocated, and where they lie",
	.opts = map_opts,
	.values_size = sizeof(struct map_values),
	.look = look,
	.run = run,
};
