/* SPDX-License-Identifier: MIT */
/* L1 and L2 tables, and the way of one guest offset.  Spec: cluster-mapping */
#include <stdio.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/format/qcow2/inspect.h"

static bool behind_end(const struct inspect *in, uint64_t off)
{
	return off >= in->file_size;
}

static bool external(const struct inspect *in)
{
	return in->incompatible & QCOW2_INCOMPAT_DATA_FILE;
}

static uint64_t l2_entries(const struct inspect *in)
{
	return in->cluster_size / in->entry_size;
}

void qcow2_inspect_l1_entry(struct inspect_walk *walk, uint64_t idx, const uint8_t *bytes,
			    struct inspect_verdict *verdict)
{
	const struct inspect *in = walk->part->in;
	uint64_t entry = inspect_be64(bytes), off = entry & QCOW2_L1_ENTRY_OFFSET;

	(void)idx;
	verdict->kind = off ? "tables" : "empty";
	if (off)
		snprintf(verdict->text, sizeof(verdict->text), "L2 table at %#llx%s",
			 (unsigned long long)off, entry & QCOW2_L1_ENTRY_COPIED ? ", copied" : "");
	else
		snprintf(verdict->text, sizeof(verdict->text), "no L2 table");
	if (entry & QCOW2_L1_ENTRY_RESERVED)
		verdict->problem = "reserved bits are set";
	else if (off & (in->cluster_size - 1))
		verdict->problem = "the L2 table is not at a cluster";
	else if (off && behind_end(in, off))
		verdict->problem = "the L2 table is behind the end of the file";
}

static void active_entry(struct inspect_walk *walk, uint64_t idx, const uint8_t *bytes,
			 struct inspect_verdict *verdict)
{
	struct inspect *in = walk->part->in;
	uint64_t off = inspect_be64(bytes) & QCOW2_L1_ENTRY_OFFSET;

	qcow2_inspect_l1_entry(walk, idx, bytes, verdict);
	if (!off || off & (in->cluster_size - 1) || behind_end(in, off))
		return;
	qcow2_inspect_ref(in, idx, off);
	qcow2_inspect_range(in, "l2", off, in->cluster_size, 0);
}

void qcow2_inspect_l1(struct inspect *in)
{
	struct inspect_part part;
	struct inspect_walk walk = { .part = &part, .nr = in->l1_size, .entry_size = 8,
				     .entry = active_entry };

	in->nr_refs = 0;
	part = qcow2_inspect_begin(in, "l1", "cluster-mapping", in->l1_off,
				   in->l1_size * UINT64_C(8));
	qcow2_inspect_table(&walk);
	qcow2_inspect_range(in, "l1", in->l1_off, in->l1_size * UINT64_C(8), 0);
}

static void compressed_entry(const struct inspect *in, uint64_t entry,
			     struct inspect_verdict *verdict)
{
	unsigned shift = 62 - (in->cluster_bits - 8);
	uint64_t off = entry & ((UINT64_C(1) << shift) - 1);
	uint64_t sectors = (entry >> shift & ((UINT64_C(1) << (62 - shift)) - 1)) + 1;

	verdict->kind = "compressed";
	snprintf(verdict->text, sizeof(verdict->text), "at most %llu compressed bytes at %#llx",
		 (unsigned long long)(sectors * 512 - off % 512), (unsigned long long)off);
	if (entry & QCOW2_L2_ENTRY_COPIED)
		verdict->problem = "compressed, yet the copied bit is set";
	else if (external(in))
		verdict->problem = "compressed, yet the data are in an external file";
	else if (behind_end(in, off))
		verdict->problem = "the data are behind the end of the file";
	else if (qcow2_inspect_ranges_find(in, off, 1))
		verdict->problem = "the data lie in metadata";
}

static const char *standard_problem(const struct inspect *in, uint64_t entry, uint64_t guest)
{
	uint64_t off = entry & QCOW2_L2_ENTRY_OFFSET;
	bool extended = in->incompatible & QCOW2_INCOMPAT_EXTENDED_L2;
	bool there = off || (external(in) && entry & QCOW2_L2_ENTRY_COPIED);

	if (entry & QCOW2_L2_ENTRY_RESERVED)
		return "reserved bits are set";
	if (entry & QCOW2_L2_ENTRY_ZERO && (extended || in->version < 3))
		return "the zero bit is not allowed here";
	if (off & (in->cluster_size - 1))
		return "the data are not at a cluster";
	if (there && external(in))
		return off == guest ? NULL : "the offset in the data file is not the guest's";
	if (off && behind_end(in, off))
		return "the data are behind the end of the file";
	if (off && qcow2_inspect_ranges_find(in, off, in->cluster_size))
		return "the data lie in metadata";
	return NULL;
}

