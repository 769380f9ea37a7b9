/* SPDX-License-Identifier: MIT */
/*
 * Where a write goes.  Gather: the L2 slice, what kind of place the first cluster is, how far that
 * kind reaches.  Commit: take host clusters.  A plan never leaves its L2 slice.
 */
#include <errno.h>

#include "blockdev/base/bits.h"
#include "blockdev/format/qcow2/alloc.h"
#include "blockdev/format/qcow2/entry.h"
#include "blockdev/format/qcow2/overlap.h"

/* How a cluster can take the bytes [first, last] of itself. */
enum place { IN_PLACE, REUSE, NEW, COPY };

struct span {
	uint64_t off, end;      /* guest bytes wanted */
	struct meta_slot *slice;
};

/* First and last subcluster of the cluster at @off that [off, end) touches. */
static void touched(const struct qcow2 *q, uint64_t off, uint64_t end, unsigned *first,
		    unsigned *last)
{
	uint64_t start = round_down(off, q->cluster_size);

	*first = (unsigned)((off - start) >> q->subcluster_bits);
	*last = (unsigned)((min_u64(end, start + q->cluster_size) - 1 - start) >>
			   q->subcluster_bits);
}

/* Is the entry's host cluster ours alone? */
static bool owned(const struct qcow2 *q, struct qcow2_entry entry, uint64_t l1_entry)
{
	return l1_entry & QCOW2_OFLAG_COPIED && entry.l2 & QCOW2_OFLAG_COPIED &&
	       qcow2_entry_has_host(q, entry);
}

static int classify(const struct qcow2 *q, struct qcow2_entry entry, uint64_t off, uint64_t end)
{
	bool own = owned(q, entry, q->l1[qcow2_l1_idx(q, off)]);
	unsigned first, last;
	bool all_normal = true;

	touched(q, off, end, &first, &last);
	if (entry.l2 & QCOW2_OFLAG_COMPRESSED)
		return COPY;
	if (qcow2_entry_host(entry) & (q->cluster_size - 1))
		return bd_corrupt(q->node, "%s cluster offset %#llx unaligned "
				  "(guest offset: %#llx)",
				  entry.l2 & QCOW2_OFLAG_ZERO ? "Preallocated zero" : "Data",
				  (unsigned long long)qcow2_entry_host(entry),
				  (unsigned long long)off);
	for (unsigned sc = first; sc <= last; sc++) {
		enum qcow2_type type = qcow2_entry_type(q, entry, sc);

		if (type == QCOW2_INVALID)
			return bd_corrupt(q->node, "Invalid cluster entry found (guest offset: "
					  "%#llx)", (unsigned long long)off);
		all_normal = all_normal && type == QCOW2_NORMAL;
	}
	if (own && qcow2_entry_external(q, qcow2_entry_host(entry), off) < 0)
		return -EIO;
	if (own)
		return all_normal ? IN_PLACE : REUSE;
	return qcow2_entry_has_host(q, entry) ? COPY : NEW;
}

/* Clusters from span->off on that take the write the same way; host-contiguous unless new. */
static uint64_t reach(const struct qcow2 *q, const struct span *span, int place)
{
	unsigned idx = qcow2_slice_idx(q, span->off), in_slice = 1u << q->slice_bits;
	uint64_t off = round_down(span->off, q->cluster_size) + q->cluster_size, nr = 1;
	uint64_t host = qcow2_entry_host(qcow2_entry_get(q, span->slice, idx));

	if (q->no_extents)
		return 1;
	for (; off < span->end && idx + nr < in_slice; off += q->cluster_size, nr++) {
		struct qcow2_entry entry = qcow2_entry_get(q, span->slice, idx + (unsigned)nr);

		if (classify(q, entry, off, span->end) != place)
			break;
		if (place <= REUSE &&
		    qcow2_entry_host(entry) != host + (nr << q->cluster_bits))
			break;
	}
	return nr;
}

/* The surroundings to copy: to the subcluster's edges, or the cluster's where all of it moves. */
static void surroundings(const struct qcow2 *q, struct bd_plan *plan, int place)
{
	uint64_t unit = place == COPY ? q->cluster_size : UINT64_C(1) << q->subcluster_bits;
	uint64_t end = plan->guest_off + plan->len;

	plan->head = (uint32_t)(plan->guest_off - round_down(plan->guest_off, unit));
	plan->tail = (uint32_t)(round_up(end, unit) - end);
}

/* Take host clusters for @nr guest clusters.  1, 0, negative errno. */
static int take(struct qcow2 *q, struct bd_plan *plan, uint64_t nr, struct bd_wait *wait)
{
	uint64_t start = round_down(plan->guest_off, q->cluster_size);
	int ret;

	if (q->incompatible & QCOW2_INCOMPAT_DATA_FILE) {
		plan->priv[PRIV_HOST] = start;
		plan->priv[PRIV_NR] = nr;
		return 1;
	}
	io_event(q->node->file, "cluster_alloc");
	ret = qcow2_alloc_run(q, nr, wait, &plan->priv[PRIV_HOST], &plan->priv[PRIV_NR]);
	return ret;
}

static int decide(struct qcow2 *q, struct bd_plan *plan, const struct span *span, int place,
		  struct bd_wait *wait)
{
	uint64_t start = round_down(span->off, q->cluster_size);
	uint64_t nr = reach(q, span, place);
	int ret;

	if (place != IN_PLACE && !plan->may_alloc)
		return -EBUSY;
	if (place <= REUSE) {
		plan->priv[PRIV_HOST] = qcow2_entry_host(
			qcow2_entry_get(q, span->slice, qcow2_slice_idx(q, span->off)));
		plan->priv[PRIV_NR] = nr;
	} else {
		ret = take(q, plan, nr, wait);
		if (ret <= 0)
			return ret;
	}
	nr = plan->priv[PRIV_NR];
	if (q->node->data == q->node->file) {
		ret = qcow2_overlap_check(q, plan->priv[PRIV_HOST], nr << q->cluster_bits, 0);
		if (ret < 0)
			return ret;
	}
	plan->priv[PRIV_KIND] = place == IN_PLACE ? PLAN_IN_PLACE
			      : place == REUSE ? PLAN_REUSE : PLAN_NEW;
	plan->priv[PRIV_FULL] = place == COPY;
	plan->len = min_u64(plan->len, start + (nr << q->cluster_bits) - span->off);
	plan->host_off = plan->priv[PRIV_HOST] + (span->off - start);
	plan->publish = place != IN_PLACE;
	if (plan->publish)
		surroundings(q, plan, place);
	if (place == NEW)
		qcow2_fresh_plan(q, plan, span->slice);
	return 1;
}

int qcow2_plan(struct bd_node *node, struct bd_plan *plan, struct bd_wait *wait)
{
	struct qcow2 *q = qcow2_of(node);
	struct span span = {.off = plan->guest_off, .end = plan->guest_off + plan->len};
	int ret = qcow2_slice_own(q, span.off, wait, &span.slice);

	if (ret <= 0)
		return ret;
	ret = classify(q, qcow2_entry_get(q, span.slice, qcow2_slice_idx(q, span.off)), span.off,
		       span.end);
	if (ret < 0)
		return ret;
	return decide(q, plan, &span, ret, wait);
}
