/* SPDX-License-Identifier: MIT */
/* Walking tables of any kind, and knowing which structure lies where. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/format/qcow2/inspect.h"

enum {
	CHUNK = 64 * 1024,
	RANGES_MAX = 1 << 20,
	LISTED = 16, LISTED_ONE = 65536, /* entries shown of a table */
	LISTED_BAD = 16,                 /* and bad ones beyond these */
	NR_KINDS = 8,
};

static void count(struct inspect_walk *walk, const char *kind)
{
	for (unsigned i = 0; i < NR_KINDS; i++) {
		if (!walk->kinds[i])
			walk->kinds[i] = kind;
		if (walk->kinds[i] == kind) {
			walk->counts[i]++;
			return;
		}
	}
}

static void list(struct inspect_walk *walk, uint64_t idx, const uint8_t *bytes,
		 const struct inspect_verdict *verdict)
{
	unsigned max = walk->part->in->args->structure ? LISTED_ONE : LISTED;
	struct inspect_value value = { NULL, walk->part->off + idx * walk->entry_size,
				       walk->entry_size, NULL, verdict->text, verdict->problem };
	char name[32], hex[48];

	if (walk->listed >= max) {
		if (!verdict->problem || walk->listed_bad >= LISTED_BAD) {
			walk->part->in->nr_problems += verdict->problem != NULL;
			walk->unlisted++;
			return;
		}
		walk->listed_bad++;
	}
	walk->listed++;
	snprintf(name, sizeof(name), "[%llu]", (unsigned long long)idx);
	if (walk->entry_size == 16)
		snprintf(hex, sizeof(hex), "0x%016llx %016llx",
			 (unsigned long long)inspect_be64(bytes),
			 (unsigned long long)inspect_be64(bytes + 8));
	else
		snprintf(hex, sizeof(hex), "0x%016llx", (unsigned long long)inspect_be64(bytes));
	value.name = name;
	value.value = json_string(hex);
	qcow2_inspect_field(walk->part, &value);
}

static bool all_zero(const uint8_t *bytes, size_t len)
{
	return !bytes[0] && !memcmp(bytes, bytes + 1, len - 1);
}

static void walk_chunk(struct inspect_walk *walk, uint64_t first, const uint8_t *buf, size_t len)
{
	for (size_t pos = 0; pos + walk->entry_size <= len; pos += walk->entry_size) {
		uint64_t idx = first + pos / walk->entry_size;
		struct inspect_verdict verdict = { 0 };

		walk->entry(walk, idx, buf + pos, &verdict);
		count(walk, verdict.kind);
		if (verdict.problem || !all_zero(buf + pos, walk->entry_size))
			list(walk, idx, buf + pos, &verdict);
	}
}

void qcow2_inspect_table(struct inspect_walk *walk)
{
	struct inspect *in = walk->part->in;
	uint64_t bytes = walk->nr * walk->entry_size, pos = 0, end = bytes;
	uint8_t *buf = malloc(CHUNK);

	if (walk->part->off >= in->file_size)
		end = 0;
	else
		end = min_u64(end, in->file_size - walk->part->off);
	if (end < bytes)
		qcow2_inspect_problem(walk->part, "%llu of %llu bytes lie behind the end of the "
				      "file",
				      (unsigned long long)(bytes - end), (unsigned long long)bytes);
	while (buf && pos < end && in->budget) {
		size_t len = (size_t)min_u64(min_u64(end - pos, CHUNK), in->budget);

		len -= len % walk->entry_size;
		if (!len || !qcow2_inspect_read(in, walk->part->off + pos, buf, len))
			break;
		walk_chunk(walk, pos / walk->entry_size, buf, len);
		in->budget -= len;
		pos += len;
	}
	free(buf);
	for (unsigned i = 0; i < NR_KINDS && walk->kinds[i]; i++)
		qcow2_inspect_note(walk->part, walk->kinds[i], walk->counts[i]);
	if (walk->unlisted)
		qcow2_inspect_note(walk->part, "not listed", walk->unlisted);
	if (pos + walk->entry_size <= end)
		qcow2_inspect_note(walk->part, "not looked at", (end - pos) / walk->entry_size);
}

void qcow2_inspect_range(struct inspect *in, const char *name, uint64_t off, uint64_t len,
			 unsigned owner)
{
	if (!len || in->nr_ranges >= RANGES_MAX || off > INT64_MAX || len > INT64_MAX)
		return;
	if (in->nr_ranges == in->room_ranges) {
		size_t room = in->room_ranges ? in->room_ranges * 2 : 256;
		struct inspect_range *grown = realloc(in->ranges, room * sizeof(*grown));

		if (!grown)
			return;
		in->ranges = grown;
		in->room_ranges = room;
	}
	in->ranges[in->nr_ranges++] = (struct inspect_range){ off, len, name, owner };
}

void qcow2_inspect_ref(struct inspect *in, uint64_t idx, uint64_t off)
{
	if (in->nr_refs >= RANGES_MAX)
		return;
	if (in->nr_refs == in->room_refs) {
		size_t room = in->room_refs ? in->room_refs * 2 : 64;
		struct inspect_ref *grown = realloc(in->refs, room * sizeof(*grown));

		if (!grown)
			return;
		in->refs = grown;
		in->room_refs = room;
	}
	in->refs[in->nr_refs++] = (struct inspect_ref){ idx, off };
}

static int by_offset(const void *a, const void *b)
{
	const struct inspect_range *x = a, *y = b;

	return x->off < y->off ? -1 : x->off > y->off;
}

void qcow2_inspect_ranges_sort(struct inspect *in)
{
	const struct inspect_range *widest = NULL;

	if (in->nr_ranges)
		qsort(in->ranges, in->nr_ranges, sizeof(*in->ranges), by_offset);
	for (size_t i = 0; i < in->nr_ranges; i++) {
		const struct inspect_range *r = &in->ranges[i];

		if (widest && r->off < widest->off + widest->len &&
		    (r->off != widest->off || r->name != widest->name ||
		     r->owner == widest->owner)) {
			struct inspect_part part = { .in = in, .name = r->name, .off = r->off };

			qcow2_inspect_problem(&part, "overlaps the %s at %#llx", widest->name,
					      (unsigned long long)widest->off);
		}
		if (!widest || r->off + r->len > widest->off + widest->len)
			widest = r;
	}
}

const struct inspect_range *qcow2_inspect_ranges_find(const struct inspect *in, uint64_t off,
						      uint64_t len)
{
	size_t low = 0, high = in->nr_ranges;

	/* The first range that begins at or behind the end of ours. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (in->ranges[middle].off < off + len)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || in->ranges[low - 1].off + in->ranges[low - 1].len <= off)
		return NULL;
	return &in->ranges[low - 1];
}
