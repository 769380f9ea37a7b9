/* SPDX-License-Identifier: MIT */
/*
 * L2 tables of our own: a new one, or a copy of one shared with a snapshot.  One at a time per
 * image.  The whole table is written before L1 may name it; the round orders the two.
 *
 * If each write is to be durable, the table is linked durably before clusters are allocated for
 * it: a failure is undone without a trace.  So it is with lazy refcounts, where only the counts of
 * what guests write may stay behind.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/core/queue.h"
#include "blockdev/format/qcow2/alloc.h"
#include "blockdev/format/qcow2/entry.h"
#include "blockdev/format/qcow2/overlap.h"

static void step(struct qcow2 *q);

static void resume(struct bd_wait *wait)
{
	struct qcow2_alloc *a = container_of(wait, struct qcow2_alloc, l2_wait);

	if (wait->res < 0)
		a->l2_err = wait->res;
	step(a->q);
}

static void op_done(struct io_op *op)
{
	struct qcow2 *q = op->user;

	if (op->res < 0)
		q->alloc->l2_err = op->res;
	q->alloc->l2_step++;
	step(q);
}

static void transfer(struct qcow2 *q, enum io_kind kind, uint64_t off, const char *event)
{
	struct qcow2_alloc *a = q->alloc;

	io_event(q->node->file, event);
	a->l2_iov = (struct iovec){a->l2_buf, q->cluster_size};
	a->l2_op = (struct io_op){.kind = kind, .flags = IO_META, .file = q->node->file,
				  .off = off, .len = q->cluster_size, .iov = &a->l2_iov,
				  .niov = 1, .done = op_done, .user = q};
	io_op_submit(&a->l2_op);
}

static void over(struct qcow2 *q)
{
	struct qcow2_alloc *a = q->alloc;

	if (a->l2_err && a->l2_new)
		qcow2_free_later(q, a->l2_new, q->cluster_size, QCOW2_FREE_OTHER);
	free(a->l2_buf);
	a->l2_buf = NULL;
	a->l2_step = L2_IDLE;
	bd_queue_wake_all(q->node->queue, &a->want_l2, a->l2_err == -EAGAIN ? 0 : a->l2_err);
}

static int alloc(struct qcow2 *q)
{
	struct qcow2_alloc *a = q->alloc;
	uint64_t got;
	int ret = qcow2_alloc_run(q, 1, &a->l2_wait, &a->l2_new, &got);

	if (ret <= 0)
		return ret;
	ret = qcow2_overlap_check(q, a->l2_new, q->cluster_size, 0);
	if (ret < 0)
		return ret;
	if (posix_memalign((void **)&a->l2_buf, 4096, q->cluster_size)) {
		a->l2_buf = NULL;
		return -ENOMEM;
	}
	memset(a->l2_buf, 0, q->cluster_size);
	metacache_drop(q->l2_cache, a->l2_new, q->cluster_size);
	a->l2_step = a->l2_old ? L2_READ : L2_WRITE;
	return 1;
}

static void linked(struct qcow2 *q)
{
	struct qcow2_alloc *a = q->alloc;

	if (a->l2_old)
		qcow2_free_later(q, a->l2_old, q->cluster_size, QCOW2_FREE_OTHER);
	a->l2_blank = a->l2_old ? 0 : a->l2_new;
	a->l2_new = 0;
	over(q);
}

/* Dirty slices of a shared table cannot be: it is never edited.  So the file has its content. */
static int link_table(struct qcow2 *q)
{
	struct qcow2_alloc *a = q->alloc;

	if (!qcow2_gate(q, &a->l2_wait))
		return 0;
	qcow2_l1_set(q, a->l2_idx, a->l2_new | QCOW2_OFLAG_COPIED);
	if (!q->lazy_refcounts && !(q->node->flags & BD_O_WRITETHROUGH)) {
		linked(q);
		return 0;
	}
	a->l2_step = L2_ROUND;
	qcow2_flush_counts(q, &a->l2_wait);
	return 0;
}

