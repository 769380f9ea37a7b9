/* SPDX-License-Identifier: MIT */
/* The write-back round: see alloc.h for the order and why it is safe. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/be.h"
#include "blockdev/base/bits.h"
#include "blockdev/core/queue.h"
#include "blockdev/format/qcow2/alloc.h"
#include "blockdev/format/qcow2/overlap.h"

enum { ENTRIES_PER_SECTOR = 64, SECTORS_MAX = 256 };

static void step(struct qcow2 *q);

static void resume(struct bd_wait *wait)
{
	struct qcow2_alloc *a = container_of(wait, struct qcow2_alloc, wait);

	if (wait->res < 0 && !a->err)
		a->err = wait->res;
	step(a->q);
}

static void op_done(struct io_op *op)
{
	struct qcow2 *q = op->user;

	if (op->res < 0 && !q->alloc->err)
		q->alloc->err = op->res;
	free(q->alloc->buf);
	q->alloc->buf = NULL;
	step(q);
}

static void flush_file(struct qcow2 *q, struct io_file *file, void (*done)(struct io_op *))
{
	q->node->stats.barriers++;
	q->alloc->op = (struct io_op){.kind = IO_FLUSH, .file = file, .done = done, .user = q};
	io_op_submit(&q->alloc->op);
}

static void data_flushed(struct io_op *op)
{
	struct qcow2 *q = op->user;

	if (op->res < 0)
		op_done(op);
	else
		flush_file(q, q->node->file, op_done);
}

/* A host flush of guest data and metadata; 1: none is needed. */
static int barrier(struct qcow2 *q)
{
	struct bd_node *node = q->node;

	if (node->flags & BD_O_NO_FLUSH)
		return 1;
	if (node->data != node->file)
		flush_file(q, node->data, data_flushed);
	else
		flush_file(q, node->file, op_done);
	return 0;
}

/* Write the next run of dirty sectors of an in-memory table.  1: none is left; 0: in flight. */
static int write_table(struct qcow2 *q, const uint64_t *table, uint64_t entries, uint64_t off,
		       uint8_t *dirty, const char *event)
{
	struct qcow2_alloc *a = q->alloc;
	uint64_t sectors = div_up(entries, ENTRIES_PER_SECTOR), first = a->table_pos, nr = 0;
	be64 *out;

	while (first < sectors && !dirty[first])
		first++;
	if (first == sectors)
		return 1;
	while (first + nr < sectors && nr < SECTORS_MAX && dirty[first + nr])
		dirty[first + nr++] = 0;
	out = calloc(nr * ENTRIES_PER_SECTOR, sizeof(*out));
	if (!out)
		return -ENOMEM;
	for (uint64_t i = 0; i < nr * ENTRIES_PER_SECTOR; i++) {
		if (first * ENTRIES_PER_SECTOR + i < entries)
			out[i] = be64_make(table[first * ENTRIES_PER_SECTOR + i]);
	}
	a->buf = (uint8_t *)out;
	a->table_pos = (uint32_t)(first + nr);
	a->iov = (struct iovec){out, nr * 512};
	io_event(q->node->file, event);
	q->node->stats.meta_writes++;
	a->op = (struct io_op){.kind = IO_WRITE, .flags = IO_META, .file = q->node->file,
			       .off = off + first * 512, .len = nr * 512, .iov = &a->iov,
			       .niov = 1, .done = op_done, .user = q};
	io_op_submit(&a->op);
	return 0;
}

static int begin(struct qcow2 *q)
{
	struct qcow2_alloc *a = q->alloc;

	a->gate_closed = true;
	a->again = false;
	list_splice_tail(&a->now, &a->next);
	a->nr_due = a->nr_runs;
	return 1;
}

static void open_gate(struct qcow2 *q)
{
	q->alloc->gate_closed = false;
	bd_queue_wake_all(q->node->queue, &q->alloc->gate, 0);
}

