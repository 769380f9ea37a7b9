/* SPDX-License-Identifier: MIT */
/* The context: one engine, what is queued for it, what has finished, timers, CPU work. */
#include "blockdev/io/ctx.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "blockdev/io/file.h"
#include "blockdev/io/op.h"

#define MAX_DEPTH 4096

static int open_engine(struct io_ctx *ctx, const char *name, unsigned depth, struct bd_error *err)
{
	int ret = -EINVAL;

	for (size_t i = 0; io_engines[i]; i++) {
		const struct io_engine_ops *eng = io_engines[i];

		if (name && strcmp(name, eng->name))
			continue;
		/* Without a name: the first of general use that this kernel grants. */
		if (!name && (eng->caps & IO_CAP_DIRECT_ONLY))
			continue;
		ret = eng->open(depth, &ctx->engine, err);
		ctx->eng = eng;
		if (ret == 0 || name)
			return ret;
	}
	if (!name)
		return ret;
	if (!strcmp(name, "io_uring") || !strcmp(name, "native"))
		return bd_fail(err, -ENOTSUP, "I/O engine '%s' is not in this build", name);
	return bd_fail(err, -EINVAL, "Unknown I/O engine '%s'", name);
}

int io_ctx_new(const char *engine, unsigned depth, struct io_ctx **out, struct bd_error *err)
{
	struct io_ctx *ctx = calloc(1, sizeof(*ctx));
	int ret;

	*out = NULL;
	if (!ctx)
		return bd_fail_errno(err, -ENOMEM, "Could not set up I/O");
	if (depth < 1)
		depth = 1;
	if (depth > MAX_DEPTH)
		depth = MAX_DEPTH;
	ret = open_engine(ctx, engine, depth, err);
	if (ret < 0) {
		free(ctx);
		return ret;
	}
	list_init(&ctx->ready);
	list_init(&ctx->polls);
	list_init(&ctx->done);
	list_init(&ctx->timers);
	*out = ctx;
	return 0;
}

void io_ctx_free(struct io_ctx *ctx)
{
	if (!ctx)
		return;
	assert(!ctx->running && !ctx->nr_ops);
	ctx->eng->close(ctx->engine);
	io_pool_free(ctx->workers);
	free(ctx);
}

/* --- operations -------------------------------------------------------------------------- */

static bool has_limits(const struct io_file *file)
{
	return file->request_align > 1 || file->buffer_align > 1 || file->max_transfer;
}

void io_op_submit(struct io_op *op)
{
	op->res = 0;
	op->raw = 0;
	op->progress = 0;
	op->skip = 0;
	op->tries = 0;
	op->bounce = NULL;
	list_init(&op->link);
	list_init(&op->range);
	op->file->ctx->nr_ops++;
	if (op->kind != IO_COPY && has_limits(op->file) && io_align_submit(op))
		return;
	op->file->ops->submit(op->file, op);
}

void io_poll_submit(struct io_ctx *ctx, struct io_op *op)
{
	op->tries = 0;
	list_init(&op->link);
	list_init(&op->range);
	ctx->nr_ops++;
	io_ctx_queue(ctx, op);
}

void io_ctx_complete(struct io_ctx *ctx, struct io_op *op, int res)
{
	op->res = res;
	list_add_tail(&ctx->done, &op->link);
}

void io_ctx_queue(struct io_ctx *ctx, struct io_op *op)
{
	if (io_op_start(op))
		list_add_tail(&ctx->done, &op->link);
	else if (op->kind == IO_POLL && !(ctx->eng->caps & IO_CAP_POLL))
		list_add_tail(&ctx->polls, &op->link);
	else
		list_add_tail(&ctx->ready, &op->link);
}

unsigned io_ctx_pending(const struct io_ctx *ctx)
{
	unsigned nr = ctx->nr_ops + ctx->nr_work;

	for (const struct link *i = ctx->timers.next; i != &ctx->timers; i = i->next)
		nr++;
	return nr;
}

const char *io_ctx_engine_name(const struct io_ctx *ctx)
{
	return ctx->eng->name;
}

void io_ctx_counters(const struct io_ctx *ctx, uint64_t *syscalls, uint64_t *ops)
{
	*syscalls = ctx->waits + (ctx->eng->syscalls ? ctx->eng->syscalls(ctx->engine) : 0);
	*ops = ctx->ops;
}

/* --- timers ------------------------------------------------------------------------------ */

uint64_t io_ctx_now(const struct io_ctx *ctx)
{
	struct timespec ts;

	if (ctx->simulated)
		return ctx->sim_now_ns;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void io_ctx_simulate_clock(struct io_ctx *ctx)
{
	ctx->sim_now_ns = io_ctx_now(ctx);
	ctx->simulated = true;
}

void io_timer_add(struct io_ctx *ctx, struct io_timer *timer, uint64_t when_ns)
{
	struct link *at = ctx->timers.prev;

	timer->when_ns = when_ns;
	/* Equal times fire in the order they were added. */
	while (at != &ctx->timers && container_of(at, struct io_timer, link)->when_ns > when_ns)
		at = at->prev;
	list_add_head(at, &timer->link);
}

void io_timer_cancel(struct io_timer *timer)
{
	list_del(&timer->link);
}

/* Only those due at entry: a timer that starts itself again waits for the next turn. */
static int run_timers(struct io_ctx *ctx)
{
	struct link due, *item;
	uint64_t now;
	int nr = 0;

	if (list_empty(&ctx->timers))
		return 0;
	list_init(&due);
	now = io_ctx_now(ctx);
	while (!list_empty(&ctx->timers)) {
		item = ctx->timers.next;
		if (container_of(item, struct io_timer, link)->when_ns > now)
			break;
		list_del(item);
		list_add_tail(&due, item);
	}
	while ((item = list_pop(&due))) {
		struct io_timer *timer = container_of(item, struct io_timer, link);

		timer->fire(timer);
		nr++;
	}
	return nr;
}

/* --- a turn ------------------------------------------------------------------------------ */

/* Those finished at entry: what a callback completes waits for the next turn. */
static int run_done(struct io_ctx *ctx)
{
	struct link list, *item;
	int nr = 0;

	list_init(&list);
	list_splice_tail(&list, &ctx->done);
	while ((item = list_pop(&list))) {
		struct io_op *op = container_of(item, struct io_op, link);

		ctx->nr_ops--;
		ctx->ops++;
		if (!list_empty(&op->range))
			io_align_done(op);
		op->done(op);
		nr++;
	}
	return nr;
}

static int turn(struct io_ctx *ctx, bool wait)
{
	int ran = run_timers(ctx), ret;

	ret = io_ctx_wait(ctx, wait && !ran);
	if (ret < 0)
		return ret;
	/* Sleeping may have been for a timer. */
	if (!ran)
		ran = run_timers(ctx);
	ran += io_work_run_done(ctx);
	return ran + run_done(ctx);
}

/* Something will happen without the caller's doing. */
static bool progress_possible(const struct io_ctx *ctx)
{
	return ctx->in_engine > ctx->wake_armed || ctx->nr_work || !list_empty(&ctx->ready) ||
	       !list_empty(&ctx->polls) || !list_empty(&ctx->done) || !list_empty(&ctx->timers);
}

int io_ctx_poll(struct io_ctx *ctx, bool wait)
{
	int ran;

	assert(!ctx->running);
	ctx->running = true;
	do {
		ran = turn(ctx, wait);
	} while (wait && ran == 0 && progress_possible(ctx));
	ctx->running = false;
	return ran;
}
