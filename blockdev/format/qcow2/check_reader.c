/* SPDX-License-Identifier: MIT */
/* Tables read ahead of their use, so that a disk always has something to do. */
#include <errno.h>
#include <stdlib.h>

#include "blockdev/core/queue.h"
#include "blockdev/format/qcow2/check.h"

enum { MAX_AHEAD = 16, AHEAD_BYTES = 1 << 20 };

struct slot {
	struct io_op op;
	struct iovec iov;
	bool busy;
	uint64_t off;
};

struct qcow2_ahead {
	struct qcow2 *q;
	uint64_t (*next)(void *user);
	void *user;
	bool ended;
	unsigned nr, first, used;   /* slots; a ring of those read or being read */
	bool held;                  /* the caller uses the first one */
	struct slot slots[MAX_AHEAD];
	uint8_t *buf;
};

static void done(struct io_op *op)
{
	((struct slot *)op->user)->busy = false;
}

static void submit(struct qcow2_ahead *a, struct slot *slot, uint64_t off)
{
	slot->off = off;
	slot->busy = true;
	slot->op = (struct io_op){
		.kind = IO_READ,
		.file = a->q->node->file,
		.off = off,
		.len = a->q->cluster_size,
		.iov = &slot->iov,
		.niov = 1,
		.done = done,
		.user = slot,
	};
	io_op_submit(&slot->op);
}

static void fill(struct qcow2_ahead *a)
{
	while (!a->ended && a->used < a->nr) {
		uint64_t off = a->next(a->user);

		if (off == UINT64_MAX) {
			a->ended = true;
			return;
		}
		submit(a, &a->slots[(a->first + a->used) % a->nr], off);
		a->used++;
	}
}

int qcow2_ahead_new(struct qcow2 *q, uint64_t (*next)(void *user), void *user,
		    struct qcow2_ahead **out)
{
	struct qcow2_ahead *a = calloc(1, sizeof(*a));

	*out = NULL;
	if (!a)
		return -ENOMEM;
	a->q = q;
	a->next = next;
	a->user = user;
	a->nr = AHEAD_BYTES / q->cluster_size;
	if (a->nr > MAX_AHEAD)
		a->nr = MAX_AHEAD;
	if (a->nr < 2)
		a->nr = 2;
	if (posix_memalign((void **)&a->buf, 4096, (size_t)a->nr * q->cluster_size)) {
		free(a);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < a->nr; i++)
		a->slots[i].iov = (struct iovec){ a->buf + (size_t)i * q->cluster_size,
						  q->cluster_size };
	*out = a;
	return 0;
}

static int wait_for(struct qcow2_ahead *a, const struct slot *slot)
{
	while (slot->busy) {
		int ret = io_ctx_poll(bd_queue_ctx(a->q->node->queue), true);

		if (ret < 0)
			return ret;
	}
	return slot->op.res;
}

const uint8_t *qcow2_ahead_get(struct qcow2_ahead *a, uint64_t *off, int *res)
{
	struct slot *slot;

	if (a->held) {
		a->first = (a->first + 1) % a->nr;
		a->used--;
	}
	fill(a);
	a->held = a->used > 0;
	if (!a->held)
		return NULL;
	slot = &a->slots[a->first];
	*res = wait_for(a, slot);
	*off = slot->off;
	return slot->iov.iov_base;
}

void qcow2_ahead_free(struct qcow2_ahead *a)
{
	if (!a)
		return;
	for (unsigned i = 0; i < a->nr; i++)
		wait_for(a, &a->slots[i]);
	free(a->buf);
	free(a);
}
