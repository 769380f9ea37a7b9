/* SPDX-License-Identifier: MIT */
/*
 * Another width of reference counts: a whole new refcount structure beside the old one, which one
 * write of the header puts in its place.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/format/qcow2/alloc.h"
#include "blockdev/format/qcow2/amend.h"
#include "blockdev/format/qcow2/layout.h"
#include "blockdev/format/qcow2/rewrite.h"

struct widen {
	struct qcow2_rewrite rw;  /* for its lists of clusters */
	struct qcow2 *q;
	unsigned order;           /* new */
	uint64_t nr_idx;          /* blocks that could be needed */
	uint64_t *places;         /* of blocks; 0: not needed */
	uint64_t table_off, table_len, entries;
};

static unsigned block_bits(const struct qcow2 *q, unsigned order)
{
	return q->cluster_bits + 3 - order;
}

/* The count of @cluster, by the structure in use. */
static int old_count(struct qcow2 *q, uint64_t cluster, uint64_t *count)
{
	unsigned bits = block_bits(q, q->refcount_order);
	uint64_t idx = cluster >> bits;
	struct meta_slot *slot;
	int ret;

	*count = 0;
	if (idx >= q->reftable_size || !(q->reftable[idx] & QCOW2_REFTABLE_ENTRY_OFFSET))
		return 0;
	ret = qcow2_refblock_get(q, cluster, false, NULL, &slot);
	if (ret < 0)
		return ret;
	*count = qcow2_refcount_get(slot->buf, cluster & ((UINT64_C(1) << bits) - 1),
				    q->refcount_order);
	return 0;
}

/* Is a cluster of new block @idx in use?  1, 0, -errno. */
static int needed(struct widen *w, uint64_t idx)
{
	unsigned old_bits = block_bits(w->q, w->q->refcount_order);
	uint64_t c = idx << block_bits(w->q, w->order);
	uint64_t end = (idx + 1) << block_bits(w->q, w->order), count;

	while (c < end) {
		uint64_t old_idx = c >> old_bits;
		int ret;

		if (old_idx >= w->q->reftable_size)
			return 0;
		if (!(w->q->reftable[old_idx] & QCOW2_REFTABLE_ENTRY_OFFSET)) {
			c = (old_idx + 1) << old_bits;
			continue;
		}
		ret = old_count(w->q, c, &count);
		if (ret < 0 || count)
			return ret < 0 ? ret : 1;
		c++;
	}
	return 0;
}

/* The list of places covers all the old table can count. */
static int make_room(struct widen *w)
{
	uint64_t clusters = (uint64_t)w->q->reftable_size
			    << block_bits(w->q, w->q->refcount_order);
	uint64_t nr = (clusters >> block_bits(w->q, w->order)) + 1;
	uint64_t *places;

	if (nr <= w->nr_idx)
		return 0;
	if (nr > UINT64_C(1) << 32)
		return -EFBIG;
	places = realloc(w->places, nr * sizeof(*places));
	if (!places)
		return -ENOMEM;
	memset(places + w->nr_idx, 0, (nr - w->nr_idx) * sizeof(*places));
	w->places = places;
	w->nr_idx = nr;
	return 0;
}

/* Places for all blocks needed; taking one may make another one needed.  *last: the highest. */
static int place_blocks(struct widen *w, uint64_t *last)
{
	bool changed = true;
	int ret = 0;

	*last = 0;
	while (changed && ret == 0) {
		changed = false;
		ret = make_room(w);
		for (uint64_t i = 0; i < w->nr_idx && ret == 0; i++) {
			if (w->places[i]) {
				*last = max_u64(*last, i);
				continue;
			}
			ret = needed(w, i);
			if (ret <= 0)
				continue;
			*last = max_u64(*last, i);
			ret = qcow2_rewrite_alloc(&w->rw, w->q->cluster_size, &w->places[i]);
			changed = true;
		}
	}
	return ret;
}

/* Blocks, the table, and blocks that count the table. */
static int place_all(struct widen *w)
{
	uint64_t last;
	int ret = place_blocks(w, &last);

	if (ret < 0)
		return ret;
	w->table_len = round_up((last + 8 + last / 16) * 8, w->q->cluster_size);
	w->entries = w->table_len / 8;
	if (w->table_len > QCOW2_LIMIT_REFTABLE_BYTES)
		return -EFBIG;
	ret = qcow2_rewrite_alloc(&w->rw, w->table_len, &w->table_off);
	if (ret == 0)
		ret = place_blocks(w, &last);
	return ret == 0 && last >= w->entries ? -EFBIG : ret;
}

