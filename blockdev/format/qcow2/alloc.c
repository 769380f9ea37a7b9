/* SPDX-License-Identifier: MIT */
/* Handing out host clusters: first fit from a moving hint, whole runs where they are free. */
#include "blockdev/format/qcow2/alloc.h"
#include "blockdev/format/qcow2/overlap.h"

#include <errno.h>

#include "blockdev/base/bits.h"

/* log2(clusters that one refcount block counts). */
static unsigned block_bits(const struct qcow2 *q)
{
	return q->cluster_bits + 3 - q->refcount_order;
}

static uint64_t count_max(const struct qcow2 *q)
{
	return q->refcount_order == 6 ? UINT64_MAX
				      : (UINT64_C(1) << (1u << q->refcount_order)) - 1;
}

void qcow2_reftable_set(struct qcow2 *q, uint64_t idx, uint64_t off)
{
	qcow2_overlap_move(q, q->reftable[idx] & QCOW2_OFFSET_MASK, off, QCOW2_OL_REFCOUNT_BLOCK);
	q->reftable[idx] = off;
	q->reftable_dirty[idx / 64] = 1;
	q->reftable_is_dirty = true;
}

/* A new refcount block lies in the first cluster it counts, and counts itself. */
static int make_block(struct qcow2 *q, uint64_t idx, struct bd_wait *wait, struct meta_slot **slot)
{
	uint64_t off = idx << block_bits(q) << q->cluster_bits;
	int ret;

	if (idx == 0)
		return bd_corrupt(q->node, "No refcount block for the image header");
	ret = qcow2_overlap_check(q, off, q->cluster_size, 0);
	if (ret < 0)
		return ret;
	ret = metacache_get_new(q->refcount_cache, off, wait, slot);
	if (ret > 0)
		ret = qcow2_table_gate(q, wait);
	if (ret <= 0)
		return ret;
	qcow2_refcount_set((*slot)->buf, 0, q->refcount_order, 1);
	metacache_dirty(*slot);
	qcow2_reftable_set(q, idx, off);
	return 1;
}

int qcow2_refblock_get(struct qcow2 *q, uint64_t cluster, bool make, struct bd_wait *wait,
		       struct meta_slot **slot)
{
	uint64_t idx = cluster >> block_bits(q);
	uint64_t off;
	int ret;

	if (idx >= q->reftable_size) {
		q->alloc->want_table = idx + 1;
		return make ? -EAGAIN : -EIO;
	}
	off = q->reftable[idx] & ~UINT64_C(511);
	if (!off)
		return make ? make_block(q, idx, wait, slot) : -EIO;
	if (off & (q->cluster_size - 1))
		return bd_corrupt(q->node, "Refblock offset %#llx unaligned (reftable index: "
				  "%#llx)", (unsigned long long)off, (unsigned long long)idx);
	ret = qcow2_overlap_check(q, off, q->cluster_size, QCOW2_OL_REFCOUNT_BLOCK);
	return ret < 0 ? ret : metacache_get(q->refcount_cache, off, wait, slot);
}

/* Length of the free run at @cluster inside its block, at most @want. */
static uint64_t free_run(const struct qcow2 *q, const struct meta_slot *slot, uint64_t cluster,
			 uint64_t want)
{
	uint64_t per_block = UINT64_C(1) << block_bits(q);
	uint64_t idx = cluster & (per_block - 1), nr = 0;

	want = min_u64(want, per_block - idx);
	while (nr < want && !qcow2_refcount_get(slot->buf, idx + nr, q->refcount_order))
		nr++;
	return nr;
}

/* The next free cluster from @cluster on inside its block; its end: none. */
static uint64_t skip_used(const struct qcow2 *q, const struct meta_slot *slot, uint64_t cluster)
{
	uint64_t per_block = UINT64_C(1) << block_bits(q);
	uint64_t idx = cluster & (per_block - 1);

	while (idx < per_block && qcow2_refcount_get(slot->buf, idx, q->refcount_order)) {
		idx++;
		cluster++;
	}
	return cluster;
}

/* QEMU raises these when it changes counts, whether the block was loaded or not. */
static void count_events(const struct qcow2 *q)
{
	io_event(q->node->file, "refblock_alloc");
	io_event(q->node->file, "refblock_load");
}

int qcow2_alloc_run(struct qcow2 *q, uint64_t want, struct bd_wait *wait, uint64_t *off,
		    uint64_t *got)
{
	uint64_t per_block = UINT64_C(1) << block_bits(q);
	uint64_t cluster = q->alloc->hint, nr;

	for (;;) {
		struct meta_slot *slot;
		uint64_t next = round_down(cluster, per_block) + per_block;
		int ret = qcow2_refblock_get(q, cluster, true, wait, &slot);

		if (ret <= 0)
			return ret;
		cluster = skip_used(q, slot, cluster);
		q->alloc->hint = cluster;
		if (cluster == next)
			continue;
		if (cluster > QCOW2_OFFSET_MASK >> q->cluster_bits)
			return -EFBIG;
		if (cluster == 0)
			return bd_corrupt(q->node, "Preventing invalid allocation of "
					  "cluster at offset 0");
		count_events(q);
		nr = free_run(q, slot, cluster, want);
		for (uint64_t i = 0; i < nr; i++)
			qcow2_refcount_set(slot->buf, (cluster + i) & (per_block - 1),
					   q->refcount_order, 1);
		metacache_dirty(slot);
		q->alloc->hint = cluster + nr;
		*off = cluster << q->cluster_bits;
		*got = nr;
		return 1;
	}
}

void qcow2_alloc_again(struct qcow2 *q, uint64_t cluster)
{
	q->alloc->hint = min_u64(q->alloc->hint, cluster);
	q->alloc->fresh_from = 0;
	q->alloc->l2_blank = 0;
}

int qcow2_refcount_raise(struct qcow2 *q, uint64_t off, bool fresh, struct bd_wait *wait)
{
	uint64_t cluster = off >> q->cluster_bits;
	uint64_t idx = cluster & ((UINT64_C(1) << block_bits(q)) - 1);
	struct meta_slot *slot;
	uint64_t count;
	int ret = qcow2_refblock_get(q, cluster, fresh, wait, &slot);

	if (ret <= 0)
		return ret;
	count = qcow2_refcount_get(slot->buf, idx, q->refcount_order);
	if (fresh ? count != 0 : count == 0 || count == count_max(q))
		return -ERANGE;
	count_events(q);
	qcow2_refcount_set(slot->buf, idx, q->refcount_order, count + 1);
	metacache_dirty(slot);
	return 1;
}
