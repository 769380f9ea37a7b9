/* SPDX-License-Identifier: MIT */
/*
 * Clusters that are counted and not used: is one of them the L2 table that led to the data in
 * others?  What a change leaves behind that was broken off are tables, too, but they lead to no
 * data: L1 and refcount tables, bitmaps.  Spec: cluster-mapping, refcounts, bitmaps.
 */
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/be.h"
#include "blockdev/base/bits.h"
#include "blockdev/base/cleanup.h"
#include "blockdev/base/zero.h"
#include "blockdev/format/qcow2/check.h"
#include "blockdev/format/qcow2/entry.h"
#include "blockdev/format/qcow2/layout.h"

enum {
	HEAD = 4096,           /* bytes that tell most clusters of data from a table */
	MAX_LOOKS = 16,        /* entries of a table that are followed */
	MAX_BITMAPS = 1024,    /* tables of old bitmaps that are remembered */
};

/* Is @cluster counted on disk, and not used?  One behind those that are remembered is. */
static bool is_orphan(const struct qcow2_checker *ck, uint64_t cluster)
{
	const struct qcow2_doubts *d = &ck->doubts;
	size_t low = 0, high = d->nr_orphans;

	if (!d->nr_orphans || cluster > d->orphans[high - 1])
		return d->forgotten && !qcow2_counts_get(&ck->counts, cluster);
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (d->orphans[mid] == cluster)
			return true;
		if (d->orphans[mid] < cluster)
			low = mid + 1;
		else
			high = mid;
	}
	return false;
}

/*
 * What does @entry lead to?  1: to a cluster that is counted and that nothing else uses; 2: to one
 * that is used; 0: to none, or to a free one; -1: it is no entry of a table.
 */
static int target_of(const struct qcow2_checker *ck, struct qcow2_entry entry)
{
	const struct qcow2 *q = ck->q;
	uint64_t off = qcow2_entry_host(entry);
	uint32_t len;

	if (!entry.l2)
		return entry.bitmap ? -1 : 0;
	if (entry.l2 & QCOW2_L2_ENTRY_COMPRESSED)
		qcow2_entry_compressed(q, entry.l2, &off, &len);
	else if (entry.l2 & QCOW2_L2_ENTRY_RESERVED || off & (q->cluster_size - 1))
		return -1;
	if (off >= ck->file_len || (!off && !(entry.l2 & QCOW2_OFLAG_ZERO)))
		return -1;
	if (!off)
		return 0;
	if (qcow2_counts_get(&ck->counts, off >> q->cluster_bits))
		return 2;
	return is_orphan(ck, off >> q->cluster_bits);
}

/*
 * Do @len bytes look like entries of an L2 table?  *orphans, *others: entries whose cluster has
 * lost its last reference with this table, and those that are reached in another way.
 */
static bool looks_like_table(const struct qcow2_checker *ck, const uint8_t *buf, size_t len,
			     uint64_t *orphans, uint64_t *others)
{
	unsigned step = ck->q->l2_entry_size / 8;
	const be64 *at = (const be64 *)buf;

	for (size_t i = 0; i < len / 8; i += step) {
		struct qcow2_entry entry = {
			be64_get(at[i]), step > 1 ? be64_get(at[i + 1]) : 0
		};
		int ret = target_of(ck, entry);

		if (ret < 0)
			return false;
		*orphans += ret == 1;
		*others += ret == 2;
	}
	return true;
}

/* What the look at the orphans, in order, remembers. */
struct scan {
	struct qcow2_checker *ck;
	uint8_t *buf, *target;   /* one cluster each */
	uint64_t next;           /* the cluster behind the last part of an old table */
	uint64_t part;           /* clusters of that table before @next */
	struct { uint64_t off, len; } bitmaps[MAX_BITMAPS]; /* tables of old bitmaps, bytes */
	size_t nr_bitmaps;
};

/*
 * Bytes of the entry of a bitmap directory at @buf, of which @len are there; 0: it is none.
 * *off, *bytes: the bitmap's table.
 */
static uint64_t bitmap_entry(const struct qcow2_checker *ck, const uint8_t *buf, size_t len,
			     uint64_t *off, uint64_t *bytes)
{
	struct qcow2_disk_bitmap entry;
	uint64_t total;

	if (len < sizeof(entry))
		return 0;
	memcpy(&entry, buf, sizeof(entry));
	*off = be64_get(entry.table_off);
	*bytes = be32_get(entry.table_size) * UINT64_C(8);
	total = round_up(sizeof(entry) + be16_get(entry.name_len), 8);
	if (!*off || *off & (ck->q->cluster_size - 1) || *off >= ck->file_len || !*bytes ||
	    *bytes > ck->file_len || entry.type != 1 || entry.granularity_bits < 9 ||
	    entry.granularity_bits > 31 || !be16_get(entry.name_len) ||
	    be16_get(entry.name_len) > QCOW2_LIMIT_BITMAP_NAME || be32_get(entry.extra_len) ||
	    total > len)
		return 0;
	return total;
}

/* If the @len bytes of scan->buf begin a directory of bitmaps: where their tables are. */
static void note_bitmaps(struct scan *scan, size_t len)
{
	size_t pos = 0;
	uint64_t off, bytes, total;

	while (scan->nr_bitmaps < MAX_BITMAPS &&
	       (total = bitmap_entry(scan->ck, scan->buf + pos, len - pos, &off, &bytes))) {
		scan->bitmaps[scan->nr_bitmaps].off = off;
		scan->bitmaps[scan->nr_bitmaps++].len = bytes;
		pos += total;
	}
}

