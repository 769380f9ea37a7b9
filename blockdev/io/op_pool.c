/* SPDX-License-Identifier: MIT */
/* Operations on threads: what the engine of threads does, and io_uring with large copies. */
#include "blockdev/io/op_pool.h"

#include "blockdev/io/file.h"
#include "blockdev/io/op.h"

static void run(void *item)
{
	struct io_op *op = item;
	struct io_step step;

	io_op_step(op, &step);
	op->raw = io_step_run(&step);
}

/* The kernel holds a regular file's lock while bytes are copied into its pages. */
static const void *lane(const void *item)
{
	const struct io_op *op = item;

	if (op->kind != IO_WRITE || op->file->flags & BD_O_DIRECT || !op->file->regular)
		return NULL;
	return op->file;
}

static const struct io_pool_kind kind = {
	.next_at = offsetof(struct io_op, link.next),
	.run = run,
	.lane = lane,
};

int io_op_pool_new(unsigned max, struct io_pool **out)
{
	return io_pool_new(&kind, max, out);
}

unsigned io_op_pool_collect(struct io_pool *pool, struct link *done)
{
	struct io_op *op = io_pool_collect(pool);
	unsigned nr = 0;

	while (op) {
		/* The pool's chain runs through link.next from operation to operation. */
		struct io_op *next = (void *)op->link.next;

		list_add_tail(done, &op->link);
		op = next;
		nr++;
	}
	return nr;
}
