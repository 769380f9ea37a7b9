/* SPDX-License-Identifier: MIT */
/* Walking L1 and L2 tables: which host clusters are referenced.  Spec: cluster-mapping. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/base/cleanup.h"
#include "blockdev/base/zero.h"
#include "blockdev/format/qcow2/check.h"
#include "blockdev/format/qcow2/entry.h"

/* Neighbouring references, counted together. */
struct run {
	uint64_t off, nr;
	bool single;
};

struct walk {
	struct qcow2_checker *ck;
	bool active;
	const uint64_t *l1;       /* host order */
	uint64_t entries;
	uint64_t idx;             /* the L1 entry whose table is walked */
	uint64_t ahead_idx;       /* next L1 entry to read ahead */
	uint64_t next_off;        /* where an unfragmented next cluster would be; 0: unknown */
	struct run run;
};

static int flush_run(struct walk *w)
{
	struct qcow2_checker *ck = w->ck;
	unsigned bits = ck->q->cluster_bits;
	uint64_t end = w->run.off + (w->run.nr << bits), done = 0;
	int ret = 0;

	if (!w->run.nr)
		return 0;
	if (w->active)
		qcow2_doubts_exclusive(ck, w->run.off, w->run.nr << bits);
	if (end <= ck->file_len)
		ret = qcow2_counts_add_run(&ck->counts, w->run.off >> bits, w->run.nr,
					   w->run.single, &done);
	if (ret == -ENOMEM)
		return ret;
	/* Behind the end, or counted too often: one by one, with messages. */
	ret = 0;
	for (; done < w->run.nr && ret == 0; done++)
		ret = qcow2_check_count(ck, w->run.off + (done << bits), ck->q->cluster_size,
					w->run.single);
	w->run.nr = 0;
	return ret;
}

static int add_cluster(struct walk *w, uint64_t off, bool single)
{
	struct run *run = &w->run;
	int ret;

	if (run->nr && off == run->off + (run->nr << w->ck->q->cluster_bits) &&
	    single == run->single) {
		run->nr++;
		return 0;
	}
	ret = flush_run(w);
	if (ret < 0)
		return ret;
	if (off & (w->ck->q->cluster_size - 1))
		return qcow2_check_count(w->ck, off, w->ck->q->cluster_size, single);
	*run = (struct run){ off, 1, single };
	return 0;
}

static void count_stats(struct walk *w, uint64_t off)
{
	if (!w->active)
		return;
	w->ck->res->allocated_clusters++;
	if (w->next_off && off != w->next_off)
		w->ck->res->fragmented_clusters++;
	w->next_off = off + w->ck->q->cluster_size;
}

static int complain_unaligned(struct walk *w, struct qcow2_entry entry, uint64_t off)
{
	struct qcow2_checker *ck = w->ck;
	bool data = ck->q->extended_l2 ? entry.bitmap & QCOW2_L2_BITMAP_ALLOCATED
				       : !(entry.l2 & QCOW2_OFLAG_ZERO);
	int ret = flush_run(w);

	ck->res->corruptions++;
	if (data)
		qcow2_check_say(ck, "ERROR offset=%llx: Data cluster is not properly aligned; L2 "
				"entry corrupted.", (unsigned long long)off);
	else
		qcow2_check_say(ck, "ERROR offset=%llx: Preallocated cluster is not properly "
				"aligned; L2 entry corrupted.", (unsigned long long)off);
	return ret;
}

/* In an external data file a cluster lies where the guest has it, and is never shared. */
static int walk_external(struct walk *w, struct qcow2_entry entry, unsigned idx)
{
	struct qcow2_checker *ck = w->ck;
	uint64_t off = qcow2_entry_host(entry);
	uint64_t guest = ((w->idx << ck->q->l2_bits) + idx) << ck->q->cluster_bits;

	if (!(entry.l2 & QCOW2_OFLAG_COPIED))
		ck->suspicious = true;
	if (off != guest) {
		ck->res->corruptions++;
		qcow2_check_say(ck, "ERROR offset=%llx: Cluster of guest offset %llx is not at "
				"this offset of the data file; L2 entry corrupted.",
				(unsigned long long)off, (unsigned long long)guest);
	}
	return 0;
}