/*
 * Lazy refcounts: while the header says that counts may be wrong, a flush leaves them in memory.  A
 * new refcount block is written before the table names it.
 */
static int write_counts(struct qcow2 *q)
{
	struct qcow2_alloc *a = q->alloc;
	bool lazy = q->lazy_refcounts && q->incompatible & QCOW2_INCOMPAT_DIRTY;

	if (lazy && !a->want_counts && !q->reftable_is_dirty)
		return 1;
	a->want_counts = false;
	if (q->reftable_is_dirty)
		io_event(q->node->file, "refblock_alloc_write");
	return metacache_write(q->refcount_cache, &a->wait);
}

static bool tables_dirty(const struct qcow2 *q)
{
	return metacache_is_dirty(q->l2_cache) || q->l1_is_dirty;
}

/* Everything the flushes asked for is durable. */
static int durable(struct qcow2 *q)
{
	struct qcow2_alloc *a = q->alloc;

	bd_queue_wake_all(q->node->queue, &a->now, 0);
	a->grace_seq = q->node->seq;
	return 1;
}

static int grace(struct qcow2 *q)
{
	struct qcow2_alloc *a = q->alloc;

	if (!a->nr_due || !bd_reads_before(q->node, a->grace_seq))
		return 1;
	list_add_tail(&q->node->grace, &a->wait.link);
	return 0;
}

/* Run the current step.  1: done, go to the next; 0: waits; negative errno. */
static int run(struct qcow2 *q)
{
	struct qcow2_alloc *a = q->alloc;
	int ret;

	switch (a->step) {
	case ROUND_IDLE:
		return begin(q);
	case ROUND_REFBLOCKS:
		return write_counts(q);
	case ROUND_TABLE_BARRIER:
		a->table_pos = 0;
		return q->reftable_is_dirty ? barrier(q) : 1;
	case ROUND_TABLE:
		ret = q->reftable_is_dirty
			      ? write_table(q, q->reftable, q->reftable_size, q->reftable_off,
					    q->reftable_dirty, "refblock_alloc_hookup")
			      : 1;
		q->reftable_is_dirty = ret == 0;
		if (ret == 1)
			bd_queue_wake_all(q->node->queue, &a->table_gate, 0);
		return ret;
	case ROUND_BARRIER:
		return tables_dirty(q) ? barrier(q) : 1;
	case ROUND_L2:
		a->table_pos = 0;
		return metacache_write(q->l2_cache, &a->wait);
	case ROUND_L1:
		ret = q->l1_is_dirty ? write_table(q, q->l1, q->l1_size, q->l1_off, q->l1_dirty,
						   "l1_update") : 1;
		q->l1_is_dirty = ret == 0;
		if (ret == 1)
			open_gate(q);
		return ret;
	case ROUND_FINAL:
		return !list_empty(&a->now) || a->nr_due ? barrier(q) : 1;
	case ROUND_DURABLE:
		return durable(q);
	case ROUND_GRACE:
		return grace(q);
	case ROUND_FREE:
		return qcow2_free_apply(q);
	}
	return 1;
}

/* Which steps are entered again when what they waited for has come. */
static bool repeats(enum qcow2_round_step at)
{
	return at == ROUND_TABLE || at == ROUND_L1 || at == ROUND_GRACE || at == ROUND_FREE;
}

static void mark_all(uint8_t *dirty, uint64_t entries, bool *is_dirty)
{
	memset(dirty, 1, div_up(entries, ENTRIES_PER_SECTOR));
	*is_dirty = true;
}

