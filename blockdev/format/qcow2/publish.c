/* SPDX-License-Identifier: MIT */
/* Linking written clusters into L2, and giving clusters of a failed write back. */
#include <errno.h>

#include "blockdev/base/bits.h"
#include "blockdev/format/qcow2/alloc.h"
#include "blockdev/format/qcow2/entry.h"

/* The subclusters that guest range [off, end) and its copied surroundings fill. */
static uint64_t filled(const struct qcow2 *q, const struct bd_plan *plan, uint64_t cluster_off)
{
	uint64_t first = plan->guest_off - plan->head;
	uint64_t end = plan->guest_off + plan->len + plan->tail;
	uint64_t from = max_u64(first, cluster_off) - cluster_off;
	uint64_t to = min_u64(end, cluster_off + q->cluster_size) - cluster_off;

	if (plan->priv[PRIV_FULL])
		return 0xffffffff;
	return qcow2_sc_mask((unsigned)(from >> q->subcluster_bits),
			     (unsigned)((to - 1) >> q->subcluster_bits));
}

static struct qcow2_entry linked(const struct qcow2 *q, const struct bd_plan *plan,
				 struct qcow2_entry old, uint64_t cluster_off, uint64_t host)
{
	struct qcow2_entry entry = {host | QCOW2_OFLAG_COPIED, 0};
	uint64_t bits;

	if (!q->extended_l2)
		return entry;
	bits = filled(q, plan, cluster_off);
	if (!(old.l2 & QCOW2_OFLAG_COMPRESSED) && !plan->priv[PRIV_FULL])
		entry.bitmap = old.bitmap;
	entry.bitmap = (entry.bitmap & ~(bits << 32)) | bits;
	return entry;
}

static void link_clusters(struct qcow2 *q, struct bd_plan *plan, struct meta_slot *slice)
{
	uint64_t off = round_down(plan->guest_off, q->cluster_size);
	unsigned idx = qcow2_slice_idx(q, off);

	for (uint64_t i = 0; i < plan->priv[PRIV_NR]; i++) {
		struct qcow2_entry old = qcow2_entry_get(q, slice, idx + (unsigned)i);
		uint64_t host = plan->priv[PRIV_HOST] + (i << q->cluster_bits);

		if (plan->priv[PRIV_KIND] == PLAN_NEW)
			qcow2_free_entry(q, old.l2, QCOW2_FREE_OTHER);
		qcow2_entry_set(q, slice, idx + (unsigned)i,
				linked(q, plan, old, off + (i << q->cluster_bits), host));
	}
}

static void link_packed(struct qcow2 *q, struct bd_plan *plan, struct meta_slot *slice)
{
	uint64_t l2 = qcow2_entry_make_compressed(q, plan->host_off,
						  (uint32_t)plan->priv[PRIV_NR]);
	unsigned idx = qcow2_slice_idx(q, plan->guest_off);

	qcow2_free_entry(q, qcow2_entry_get(q, slice, idx).l2, QCOW2_FREE_OTHER);
	qcow2_entry_set(q, slice, idx, (struct qcow2_entry){l2, 0});
}

int qcow2_publish(struct bd_node *node, struct bd_plan *plan, struct bd_wait *wait)
{
	struct qcow2 *q = qcow2_of(node);
	uint64_t table = q->l1[qcow2_l1_idx(q, plan->guest_off)] & QCOW2_OFFSET_MASK;
	struct meta_slot *slice;
	int ret;

	if (!qcow2_free_room(q, wait))
		return 0;
	ret = qcow2_gate(q, wait);
	if (ret > 0)
		ret = metacache_get(q->l2_cache, qcow2_slice_off(q, table, plan->guest_off), wait,
				    &slice);
	if (ret <= 0)
		return ret;
	if (plan->priv[PRIV_KIND] == PLAN_PACKED)
		link_packed(q, plan, slice);
	else
		link_clusters(q, plan, slice);
	metacache_dirty(slice);
	return 1;
}

void qcow2_abort(struct bd_node *node, struct bd_plan *plan)
{
	struct qcow2 *q = qcow2_of(node);
	uint64_t off = plan->priv[PRIV_HOST];

	if (q->incompatible & QCOW2_INCOMPAT_DATA_FILE)
		return;
	if (plan->priv[PRIV_KIND] == PLAN_NEW)
		qcow2_free_later(q, off, plan->priv[PRIV_NR] << q->cluster_bits, QCOW2_FREE_OTHER);
	if (plan->priv[PRIV_KIND] == PLAN_PACKED) {
		uint64_t start = round_down(plan->host_off, q->cluster_size);

		qcow2_free_later(q, start, plan->host_off + plan->priv[PRIV_NR] - start,
				 QCOW2_FREE_OTHER);
	}
}
