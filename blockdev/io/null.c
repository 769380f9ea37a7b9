/* SPDX-License-Identifier: MIT */
/*
 * An engine that does nothing, at once: to measure all that is not I/O, and to copy from.  Each
 * hook says what it must and must not do.
 */
#include <errno.h>
#include <stdlib.h>

#include "blockdev/base/iov.h"
#include "blockdev/io/engines.h"
#include "blockdev/io/op.h"

/* Each engine has its own struct io_engine; nobody else looks inside. */
struct io_engine {
	struct link queued; /* taken, not yet carried out */
};

/*
 * Get what is needed from the kernel.  @depth operations at most will be in flight if queue()
 * says -EAGAIN in time.  Fail with -ENOTSUP if this kernel cannot do it: another engine is tried.
 * Belongs to the calling thread from here on.
 */
static int null_open(unsigned depth, struct io_engine **out, struct bd_error *err)
{
	(void)depth;
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return bd_fail_errno(err, -ENOMEM, "Could not set up I/O");
	list_init(&(*out)->queued);
	return 0;
}

/* No operation of a user is in flight.  Free everything. */
static void null_close(struct io_engine *engine)
{
	free(engine);
}

/*
 * Take an operation: remember it through op->link, which is the engine's until it is finished.
 * Do not enter the kernel if it can wait for reap(): a batch then costs one system call.  Never
 * call op->done().  -EAGAIN: full; the operation is offered again later.
 */
static int null_queue(struct io_engine *engine, struct io_op *op)
{
	list_add_tail(&engine->queued, &op->link);
	return 0;
}

/*
 * Carry out all that was queued, wait for @wait_min of them, put the finished ones on @done.
 * io_op_step() says which host operation is wanted; op->raw takes the kernel's answer as it is:
 * bytes, possibly fewer than asked, or a negative errno, even -EINTR.  op.c repairs that.
 * Returns how many operations were put on @done; a negative errno is for the engine as a whole.
 */
static int null_reap(struct io_engine *engine, unsigned wait_min, uint64_t timeout_ns,
		     struct link *done)
{
	struct link *item;
	int nr = 0;

	(void)wait_min;
	(void)timeout_ns;
	while ((item = list_pop(&engine->queued))) {
		struct io_op *op = container_of(item, struct io_op, link);
		struct io_step step;

		io_op_step(op, &step);
		op->raw = 0;
		if (step.verb == IO_STEP_READ || step.verb == IO_STEP_WRITE)
			op->raw = (int64_t)step.len;
		if (step.verb == IO_STEP_READ)
			bd_iov_memset(step.iov, step.niov, 0, 0, step.len);
		list_add_tail(done, &op->link);
		nr++;
	}
	return nr;
}

/*
 * No IO_CAP_POLL: the context waits for descriptors itself.  No wait_fd: reap() finishes all.
 * No forget: nothing is kept of a file.  No syscalls: there are none.
 */
const struct io_engine_ops io_null_engine = {
	.name = "null",
	.caps = IO_CAP_ZERO,
	.open = null_open,
	.close = null_close,
	.queue = null_queue,
	.reap = null_reap,
};
