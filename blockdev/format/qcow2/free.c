/* SPDX-License-Identifier: MIT */
/* Taking host clusters back: kept in a list until nothing durable refers to them. */
#include <errno.h>
#include <stdlib.h>

#include "blockdev/base/bits.h"
#include "blockdev/core/queue.h"
#include "blockdev/format/qcow2/alloc.h"
#include "blockdev/format/qcow2/entry.h"

enum { RUNS_SOFT = 16384 };

int qcow2_free_room(struct qcow2 *q, struct bd_wait *wait)
{
	struct qcow2_alloc *a = q->alloc;

	if (a->nr_runs < RUNS_SOFT || !wait)
		return 1;
	qcow2_round_want(q);
	list_add_tail(&a->want_free_room, &wait->link);
	return 0;
}

void qcow2_free_later(struct qcow2 *q, uint64_t off, uint64_t len, enum qcow2_free_type type)
{
	struct qcow2_alloc *a = q->alloc;
	uint64_t first = off >> q->cluster_bits;
	uint64_t nr = div_up(len, q->cluster_size);
	struct qcow2_free_run *last = a->nr_runs > a->nr_due ? &a->runs[a->nr_runs - 1] : NULL;

	io_event(q->node->file, "cluster_free");
	if (last && last->type == type && last->first + last->nr == first) {
		last->nr += nr;
		return;
	}
	if (a->nr_runs == a->cap_runs) {
		size_t cap = a->cap_runs ? a->cap_runs * 2 : 256;
		void *runs = realloc(a->runs, cap * sizeof(*a->runs));

		if (!runs)
			return; /* the clusters leak; check finds them */
		a->runs = runs;
		a->cap_runs = cap;
	}
	a->runs[a->nr_runs++] = (struct qcow2_free_run){first, nr, type};
}

void qcow2_free_entry(struct qcow2 *q, uint64_t l2, enum qcow2_free_type type)
{
	struct qcow2_entry entry = {l2, 0};
	uint64_t off, start;
	uint32_t len;

	if (q->incompatible & QCOW2_INCOMPAT_DATA_FILE)
		return;
	if (l2 & QCOW2_OFLAG_COMPRESSED) {
		qcow2_entry_compressed(q, l2, &off, &len);
		start = round_down(off, q->cluster_size);
		qcow2_free_later(q, start, off + len - start, type);
	} else if (qcow2_entry_host(entry) & (q->cluster_size - 1)) {
		bd_damage(q->node, "Cannot free unaligned cluster %#llx",
			  (unsigned long long)qcow2_entry_host(entry));
	} else if (qcow2_entry_has_host(q, entry)) {
		qcow2_free_later(q, qcow2_entry_host(entry), q->cluster_size, type);
	}
}

static void punched(struct io_op *op)
{
	struct qcow2_alloc *a = op->user;

	a->punched = true; /* a refused hint is no failure */
	a->wait.res = 0;
	a->wait.resume(&a->wait);
}

/* What is counted lies in the image file; clusters of an external data file are not. */
static void punch(struct qcow2 *q, uint64_t cluster, uint64_t nr)
{
	struct qcow2_alloc *a = q->alloc;

	a->op = (struct io_op){
		.kind = IO_DISCARD, .file = q->node->file, .off = cluster << q->cluster_bits,
		.len = nr << q->cluster_bits, .done = punched, .user = a,
	};
	io_op_submit(&a->op);
}

/* Clusters from @cluster on, at most @max, whose count is 1 like (or unlike) the first's. */
static uint64_t alike(const struct qcow2 *q, const uint8_t *block, uint64_t idx, uint64_t max,
		      bool *last_ref)
{
	uint64_t nr = 1;

	*last_ref = qcow2_refcount_get(block, idx, q->refcount_order) == 1;
	while (nr < max &&
	       (qcow2_refcount_get(block, idx + nr, q->refcount_order) == 1) == *last_ref)
		nr++;
	return nr;
}

/* One piece of a run: punched if it was the last reference, then counted down. */
static int apply_piece(struct qcow2 *q, const struct qcow2_free_run *run)
{
	struct qcow2_alloc *a = q->alloc;
	uint64_t cluster = run->first + a->run_pos;
	unsigned bits = q->cluster_bits + 3 - q->refcount_order;
	uint64_t idx = cluster & ((UINT64_C(1) << bits) - 1), nr;
	struct meta_slot *slot;
	bool last_ref;
	int ret = qcow2_refblock_get(q, cluster, false, &a->wait, &slot);

	if (ret == -EIO && !q->node->corrupt)
		return bd_corrupt(q->node, "Freed cluster %#llx has no refcount block",
				  (unsigned long long)(cluster << q->cluster_bits));
	if (ret <= 0)
		return ret;
	nr = alike(q, slot->buf, idx, min_u64(run->nr - a->run_pos, (UINT64_C(1) << bits) - idx),
		   &last_ref);
	if (last_ref && q->discard_passthrough[run->type] && !a->punched &&
	    q->node->file->can_unmap) {
		punch(q, cluster, nr);
		return 0;
	}
	a->punched = false;
	for (uint64_t i = 0; i < nr; i++) {
		uint64_t count = qcow2_refcount_get(slot->buf, idx + i, q->refcount_order);

		if (count == 0)
			return bd_corrupt(q->node, "Refcount of cluster %#llx underflows",
					  (unsigned long long)((cluster + i) << q->cluster_bits));
		qcow2_refcount_set(slot->buf, idx + i, q->refcount_order, count - 1);
	}
	metacache_dirty(slot);
	if (last_ref) {
		qcow2_alloc_again(q, cluster);
		if (a->packed_off && a->packed_off >> q->cluster_bits >= cluster &&
		    a->packed_off >> q->cluster_bits < cluster + nr)
			a->packed_off = 0;
	}
	a->run_pos += nr;
	return 1;
}

void qcow2_free_stop(struct qcow2 *q)
{
	struct qcow2_alloc *a = q->alloc;

	if (a->run_idx < a->nr_runs) {
		a->runs[a->run_idx].first += a->run_pos;
		a->runs[a->run_idx].nr -= a->run_pos;
	}
	for (size_t i = a->run_idx; i < a->nr_runs; i++)
		a->runs[i - a->run_idx] = a->runs[i];
	a->nr_runs -= a->run_idx;
	a->nr_due = a->run_idx = 0;
	a->run_pos = 0;
	a->punched = false;
}

int qcow2_free_apply(struct qcow2 *q)
{
	struct qcow2_alloc *a = q->alloc;

	while (a->run_idx < a->nr_due) {
		struct qcow2_free_run *run = &a->runs[a->run_idx];
		int ret;

		if (metacache_crowded(q->refcount_cache)) {
			ret = metacache_write(q->refcount_cache, &a->wait);
			if (ret <= 0)
				return ret;
		}
		ret = apply_piece(q, run);
		if (ret <= 0)
			return ret;
		if (a->run_pos == run->nr) {
			a->run_pos = 0;
			a->run_idx++;
		}
	}
	qcow2_free_stop(q);
	bd_queue_wake_all(q->node->queue, &a->want_free_room, 0);
	return 1;
}
