/* SPDX-License-Identifier: MIT */
/* Inside of the context: shared by ctx.c, wait.c, work.c and align.c only. */
#ifndef IO_CTX_H
#define IO_CTX_H

#include "blockdev/io/engine.h"
#include "blockdev/io/pool.h"

struct io_ctx {
	const struct io_engine_ops *eng;
	struct io_engine *engine;
	struct link ready;      /* operations the engine has not taken yet */
	struct link polls;      /* IO_POLL while the engine cannot do it */
	struct link done;       /* finished; done() not yet called */
	struct link timers;     /* soonest first */
	unsigned in_engine;     /* operations the engine holds */
	unsigned max_batch;     /* operations handed to the kernel at a time; 0: all there are */
	unsigned polls_in_engine;
	unsigned nr_ops;        /* submitted and not yet done() */
	uint64_t ops;           /* done() so far */
	uint64_t waits;         /* kernel entries of the context itself */
	bool running;           /* inside io_ctx_poll(): no nesting */
	bool simulated;
	uint64_t sim_now_ns;

	struct io_pool *workers;
	unsigned nr_work;       /* items the workers hold */
	struct bd_work *done_work;
	struct io_op wake;      /* IO_POLL on the workers' descriptor, in the engine */
	bool wake_armed;
};

/* Move finished work to ctx->done_work. */
void io_work_collect(struct io_ctx *ctx);
/* Run the done() of finished work; returns how many. */
int io_work_run_done(struct io_ctx *ctx);
/*
 * Let the engine work and, if @block, sleep until something can have happened: an operation or
 * work has finished, a timer is due.  Finished operations are on ctx->done.  0 or a negative errno.
 */
int io_ctx_wait(struct io_ctx *ctx, bool block);

/* align.c: the part of an operation that its file's alignment makes necessary. */
bool io_align_submit(struct io_op *op); /* true: taken over */
void io_align_done(struct io_op *op);   /* before done(), for an operation with a linked range */

#endif
