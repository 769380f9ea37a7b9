/* SPDX-License-Identifier: MIT */
/* Long contiguous runs of clusters for tables, with the refcount blocks that count them. */
#include <errno.h>

#include "blockdev/base/bits.h"
#include "blockdev/format/qcow2/alloc.h"

/* One block that counts clusters [first, first + used) of its own range as used. */
static int write_block(struct qcow2 *q, uint64_t idx, uint64_t off, uint64_t used)
{
	unsigned bits = q->cluster_bits + 3 - q->refcount_order;
	struct meta_slot *slot;
	int ret = qcow2_table_gate(q, NULL);

	if (ret > 0)
		ret = metacache_get_new(q->refcount_cache, off, NULL, &slot);
	if (ret < 0)
		return ret;
	used = min_u64(used, UINT64_C(1) << bits);
	for (uint64_t i = 0; i < used; i++)
		qcow2_refcount_set(slot->buf, i, q->refcount_order, 1);
	metacache_dirty(slot);
	/* The look-up may have waited for a round: ask again. */
	ret = qcow2_table_gate(q, NULL);
	if (ret > 0)
		qcow2_reftable_set(q, idx, off);
	return ret < 0 ? ret : 0;
}

/* First refcount table index behind the last block. */
static uint64_t first_free_index(const struct qcow2 *q)
{
	uint64_t idx = q->reftable_size;

	while (idx && !q->reftable[idx - 1])
		idx--;
	return idx;
}

int qcow2_alloc_span(struct qcow2 *q, uint64_t nr, uint64_t *off)
{
	unsigned bits = q->cluster_bits + 3 - q->refcount_order;
	uint64_t blocks = 1, idx, first;

	while (div_up(nr + blocks, UINT64_C(1) << bits) > blocks)
		blocks++;
	for (;;) {
		int ret;

		idx = first_free_index(q);
		if (idx + blocks <= q->reftable_size)
			break;
		q->alloc->want_table = idx + blocks + 1;
		ret = qcow2_slow(q->node);
		if (ret < 0)
			return ret;
	}
	first = idx << bits;
	for (uint64_t i = 0; i < blocks; i++) {
		int ret = write_block(q, idx + i, (first + i) << q->cluster_bits,
				      nr + blocks - min_u64(nr + blocks, i << bits));

		if (ret < 0)
			return ret;
	}
	*off = (first + blocks) << q->cluster_bits;
	return 0;
}
