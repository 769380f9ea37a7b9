/* SPDX-License-Identifier: MIT */
/*
 * Clusters behind the end of the image file.  Their bytes are zeros before anything is written, so
 * a small write into one need not fill up its surroundings; space for the whole cluster is reserved
 * ahead instead, in large steps, so that the cluster stays in one piece on the host.
 */
#include "blockdev/base/bits.h"
#include "blockdev/core/queue.h"
#include "blockdev/format/qcow2/alloc.h"
#include "blockdev/format/qcow2/entry.h"

enum {
	RESERVE_MIN = 1 << 20,  /* bytes reserved at once: a part of the file's length */
	RESERVE_MAX = 64 << 20,
	RESERVE_PART = 8,
};

/* Does the guest see zeros at @off, without a look at anything but the entry? */
static bool shows_zeros(const struct qcow2 *q, const struct meta_slot *slice, uint64_t off)
{
	const struct bd_node *backing = q->node->backing;
	struct qcow2_entry entry = qcow2_entry_get(q, slice, qcow2_slice_idx(q, off));
	uint64_t in_cluster = off & (q->cluster_size - 1);

	switch (qcow2_entry_type(q, entry, (unsigned)(in_cluster >> q->subcluster_bits))) {
	case QCOW2_UNALLOCATED:
		return !backing || round_down(off, q->cluster_size) >= backing->size;
	case QCOW2_ZERO_PLAIN:
		return true;
	default:
		return false;
	}
}

static void reserved(struct io_op *op)
{
	struct qcow2 *q = op->user;

	q->alloc->reserving = false;
	/* What cannot be reserved is allocated when it is written. */
	if (op->res < 0)
		q->alloc->reserved = UINT64_MAX;
}

static void reserve(struct qcow2 *q, uint64_t end)
{
	struct qcow2_alloc *a = q->alloc;
	uint64_t start = max_u64(a->reserved, end - q->cluster_size);
	uint64_t step = max_u64(RESERVE_MIN, min_u64(end / RESERVE_PART, RESERVE_MAX));

	if (a->reserving || end + step / 2 <= a->reserved)
		return;
	a->reserved = round_up(end + step, q->cluster_size);
	a->reserving = true;
	a->reserve_op = (struct io_op){.kind = IO_RESERVE, .file = q->node->file, .off = start,
				       .len = a->reserved - start, .done = reserved, .user = q};
	io_op_submit(&a->reserve_op);
}

/*
 * Has the host cluster at @off, free until now, never been written?  The length is asked for once
 * after clusters were freed; until then only new ones are handed out.
 */
static bool is_fresh(struct qcow2 *q, uint64_t off)
{
	struct qcow2_alloc *a = q->alloc;
	int64_t length;

	if (!a->fresh_from) {
		length = io_length(q->node->file);
		if (length < 0)
			return false;
		a->fresh_from = round_up(max_u64((uint64_t)length, 1), q->cluster_size);
	}
	return off >= a->fresh_from;
}

void qcow2_fresh_plan(struct qcow2 *q, struct bd_plan *plan, const struct meta_slot *slice)
{
	const struct io_file *file = q->node->file;
	uint64_t end = plan->guest_off + plan->len;

	if (!(plan->head || plan->tail) || q->node->cipher || q->node->data != file ||
	    !file->zero_init)
		return;
	if (!is_fresh(q, plan->priv[PRIV_HOST]))
		return;
	if (plan->head && shows_zeros(q, slice, plan->guest_off - 1))
		plan->head = 0;
	if (plan->tail && shows_zeros(q, slice, end)) {
		plan->tail = 0;
		q->alloc->ragged = true;
	}
	io_event(q->node->file, "cluster_alloc_space");
	reserve(q, plan->priv[PRIV_HOST] + (plan->priv[PRIV_NR] << q->cluster_bits));
}

void qcow2_fresh_stop(struct qcow2 *q)
{
	while (q->alloc->reserving) {
		if (bd_queue_poll(q->node->queue, true) < 0)
			break;
	}
}
