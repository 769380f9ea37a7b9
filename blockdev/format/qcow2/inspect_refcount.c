/* SPDX-License-Identifier: MIT */
/* Refcounts and snapshots.  Spec: refcounts */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/format/qcow2/inspect.h"

enum { BAD_MAX = 16 };

/* --- refcounts ------------------------------------------------------------------------------- */

static void one_block(struct inspect *in, uint64_t idx, uint64_t off, uint8_t *buf)
{
	uint64_t nr = in->cluster_size * 8 >> in->refcount_order, kinds[3] = { 0 };
	struct inspect_part part = qcow2_inspect_begin_some(in, "refcount-block", "refcounts", off,
							    in->cluster_size);

	if (qcow2_inspect_read(in, off, buf, in->cluster_size) < in->cluster_size)
		qcow2_inspect_problem(&part, "the file ends inside the block");
	for (uint64_t i = 0; i < nr; i++) {
		uint64_t count = qcow2_refcount_get(buf, i, in->refcount_order);

		kinds[count < 2 ? count : 2]++;
	}
	qcow2_inspect_note(&part, "first cluster", idx * nr);
	qcow2_inspect_note(&part, "free", kinds[0]);
	qcow2_inspect_note(&part, "used once", kinds[1]);
	qcow2_inspect_note(&part, "shared", kinds[2]);
}

static bool good_block(const struct inspect *in, uint64_t off)
{
	return off && !(off & (in->cluster_size - 1)) && off < in->file_size;
}

static void reftable_entry(struct inspect_walk *walk, uint64_t idx, const uint8_t *bytes,
			   struct inspect_verdict *verdict)
{
	struct inspect *in = walk->part->in;
	uint64_t entry = inspect_be64(bytes), off = entry & QCOW2_REFTABLE_ENTRY_OFFSET;

	verdict->kind = off ? "blocks" : "empty";
	snprintf(verdict->text, sizeof(verdict->text), "refcount block at %#llx",
		 (unsigned long long)off);
	if (entry & QCOW2_REFTABLE_ENTRY_RESERVED)
		verdict->problem = "reserved bits are set";
	else if (off & (in->cluster_size - 1))
		verdict->problem = "the refcount block is not at a cluster";
	else if (off >= in->file_size)
		verdict->problem = "the refcount block is behind the end of the file";
	if (good_block(in, off)) {
		qcow2_inspect_ref(in, idx, off);
		qcow2_inspect_range(in, "refcount-block", off, in->cluster_size, 0);
	}
}

void qcow2_inspect_refcounts(struct inspect *in)
{
	uint64_t len = (uint64_t)in->reftable_clusters << in->cluster_bits;
	struct inspect_part part;
	struct inspect_walk walk = { .part = &part, .nr = len / 8, .entry_size = 8,
				     .entry = reftable_entry };
	uint8_t *buf = malloc(in->cluster_size);

	part = qcow2_inspect_begin(in, "refcount-table", "refcounts", in->reftable_off, len);
	qcow2_inspect_table(&walk);
	qcow2_inspect_range(in, "refcount-table", in->reftable_off, len, 0);
	in->nr_shown = 0;
	for (size_t i = 0; buf && in->refcount_order <= 6 && i < in->nr_refs; i++) {
		if (in->budget < in->cluster_size)
			break;
		in->budget -= in->cluster_size;
		one_block(in, in->refs[i].idx, in->refs[i].off, buf);
	}
	free(buf);
}

/* --- snapshots ------------------------------------------------------------------------------- */

static bool wrong_snapshot(const struct inspect *in, const char *name, uint64_t v)
{
	if (!strcmp(name, "l1_off"))
		return v & (in->cluster_size - 1) || v >= in->file_size;
	if (!strcmp(name, "l1_size"))
		return v > QCOW2_LIMIT_L1_BYTES / 8;
	if (!strcmp(name, "extra_len"))
		return v > QCOW2_LIMIT_SNAPSHOT_EXTRA_BYTES || (in->version > 2 && v < 16);
	return false;
}

static void snapshot_l1(struct inspect *in, uint64_t off, uint32_t nr, unsigned owner)
{
	struct inspect_part part;
	struct inspect_walk walk = { .part = &part, .nr = nr, .entry_size = 8,
				     .entry = qcow2_inspect_l1_entry };

	if (off & (in->cluster_size - 1) || off >= in->file_size)
		return;
	part = qcow2_inspect_begin_some(in, "snapshot-l1", "snapshots", off, nr * UINT64_C(8));
	qcow2_inspect_table(&walk);
	qcow2_inspect_range(in, "snapshot-l1", off, nr * UINT64_C(8), owner);
}

void qcow2_inspect_name(struct inspect_part *part, const char *name, uint64_t off, uint16_t len)
{
	static const char meaning[] = "bytes without a terminating zero";
	struct inspect_value value = { name, off, len, NULL, meaning, NULL };
	char *buf = malloc(len + 1u);

	if (!buf)
		return;
	if (qcow2_inspect_read(part->in, off, buf, len) < len)
		value.problem = "the file ends inside it";
	value.value = qcow2_inspect_text(buf, len);
	qcow2_inspect_field(part, &value);
	free(buf);
}

/* Bytes of the entry; 0: stop. */
static uint64_t one_snapshot(struct inspect *in, uint64_t off, unsigned idx)
{
	struct qcow2_disk_snapshot head;
	uint8_t extra[sizeof(struct qcow2_disk_snapshot_extra)];
	struct inspect_bytes bytes = { &head, sizeof(head), off };
	struct inspect_part part = qcow2_inspect_begin_some(in, "snapshot", "snapshots", off, 0);
	uint32_t extra_len;
	uint64_t at = off + sizeof(head);

	if (qcow2_inspect_read(in, off, &head, sizeof(head)) < sizeof(head)) {
		qcow2_inspect_problem(&part, "the file ends inside the snapshot table");
		return 0;
	}
	qcow2_inspect_fields(&part, "snapshot", &bytes, wrong_snapshot);
	extra_len = be32_get(head.extra_len);
	if (extra_len > QCOW2_LIMIT_SNAPSHOT_EXTRA_BYTES)
		return 0;
	bytes = (struct inspect_bytes){ extra, min_u64(extra_len, sizeof(extra)), at };
	qcow2_inspect_read(in, at, extra, sizeof(extra));
	qcow2_inspect_fields(&part, "snapshot_extra", &bytes, NULL);
	at += extra_len;
	qcow2_inspect_name(&part, "id", at, be16_get(head.id_len));
	qcow2_inspect_name(&part, "name", at + be16_get(head.id_len), be16_get(head.name_len));
	snapshot_l1(in, be64_get(head.l1_off), be32_get(head.l1_size), idx);
	return round_up(at + be16_get(head.id_len) + be16_get(head.name_len), 8) - off;
}

void qcow2_inspect_snapshots(struct inspect *in)
{
	uint64_t off = in->snapshots_off, len, before = in->nr_problems;

	in->nr_shown = 0;
	if (off > INT64_MAX / 2)
		return;
	for (uint32_t i = 0; i < in->nb_snapshots && i < QCOW2_LIMIT_SNAPSHOTS; i++) {
		len = one_snapshot(in, off, i + 1);
		off += len;
		/* What is wrong again and again is no snapshot table. */
		if (!len || in->nr_problems - before > BAD_MAX)
			break;
	}
	qcow2_inspect_range(in, "snapshot-table", in->snapshots_off, off - in->snapshots_off, 0);
}
