/* SPDX-License-Identifier: MIT */
/* Plain system calls, one after the other: the reference all engines are tested against. */
#include <errno.h>
#include <stdlib.h>

#include "blockdev/io/engines.h"
#include "blockdev/io/op.h"

struct io_engine {
	struct link queued;
	uint64_t syscalls;
};

static int sync_open(unsigned depth, struct io_engine **out, struct bd_error *err)
{
	(void)depth;
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return bd_fail_errno(err, -ENOMEM, "Could not set up I/O");
	list_init(&(*out)->queued);
	return 0;
}

static void sync_close(struct io_engine *engine)
{
	free(engine);
}

static int sync_queue(struct io_engine *engine, struct io_op *op)
{
	list_add_tail(&engine->queued, &op->link);
	return 0;
}

static int sync_reap(struct io_engine *engine, unsigned wait_min, uint64_t timeout_ns,
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
		op->raw = io_step_run(&step);
		engine->syscalls++;
		list_add_tail(done, &op->link);
		nr++;
	}
	return nr;
}

static uint64_t sync_syscalls(const struct io_engine *engine)
{
	return engine->syscalls;
}

const struct io_engine_ops io_sync_engine = {
	.name = "sync",
	.caps = IO_CAP_ZERO,
	.open = sync_open,
	.close = sync_close,
	.queue = sync_queue,
	.reap = sync_reap,
	.syscalls = sync_syscalls,
};
