/* SPDX-License-Identifier: MIT */
/* Rare blocking procedures on a quiet image: first write, growth of the refcount table, marking. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/be.h"
#include "blockdev/base/bits.h"
#include "blockdev/core/metacache_file.h"
#include "blockdev/format/qcow2/alloc.h"
#include "blockdev/format/qcow2/bitmap.h"
#include "blockdev/format/qcow2/overlap.h"

/* Before anything changes: the dirty mark goes on, bits only others understand go off. */
int qcow2_first_write(struct bd_node *node, struct bd_error *err)
{
	struct qcow2 *q = qcow2_of(node);
	uint64_t keep = node->data != node->file ? QCOW2_AUTOCLEAR_RAW_DATA : 0;
	uint64_t incompatible = q->incompatible, autoclear = q->autoclear;
	int ret;

	qcow2_overlap_free(q);
	if (q->l2_second)
		metacache_file_invalidate(q->l2_second);
	if (q->version < 3)
		return 0;
	/* Bitmaps that cannot be kept up to date are given up. */
	if (qcow2_track_start(q, false) == 0)
		keep |= QCOW2_AUTOCLEAR_BITMAPS;
	else
		qcow2_track_free(q);
	autoclear &= keep;
	if (q->lazy_refcounts)
		incompatible |= QCOW2_INCOMPAT_DIRTY;
	if (incompatible == q->incompatible && autoclear == q->autoclear)
		return 0;
	q->incompatible = incompatible;
	q->autoclear = autoclear;
	ret = qcow2_header_write_features(q);
	if (ret == 0)
		ret = io_pflush(node->file);
	return ret < 0 ? bd_fail_errno(err, ret, "Could not update the image header") : 0;
}

struct new_table {
	uint64_t *table;          /* host order */
	uint64_t entries, clusters;
	uint64_t first;           /* host cluster where the new structures begin */
	uint64_t nr_blocks;       /* refcount blocks that count them */
};

/*
 * The new table and the blocks that count it lie behind everything the old table can count: first
 * the blocks, then the table.
 */
static int plan_table(struct qcow2 *q, struct new_table *new)
{
	unsigned bits = q->cluster_bits + 3 - q->refcount_order;
	uint64_t per_cluster = q->cluster_size / 8;

	new->first = (uint64_t)q->reftable_size << bits;
	new->clusters = div_up(max_u64(q->alloc->want_table, q->reftable_size * UINT64_C(3) / 2) +
			       1, per_cluster);
	for (;;) {
		new->nr_blocks = div_up(new->clusters + 1, UINT64_C(1) << bits);
		while (div_up(new->clusters + new->nr_blocks, UINT64_C(1) << bits) >
		       new->nr_blocks)
			new->nr_blocks++;
		new->entries = new->clusters * per_cluster;
		if (new->entries >= q->reftable_size + new->nr_blocks)
			break;
		new->clusters++;
	}
	if (new->entries * 8 > 8 * 1024 * 1024)
		return -EFBIG;
	new->table = calloc(new->entries, 8);
	return new->table ? 0 : -ENOMEM;
}

/* Blocks that count themselves and the table. */
static int write_blocks(struct qcow2 *q, const struct new_table *new)
{
	unsigned bits = q->cluster_bits + 3 - q->refcount_order;
	uint64_t used = new->nr_blocks + new->clusters;
	uint8_t *block = malloc(q->cluster_size);
	int ret = block ? 0 : -ENOMEM;

	for (uint64_t i = 0; i < new->nr_blocks && ret == 0; i++) {
		uint64_t first = i << bits;

		memset(block, 0, q->cluster_size);
		for (uint64_t c = 0; c < UINT64_C(1) << bits && first + c < used; c++)
			qcow2_refcount_set(block, c, q->refcount_order, 1);
		new->table[q->reftable_size + i] = (new->first + i) << q->cluster_bits;
		ret = io_pwrite(q->node->file, (new->first + i) << q->cluster_bits, block,
				q->cluster_size);
	}
	free(block);
	return ret;
}

static int write_new_table(struct qcow2 *q, const struct new_table *new, uint64_t off)
{
	be64 *out = malloc(new->entries * 8);
	int ret;

	if (!out)
		return -ENOMEM;
	for (uint64_t i = 0; i < new->entries; i++)
		out[i] = be64_make(new->table[i]);
	ret = io_pwrite(q->node->file, off, out, new->entries * 8);
	free(out);
	return ret;
}

/* Offset and length lie side by side in the header: one write switches over. */
static int switch_table(struct qcow2 *q, const struct new_table *new, uint64_t off)
{
	struct {
		be64 off;
		be32 clusters;
	} field = {be64_make(off), be32_make((uint32_t)new->clusters)};
	int ret = io_pflush(q->node->file);

	if (ret == 0)
		ret = io_pwrite(q->node->file, 48, &field, sizeof(field));
	return ret == 0 ? io_pflush(q->node->file) : ret;
}

static int grow_table(struct qcow2 *q)
{
	struct new_table new = {0};
	uint64_t old_off = q->reftable_off, old_len, off;
	uint8_t *dirty = NULL;
	int ret = qcow2_flush_all(q);

	if (ret == 0)
		ret = plan_table(q, &new);
	if (ret < 0)
		return ret;
	memcpy(new.table, q->reftable, (size_t)q->reftable_size * 8);
	off = (new.first + new.nr_blocks) << q->cluster_bits;
	dirty = calloc(1, new.entries / 64 + 1);
	io_event(q->node->file, "reftable_grow");
	io_event(q->node->file, "refblock_alloc_write_blocks");
	ret = dirty ? write_blocks(q, &new) : -ENOMEM;
	if (ret == 0) {
		io_event(q->node->file, "refblock_alloc_write_table");
		ret = write_new_table(q, &new, off);
	}
	if (ret == 0) {
		io_event(q->node->file, "refblock_alloc_switch_table");
		ret = switch_table(q, &new, off);
	}
	if (ret < 0) {
		free(dirty);
		free(new.table);
		return ret;
	}
	old_len = (uint64_t)q->reftable_clusters << q->cluster_bits;
	free(q->reftable);
	free(q->reftable_dirty);
	q->reftable = new.table;
	q->reftable_dirty = dirty;
	q->reftable_size = (uint32_t)new.entries;
	q->reftable_clusters = (uint32_t)new.clusters;
	q->reftable_off = off;
	qcow2_free_later(q, old_off, old_len, QCOW2_FREE_OTHER);
	qcow2_overlap_free(q);
	return 0;
}

/* Damage was found: say so in the header, so that nobody writes until it is repaired. */
static int mark_corrupt(struct qcow2 *q)
{
	if (q->version < 3 || q->incompatible & QCOW2_INCOMPAT_CORRUPT)
		return 0;
	q->incompatible |= QCOW2_INCOMPAT_CORRUPT;
	return qcow2_header_write_features(q);
}

int qcow2_slow(struct bd_node *node)
{
	struct qcow2 *q = qcow2_of(node);

	if (node->corrupt)
		return mark_corrupt(q);
	if (!qcow2_overlap_ready(q)) {
		int ret = qcow2_overlap_build(q);

		if (ret < 0)
			return ret;
	}
	if (q->alloc->want_table > q->reftable_size)
		return grow_table(q);
	return 0;
}