static void subclusters(uint64_t bitmap, bool there, struct inspect_verdict *verdict)
{
	uint32_t allocated = (uint32_t)bitmap, zero = (uint32_t)(bitmap >> 32);
	size_t used = strlen(verdict->text);

	snprintf(verdict->text + used, sizeof(verdict->text) - used,
		 ", subclusters allocated %08x, zero %08x", allocated, zero);
	if (!verdict->problem && allocated & zero)
		verdict->problem = "subclusters are both allocated and zero";
	if (!verdict->problem && allocated && !there)
		verdict->problem = "subclusters are allocated, but there is no cluster";
}

static void l2_entry(struct inspect_walk *walk, uint64_t idx, const uint8_t *bytes,
		     struct inspect_verdict *verdict)
{
	const struct inspect *in = walk->part->in;
	uint64_t entry = inspect_be64(bytes), off = entry & QCOW2_L2_ENTRY_OFFSET;
	uint64_t bitmap = in->entry_size == 16 ? inspect_be64(bytes + 8) : 0;
	bool zero = entry & QCOW2_L2_ENTRY_ZERO && in->entry_size == 8;
	bool there = off || (external(in) && entry & QCOW2_L2_ENTRY_COPIED);

	if (entry & QCOW2_L2_ENTRY_COMPRESSED) {
		compressed_entry(in, entry, verdict);
		if (bitmap && !verdict->problem)
			verdict->problem = "compressed, yet it has subclusters";
		return;
	}
	verdict->kind = zero ? "zero" : there ? "data" : "unallocated";
	if (there)
		snprintf(verdict->text, sizeof(verdict->text), "%s at %#llx%s",
			 zero ? "zeros, allocated" : "data", (unsigned long long)off,
			 entry & QCOW2_L2_ENTRY_COPIED ? ", copied" : "");
	else
		snprintf(verdict->text, sizeof(verdict->text), "%s",
			 zero ? "zeros" : "nothing of this layer");
	verdict->problem = standard_problem(in, entry, walk->guest + (idx << in->cluster_bits));
	if (in->entry_size == 16)
		subclusters(bitmap, there, verdict);
}

void qcow2_inspect_l2_tables(struct inspect *in)
{
	uint64_t nr = l2_entries(in);

	in->nr_shown = 0;
	for (size_t i = 0; i < in->nr_refs; i++) {
		struct inspect_part part;
		struct inspect_walk walk = { .part = &part, .nr = nr, .entry = l2_entry,
					     .entry_size = in->entry_size };

		walk.guest = in->refs[i].idx * nr << in->cluster_bits;
		part = qcow2_inspect_begin_some(in, "l2", "cluster-mapping", in->refs[i].off,
						in->cluster_size);
		qcow2_inspect_note(&part, "first guest byte", walk.guest);
		if (!in->budget) {
			part = qcow2_inspect_begin(in, "l2", "cluster-mapping", in->refs[i].off, 0);
			qcow2_inspect_note(&part, "further tables not looked at", in->nr_refs - i);
			return;
		}
		qcow2_inspect_table(&walk);
	}
}

/* One entry of a table, as a structure of its own.  Its value. */
static uint64_t one_entry(struct inspect *in, const char *name, struct inspect_walk *walk,
			  uint64_t table, uint64_t idx)
{
	uint8_t bytes[16] = { 0 };
	uint64_t off = table + idx * walk->entry_size;
	struct inspect_part part = qcow2_inspect_begin(in, name, "cluster-mapping", off,
						       walk->entry_size);
	struct inspect_verdict verdict = { 0 };
	struct inspect_value value = { "entry", off, walk->entry_size, NULL, verdict.text, NULL };

	walk->part = &part;
	if (qcow2_inspect_read(in, off, bytes, walk->entry_size) < walk->entry_size)
		qcow2_inspect_problem(&part, "the entry lies behind the end of the file");
	walk->entry(walk, idx, bytes, &verdict);
	value.value = qcow2_inspect_number(inspect_be64(bytes));
	value.problem = verdict.problem;
	qcow2_inspect_field(&part, &value);
	qcow2_inspect_note(&part, "index", idx);
	return inspect_be64(bytes);
}

void qcow2_inspect_guest(struct inspect *in)
{
	uint64_t guest = in->args->guest, nr = l2_entries(in);
	uint64_t cluster = guest >> in->cluster_bits, l1_idx = cluster / nr, entry;
	struct inspect_walk l1 = { .entry_size = 8, .entry = qcow2_inspect_l1_entry };
	struct inspect_walk l2 = { .entry_size = in->entry_size, .entry = l2_entry,
				   .guest = l1_idx * nr << in->cluster_bits };

	if (l1_idx >= in->l1_size || in->l1_off > INT64_MAX) {
		struct inspect_part part;

		part = qcow2_inspect_begin(in, "l1", "cluster-mapping", in->l1_off, 0);
		qcow2_inspect_problem(&part, "the L1 table has no entry %llu for this offset",
				      (unsigned long long)l1_idx);
		return;
	}
	entry = one_entry(in, "l1", &l1, in->l1_off, l1_idx) & QCOW2_L1_ENTRY_OFFSET;
	if (entry)
		one_entry(in, "l2", &l2, entry, cluster % nr);
}
