/* SPDX-License-Identifier: MIT */
/* Finds out whether an image has preallocated metadata over a sparse file.  Like: qemu-img map. */
#include "blockdev/base/bits.h"
#include "blockdev/format/qcow2/alloc.h"

/* Counted clusters, up to about @enough. */
static uint64_t count_used(struct qcow2 *q, uint64_t clusters, uint64_t enough)
{
	unsigned bits = q->cluster_bits + 3 - q->refcount_order;
	uint64_t used = 0;

	for (uint64_t first = 0; first < clusters && used <= enough; first += UINT64_C(1) << bits) {
		uint64_t nr = min_u64(clusters - first, UINT64_C(1) << bits);
		struct meta_slot *slot;

		if (qcow2_refblock_get(q, first, false, NULL, &slot) <= 0)
			continue;
		for (uint64_t i = 0; i < nr; i++)
			used += qcow2_refcount_get(slot->buf, i, q->refcount_order) != 0;
	}
	return used;
}

static bool look(struct qcow2 *q)
{
	int64_t allocated = io_allocated(q->node->file), length = io_length(q->node->file);
	uint64_t real, clusters, enough;

	if (allocated < 0 || length < 0)
		return false;
	real = (uint64_t)allocated >> q->cluster_bits;
	clusters = (uint64_t)length >> q->cluster_bits;
	enough = max_u64(real * 10 / 9, real + 2);
	return clusters > enough && count_used(q, clusters, enough) > enough;
}

bool qcow2_holes_in_data(struct bd_node *node)
{
	struct qcow2 *q = qcow2_of(node);

	if (!q->refcount_cache || node->data != node->file)
		return false;
	if (!q->holes_in_data)
		q->holes_in_data = look(q) ? 1 : -1;
	return q->holes_in_data > 0;
}