static bool is_bitmap_table(const struct scan *scan, uint64_t off)
{
	for (size_t i = 0; i < scan->nr_bitmaps; i++) {
		uint64_t start = scan->bitmaps[i].off;

		if (off >= start && off - start < scan->bitmaps[i].len)
			return true;
	}
	return false;
}

/*
 * Are these counts of 1 << @order bits those of block @idx, of now or some changes ago?  They are
 * small, and nothing is behind the end of the file.  Counts of few bits are always small, and those
 * of another width come from amend alone: they must also fit to what is in use.
 */
static bool like_refblock(const struct qcow2_checker *ck, const uint8_t *buf, uint64_t idx,
			  unsigned order)
{
	const struct qcow2 *q = ck->q;
	uint64_t per_block = (uint64_t)q->cluster_size * 8 >> order;
	uint64_t end = div_up(ck->file_len, q->cluster_size), good = 0, large = 0, missing = 0;
	bool exact = order < 3 || order != q->refcount_order;

	for (uint64_t i = 0; i < per_block; i++) {
		uint64_t count = qcow2_refcount_get(buf, i, order);
		uint64_t cluster = idx * per_block + i;
		bool used;

		if (cluster >= end && count)
			return false;
		if (cluster >= end)
			break;
		used = qcow2_counts_get(&ck->counts, cluster) != 0;
		large += count > q->nb_snapshots + UINT64_C(2);
		missing += used && !count;
		good += used && count;
	}
	return good && large <= good / 8 && (!exact || missing <= good / 8);
}

/*
 * Does entry @idx of a table lead to an old refcount block, or to an old L2 table whose data are
 * still reached?
 */
static bool is_copy(struct scan *scan, uint64_t entry, uint64_t idx)
{
	const struct qcow2_checker *ck = scan->ck;
	uint64_t off = entry & QCOW2_OFFSET_MASK, orphans = 0, others = 0;
	uint32_t len = ck->q->cluster_size;

	if (qcow2_read_padded(ck->q, off, scan->target, len) < 0)
		return false;
	if (looks_like_table(ck, scan->target, len, &orphans, &others) && !orphans && others)
		return true;
	for (unsigned order = 0; order <= 6 && entry == off; order++) {
		if (like_refblock(ck, scan->target, idx, order))
			return true;
	}
	return false;
}

/*
 * Does scan->buf, cluster @cluster, lead to nothing but copies?  Then it is an L1 or a refcount
 * table, of before a change or of one that was broken off, and holds no data.
 */
static bool leads_to_copies(struct scan *scan, uint64_t cluster)
{
	const struct qcow2_checker *ck = scan->ck;
	const be64 *at = (const be64 *)scan->buf;
	uint64_t nr = ck->q->cluster_size / 8, looks = 0;
	uint64_t part = cluster == scan->next ? scan->part : 0;

	for (uint64_t i = 0; i < nr && looks < MAX_LOOKS; i++) {
		uint64_t entry = be64_get(at[i]), off = entry & QCOW2_OFFSET_MASK;

		if (!off || off >= ck->file_len || !is_orphan(ck, off >> ck->q->cluster_bits))
			continue;
		looks++;
		if (off & (ck->q->cluster_size - 1) || !is_copy(scan, entry, part * nr + i))
			return false;
	}
	scan->next = cluster + 1;
	scan->part = part + 1;
	return true;
}

/* Look at one lost cluster.  *data: has it any content? */
static bool is_lost_table(struct scan *scan, uint64_t cluster, bool *data)
{
	const struct qcow2_checker *ck = scan->ck;
	struct qcow2 *q = ck->q;
	uint64_t off = cluster << q->cluster_bits, orphans = 0, others = 0;
	size_t head = min_u64(HEAD, q->cluster_size), rest = q->cluster_size - head;

	if (is_bitmap_table(scan, off))
		return false;
	if (qcow2_read_padded(q, off, scan->buf, head) < 0)
		return false;
	*data = !bd_is_zero(scan->buf, head);
	if (!looks_like_table(ck, scan->buf, head, &orphans, &others))
		return false;
	if (!rest || qcow2_read_padded(q, off + head, scan->buf + head, rest) < 0) {
		rest = 0;
		memset(scan->buf + head, 0, q->cluster_size - head);
	}
	*data |= rest && !bd_is_zero(scan->buf + head, rest);
	return looks_like_table(ck, scan->buf + head, rest, &orphans, &others) && orphans &&
	       !others && !leads_to_copies(scan, cluster);
}

bool qcow2_orphans_judge(struct qcow2_checker *ck)
{
	__cleanup(free) uint8_t *buf = malloc(ck->q->cluster_size);
	__cleanup(free) uint8_t *target = malloc(ck->q->cluster_size);
	__cleanup(free) struct scan *scan = calloc(1, sizeof(*scan));
	const size_t nr = buf && target && scan ? ck->doubts.nr_orphans : 0;
	const size_t head = min_u64(HEAD, ck->q->cluster_size);
	bool any = false;

	ck->res->lost_tables = 0;
	if (nr)
		*scan = (struct scan){ .ck = ck, .buf = buf, .target = target };
	for (size_t i = 0; i < nr; i++) {
		if (qcow2_read_padded(ck->q, ck->doubts.orphans[i] << ck->q->cluster_bits, buf,
				      head) == 0)
			note_bitmaps(scan, head);
	}
	for (size_t i = 0; i < nr; i++) {
		bool data = false;

		ck->res->lost_tables += is_lost_table(scan, ck->doubts.orphans[i], &data);
		any |= data;
	}
	/* Data without one table above them: the L1 table has been lost. */
	if (any && !ck->doubts.tables && !ck->res->lost_tables)
		ck->res->lost_tables = 1;
	return any;
}