static int walk_allocated(struct walk *w, struct qcow2_entry entry, unsigned idx)
{
	struct qcow2_checker *ck = w->ck;
	uint64_t off = qcow2_entry_host(entry);
	int ret;

	if ((entry.bitmap >> 32) & entry.bitmap) {
		ret = flush_run(w);
		ck->res->corruptions++;
		qcow2_check_say(ck, "ERROR offset=%llx: Allocated cluster has corrupted "
				"subcluster allocation bitmap", (unsigned long long)off);
		if (ret < 0)
			return ret;
	}
	if (off & (ck->q->cluster_size - 1)) {
		ret = complain_unaligned(w, entry, off);
		if (ret < 0)
			return ret;
	}
	count_stats(w, off);
	if (ck->q->incompatible & QCOW2_INCOMPAT_DATA_FILE)
		return walk_external(w, entry, idx);
	return add_cluster(w, off, w->active && entry.l2 & QCOW2_OFLAG_COPIED);
}

static int walk_compressed(struct walk *w, struct qcow2_entry entry, unsigned idx)
{
	struct qcow2_checker *ck = w->ck;
	uint64_t off;
	uint32_t len;
	int ret = flush_run(w);

	if (ret < 0)
		return ret;
	if (entry.l2 & QCOW2_OFLAG_COPIED) {
		ck->res->corruptions++;
		qcow2_check_say(ck, "ERROR: coffset=0x%llx: copied flag must never be set for "
				"compressed clusters",
				(unsigned long long)(entry.l2 & ck->q->cluster_offset_mask));
		entry.l2 &= ~QCOW2_OFLAG_COPIED;
	}
	if (ck->q->incompatible & QCOW2_INCOMPAT_DATA_FILE) {
		ck->res->corruptions++;
		qcow2_check_say(ck, "ERROR compressed cluster %u with data file, entry=0x%llx",
				idx, (unsigned long long)entry.l2);
		return 0;
	}
	if (entry.bitmap) {
		ck->res->corruptions++;
		qcow2_check_say(ck, "ERROR compressed cluster %u with non-zero subcluster "
				"allocation bitmap, entry=0x%llx", idx,
				(unsigned long long)entry.l2);
		return 0;
	}
	if (w->active) {
		ck->res->allocated_clusters++;
		ck->res->compressed_clusters++;
		ck->res->fragmented_clusters++; /* by nature: they share host clusters */
	}
	qcow2_entry_compressed(ck->q, entry.l2, &off, &len);
	return qcow2_check_count(ck, off, len, true);
}

static bool allocated(const struct qcow2 *q, struct qcow2_entry entry)
{
	if (qcow2_entry_host(entry))
		return true;
	return q->incompatible & QCOW2_INCOMPAT_DATA_FILE && entry.l2 & QCOW2_OFLAG_COPIED &&
	       (q->extended_l2 || !(entry.l2 & QCOW2_OFLAG_ZERO));
}

static int walk_entry(struct walk *w, struct qcow2_entry entry, unsigned idx)
{
	struct qcow2_checker *ck = w->ck;
	int ret;

	if (entry.l2 & QCOW2_L2_ENTRY_COMPRESSED)
		return walk_compressed(w, entry, idx);
	if (entry.l2 & QCOW2_L2_ENTRY_RESERVED) {
		ret = flush_run(w);
		ck->res->corruptions++;
		qcow2_check_say(ck, "ERROR found l2 entry with reserved bits set: %llx",
				(unsigned long long)entry.l2);
		if (ret < 0)
			return ret;
	}
	if (allocated(ck->q, entry))
		return walk_allocated(w, entry, idx);
	if (entry.bitmap & QCOW2_L2_BITMAP_ALLOCATED) {
		ck->res->corruptions++;
		qcow2_check_say(ck, "ERROR: Unallocated cluster has non-zero subcluster "
				"allocation map");
	}
	return 0;
}