/* It could not be made durable. */
static void unlink_table(struct qcow2 *q)
{
	struct qcow2_alloc *a = q->alloc;

	if (!qcow2_gate(q, &a->l2_wait))
		return;
	metacache_drop(q->l2_cache, a->l2_new, q->cluster_size);
	qcow2_l1_set(q, a->l2_idx, a->l2_old);
	over(q);
}

static void step(struct qcow2 *q)
{
	struct qcow2_alloc *a = q->alloc;
	int ret = 1;

	if (a->l2_step == L2_ROUND && !a->l2_err) {
		linked(q);
		return;
	}
	if (a->l2_step >= L2_ROUND) {
		a->l2_step = L2_UNLINK;
		unlink_table(q);
		return;
	}
	while (ret > 0 && !a->l2_err) {
		switch (a->l2_step) {
		case L2_ALLOC:
			ret = alloc(q);
			break;
		case L2_READ:
			transfer(q, IO_READ, a->l2_old, "l2_alloc_cow_read");
			return;
		case L2_WRITE:
			q->node->stats.meta_writes++;
			io_event(q->node->file, "l2_alloc_write");
			transfer(q, IO_WRITE, a->l2_new, "l2_update");
			return;
		case L2_LINK:
			ret = link_table(q);
			break;
		default:
			return;
		}
	}
	if (ret < 0)
		a->l2_err = ret;
	if (a->l2_err)
		over(q);
}

int qcow2_l2_own(struct qcow2 *q, uint64_t idx, struct bd_wait *wait)
{
	struct qcow2_alloc *a = q->alloc;
	uint64_t entry = q->l1[idx];

	if ((entry & QCOW2_OFFSET_MASK) & (q->cluster_size - 1))
		return bd_corrupt(q->node, "L2 table offset %#llx unaligned (L1 index: %#llx)",
				  (unsigned long long)(entry & QCOW2_OFFSET_MASK),
				  (unsigned long long)idx);
	if (entry & QCOW2_OFFSET_MASK && entry & QCOW2_OFLAG_COPIED &&
	    !(a->l2_step != L2_IDLE && a->l2_idx == idx))
		return 1;
	if (a->l2_step == L2_IDLE) {
		struct meta_slot *slot;
		int ret;

		io_event(q->node->file, "cluster_alloc");
		/* Growth of the refcount table is the asking request's to wait for. */
		ret = qcow2_refblock_get(q, a->hint, true, wait, &slot);
		if (ret <= 0)
			return ret;
		a->l2_step = L2_ALLOC;
		a->l2_idx = idx;
		a->l2_old = entry & QCOW2_OFFSET_MASK;
		a->l2_new = 0;
		a->l2_err = 0;
		a->l2_wait.resume = resume;
		list_add_tail(&a->want_l2, &wait->link);
		step(q);
		return 0;
	}
	list_add_tail(&a->want_l2, &wait->link);
	return 0;
}

static bool take_blank(struct qcow2 *q, uint64_t idx)
{
	uint64_t blank = q->alloc->l2_blank;

	if (!blank || blank != (q->l1[idx] & QCOW2_OFFSET_MASK))
		return false;
	q->alloc->l2_blank = 0;
	return true;
}

int qcow2_slice_own(struct qcow2 *q, uint64_t off, struct bd_wait *wait, struct meta_slot **slice)
{
	uint64_t slice_off;
	uint64_t idx = qcow2_l1_idx(q, off);
	int ret = -EAGAIN;

	if (!wait || qcow2_overlap_ready(q))
		ret = idx < q->l1_size ? qcow2_l2_own(q, idx, wait) : -EIO;

	if (ret <= 0)
		return ret;
	ret = qcow2_overlap_check(q, q->l1[idx] & QCOW2_OFFSET_MASK, q->cluster_size,
				  QCOW2_OL_ACTIVE_L2);
	if (ret < 0)
		return ret;
	slice_off = qcow2_slice_off(q, q->l1[idx] & QCOW2_OFFSET_MASK, off);
	/* What the first look at a table just made would read is known. */
	if (take_blank(q, idx))
		return metacache_get_new(q->l2_cache, slice_off, wait, slice);
	return metacache_get(q->l2_cache, slice_off, wait, slice);
}