static int fill_block(struct widen *w, uint64_t idx, struct bd_error *err)
{
	struct qcow2 *q = w->q;
	unsigned bits = block_bits(q, w->order);
	uint64_t first = idx << bits, nr = UINT64_C(1) << bits, count;
	uint64_t max = w->order == 6 ? UINT64_MAX : (UINT64_C(1) << (1u << w->order)) - 1;

	memset(w->rw.table, 0, q->cluster_size);
	for (uint64_t i = 0; i < nr; i++) {
		int ret = old_count(q, first + i, &count);

		if (ret < 0)
			return ret;
		if (count > max)
			return bd_fail(err, -EINVAL, "Cannot decrease refcount entry width to %u "
				       "bits: Cluster at offset %#llx has a refcount of %llu",
				       1u << w->order,
				       (unsigned long long)((first + i) << q->cluster_bits),
				       (unsigned long long)count);
		if (count)
			qcow2_refcount_set(w->rw.table, i, w->order, count);
	}
	return 0;
}

static int write_all(struct widen *w, struct bd_error *err)
{
	be64 *table = calloc(1, w->table_len);
	int ret = table ? 0 : -ENOMEM;

	for (uint64_t i = 0; i < w->nr_idx && ret == 0; i++) {
		if (!w->places[i])
			continue;
		table[i] = be64_make(w->places[i]);
		ret = fill_block(w, i, err);
		if (ret == 0)
			ret = io_pwrite(w->q->node->file, w->places[i], w->rw.table,
					w->q->cluster_size);
	}
	if (ret == 0)
		ret = io_pwrite(w->q->node->file, w->table_off, table, w->table_len);
	free(table);
	return ret == 0 ? io_pflush(w->q->node->file) : ret;
}

/* Table and width stand in the same sector of the header. */
static int switch_header(struct widen *w)
{
	const size_t from = offsetof(struct qcow2_disk_header, reftable_off);
	const size_t to = offsetof(struct qcow2_disk_header, header_length);
	struct qcow2 *q = w->q;
	struct qcow2_disk_header header = {
		.reftable_off = be64_make(w->table_off),
		.reftable_clusters = be32_make((uint32_t)(w->table_len >> q->cluster_bits)),
		.nb_snapshots = be32_make(q->nb_snapshots),
		.snapshots_off = be64_make(q->snapshots_off),
		.incompatible = be64_make(q->incompatible),
		.compatible = be64_make(q->compatible),
		.autoclear = be64_make(q->autoclear),
		.refcount_order = be32_make(w->order),
	};
	int ret = io_pwrite(q->node->file, from, (uint8_t *)&header + from, to - from);

	w->rw.fresh.nr = 0;
	return ret == 0 ? io_pflush(q->node->file) : ret;
}

/* The clusters of the old structure, to be freed by the new one. */
static int list_old(struct widen *w)
{
	struct qcow2 *q = w->q;
	int ret = qcow2_rewrite_stale(&w->rw, q->reftable_off,
				      (uint64_t)q->reftable_clusters << q->cluster_bits);

	for (uint32_t i = 0; i < q->reftable_size && ret == 0; i++) {
		uint64_t off = q->reftable[i] & QCOW2_REFTABLE_ENTRY_OFFSET;

		if (off)
			ret = qcow2_rewrite_stale(&w->rw, off, q->cluster_size);
	}
	return ret;
}

static void take_over(struct widen *w, uint64_t *table, uint8_t *dirty)
{
	struct qcow2 *q = w->q;

	for (uint64_t i = 0; i < min_u64(w->entries, w->nr_idx); i++)
		table[i] = w->places[i];
	free(q->reftable);
	free(q->reftable_dirty);
	q->reftable = table;
	q->reftable_dirty = dirty;
	q->reftable_off = w->table_off;
	q->reftable_size = (uint32_t)w->entries;
	q->reftable_clusters = (uint32_t)(w->table_len >> q->cluster_bits);
	q->refcount_order = w->order;
	qcow2_alloc_again(q, 0);
	q->alloc->want_table = 0;
	metacache_empty(q->refcount_cache);
	qcow2_rewrite_done(&w->rw);
}

static int change(struct widen *w, struct bd_error *err)
{
	uint64_t *table;
	uint8_t *dirty;
	int ret = place_all(w);

	/* From here on the counts in use do not change any more. */
	if (ret == 0)
		ret = qcow2_flush_all(w->q);
	if (ret == 0)
		ret = write_all(w, err);
	if (ret == 0)
		ret = list_old(w);
	if (ret < 0)
		return ret;
	table = calloc(w->entries, sizeof(*table));
	dirty = calloc(1, w->entries / 64 + 1);
	ret = table && dirty ? switch_header(w) : -ENOMEM;
	if (ret < 0) {
		free(table);
		free(dirty);
		return ret;
	}
	take_over(w, table, dirty);
	return qcow2_flush_all(w->q);
}

int qcow2_change_width(struct qcow2 *q, unsigned order, struct bd_error *err)
{
	struct widen w = { .q = q, .order = order };
	struct bd_error why = {0};
	int ret = qcow2_rewrite_begin(&w.rw, q);

	if (ret == 0)
		ret = change(&w, &why);
	qcow2_rewrite_end(&w.rw);
	free(w.places);
	if (ret == 0)
		return 0;
	return why.msg[0] ? bd_fail(err, ret, "%s", why.msg)
			  : bd_fail_errno(err, ret, "Could not change the refcount width");
}