static int walk_l2(struct walk *w, const uint8_t *table)
{
	const struct qcow2 *q = w->ck->q;
	const be64 *at = (const be64 *)table;
	unsigned nr = 1u << q->l2_bits, step = q->l2_entry_size / 8;

	w->next_off = 0;
	if (w->active) {
		w->ck->doubts.tables++;
		w->ck->doubts.empty += bd_is_zero(table, q->cluster_size);
	}
	for (unsigned i = 0; i < nr; i++, at += step) {
		struct qcow2_entry entry = { be64_get(at[0]), step > 1 ? be64_get(at[1]) : 0 };
		int ret;

		if (!entry.l2 && !entry.bitmap)
			continue;
		ret = walk_entry(w, entry, i);
		if (ret < 0)
			return ret;
	}
	return flush_run(w);
}

/* Entries that name a table, in order. */
static uint64_t next_table(void *user)
{
	struct walk *w = user;

	while (w->ahead_idx < w->entries) {
		uint64_t entry = w->l1[w->ahead_idx++];

		if (entry)
			return entry & QCOW2_OFFSET_MASK;
	}
	return UINT64_MAX;
}

static int walk_table(struct walk *w, uint64_t entry, const uint8_t *table, int res)
{
	struct qcow2_checker *ck = w->ck;
	uint64_t off = entry & QCOW2_OFFSET_MASK;
	int ret;

	if (entry & QCOW2_L1_ENTRY_RESERVED) {
		ck->res->corruptions++;
		qcow2_check_say(ck, "ERROR found L1 entry with reserved bits set: %llx",
				(unsigned long long)entry);
	}
	if (w->active)
		qcow2_doubts_exclusive(ck, off, ck->q->cluster_size);
	ret = qcow2_check_count(ck, off, ck->q->cluster_size,
				w->active && entry & QCOW2_OFLAG_COPIED);
	if (ret < 0)
		return ret;
	if (off & (ck->q->cluster_size - 1)) {
		ck->res->corruptions++;
		qcow2_check_say(ck, "ERROR l2_offset=%llx: Table is not cluster aligned; L1 entry "
				"corrupted", (unsigned long long)off);
	}
	if (res < 0) {
		ck->res->check_errors++;
		qcow2_check_say(ck, "ERROR: I/O error in check_refcounts_l2");
		return res;
	}
	return walk_l2(w, table);
}

static int walk_tables(struct walk *w)
{
	struct qcow2_ahead *ahead;
	int ret = qcow2_ahead_new(w->ck->q, next_table, w, &ahead);

	for (uint64_t i = 0; i < w->entries && ret == 0; i++) {
		const uint8_t *table;
		uint64_t off;
		int res;

		if (!w->l1[i])
			continue;
		table = qcow2_ahead_get(ahead, &off, &res);
		w->idx = i;
		ret = walk_table(w, w->l1[i], table, res);
	}
	qcow2_ahead_free(ahead);
	return ret;
}

int qcow2_check_l1(struct qcow2_checker *ck, uint64_t off, uint64_t entries, bool active)
{
	__cleanup(free) uint64_t *l1 = malloc(entries * 8 + 8);
	struct walk w = { .ck = ck, .active = active, .l1 = l1, .entries = entries };
	int ret;

	if (!l1)
		return -ENOMEM;
	if (!entries)
		return 0;
	qcow2_doubts_exclusive(ck, off, entries * 8);
	ret = qcow2_check_count(ck, off, entries * 8, true);
	if (ret < 0)
		return ret;
	ret = qcow2_read_padded(ck->q, off, l1, entries * 8);
	if (ret < 0) {
		ck->res->check_errors++;
		qcow2_check_say(ck, "ERROR: I/O error in check_refcounts_l1");
		return ret;
	}
	for (uint64_t i = 0; i < entries; i++) {
		be64 disk;

		memcpy(&disk, &l1[i], sizeof(disk));
		l1[i] = be64_get(disk);
	}
	return walk_tables(&w);
}