static void end(struct qcow2 *q)
{
	struct qcow2_alloc *a = q->alloc;
	bool again = a->again || !list_empty(&a->next);

	if (a->err) {
		/* What could not be written stays dirty; marks of tables in flight come back. */
		if (a->step == ROUND_TABLE)
			mark_all(q->reftable_dirty, q->reftable_size, &q->reftable_is_dirty);
		if (a->step == ROUND_L1)
			mark_all(q->l1_dirty, q->l1_size, &q->l1_is_dirty);
		qcow2_free_stop(q);
		bd_queue_wake_all(q->node->queue, &a->now, a->err);
		bd_queue_wake_all(q->node->queue, &a->next, a->err);
		bd_queue_wake_all(q->node->queue, &a->want_free_room, a->err);
		metacache_fail(q->l2_cache, a->err);
		metacache_fail(q->refcount_cache, a->err);
		again = false;
	}
	a->failed = a->err;
	a->err = 0; /* the next round tries again */
	a->step = ROUND_IDLE;
	open_gate(q);
	bd_queue_wake_all(q->node->queue, &a->table_gate, 0);
	if (again)
		qcow2_round_want(q);
}

static void step(struct qcow2 *q)
{
	struct qcow2_alloc *a = q->alloc;

	while (!a->err) {
		int ret = run(q);

		if (ret < 0) {
			a->err = ret;
			break;
		}
		if (ret == 0) {
			if (!repeats(a->step))
				a->step++;
			return;
		}
		if (a->step == ROUND_FREE)
			break;
		a->step++;
	}
	end(q);
}

static void start(struct bd_wait *wait)
{
	struct qcow2_alloc *a = container_of(wait, struct qcow2_alloc, wait);

	a->wait.resume = resume;
	a->starting = false;
	step(a->q);
}

void qcow2_round_want(struct qcow2 *q)
{
	struct qcow2_alloc *a = q->alloc;

	if (a->step != ROUND_IDLE || a->starting) {
		a->again = true;
		return;
	}
	/* From the queue, never inside the call that asked for it. */
	a->starting = true;
	a->wait.resume = start;
	bd_queue_wake(q->node->queue, &a->wait, 0);
}

void qcow2_round_need(void *owner)
{
	struct qcow2 *q = owner;

	q->alloc->want_counts = true;
	qcow2_round_want(q);
}

void qcow2_flush_counts(struct qcow2 *q, struct bd_wait *wait)
{
	q->alloc->want_counts = true;
	qcow2_flush(q->node, wait);
}

int qcow2_gate(struct qcow2 *q, struct bd_wait *wait)
{
	while (q->alloc->gate_closed && !wait) {
		if (bd_queue_poll(q->node->queue, true) < 0)
			return -EIO;
	}
	if (!q->alloc->gate_closed)
		return 1;
	list_add_tail(&q->alloc->gate, &wait->link);
	return 0;
}

/* The round has begun to write refcount blocks, and the table not yet. */
static bool table_closed(const struct qcow2 *q)
{
	return q->alloc->step >= ROUND_REFBLOCKS && q->alloc->step <= ROUND_TABLE;
}

int qcow2_table_gate(struct qcow2 *q, struct bd_wait *wait)
{
	while (table_closed(q) && !wait) {
		if (bd_queue_poll(q->node->queue, true) < 0)
			return -EIO;
	}
	if (!table_closed(q))
		return 1;
	list_add_tail(&q->alloc->table_gate, &wait->link);
	return 0;
}

void qcow2_l1_set(struct qcow2 *q, uint64_t idx, uint64_t entry)
{
	qcow2_overlap_move(q, q->l1[idx] & QCOW2_OFFSET_MASK, entry & QCOW2_OFFSET_MASK,
			   QCOW2_OL_ACTIVE_L2);
	q->l1[idx] = entry;
	q->l1_dirty[idx / ENTRIES_PER_SECTOR] = 1;
	q->l1_is_dirty = true;
}

int qcow2_flush(struct bd_node *node, struct bd_wait *wait)
{
	struct qcow2 *q = qcow2_of(node);

	list_add_tail(&q->alloc->next, &wait->link);
	qcow2_round_want(q);
	return 0;
}
