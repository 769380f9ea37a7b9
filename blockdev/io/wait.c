/* SPDX-License-Identifier: MIT */
/* The one place that sleeps: for the engine, for descriptors, for work and for timers together. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "blockdev/io/ctx.h"
#include "blockdev/io/op.h"

/* Descriptors waited for at once beside the engine's and the workers'. */
#define MAX_POLLS 62

static int reap(struct io_ctx *ctx, unsigned wait_min, uint64_t timeout_ns);

static int push_ready(struct io_ctx *ctx)
{
	unsigned nr = 0;

	while (!list_empty(&ctx->ready)) {
		struct io_op *op = container_of(ctx->ready.next, struct io_op, link);
		int ret;

		/* Off the list first: the link is the engine's once it has taken the operation. */
		list_del(&op->link);
		ret = ctx->eng->queue(ctx->engine, op);
		if (ret < 0) {
			list_add_head(&ctx->ready, &op->link);
			return ret == -EAGAIN ? 0 : ret;
		}
		ctx->in_engine++;
		ctx->polls_in_engine += op->kind == IO_POLL;
		if (ctx->max_batch && ++nr % ctx->max_batch == 0) {
			ret = reap(ctx, 0, 0);
			if (ret < 0)
				return ret;
		}
	}
	return 0;
}

/* Sort what the engine has finished: done, or one more step. */
static void take_finished(struct io_ctx *ctx, struct link *finished)
{
	struct link *item;

	while ((item = list_pop(finished))) {
		struct io_op *op = container_of(item, struct io_op, link);

		ctx->in_engine--;
		ctx->polls_in_engine -= op->kind == IO_POLL;
		if (op == &ctx->wake)
			ctx->wake_armed = false;
		else if (io_op_finish(op))
			list_add_tail(&ctx->done, &op->link);
		else
			list_add_tail(&ctx->ready, &op->link);
	}
}

static int reap(struct io_ctx *ctx, unsigned wait_min, uint64_t timeout_ns)
{
	struct link finished;
	int ret;

	if (!ctx->in_engine)
		return 0;
	list_init(&finished);
	ret = ctx->eng->reap(ctx->engine, wait_min, timeout_ns, &finished);
	take_finished(ctx, &finished);
	return ret;
}

/* Work must be able to wake an engine that sleeps in the kernel. */
static void arm_wake(struct io_ctx *ctx)
{
	if (!ctx->nr_work || ctx->wake_armed || !ctx->workers)
		return;
	ctx->wake = (struct io_op){ .kind = IO_POLL, .fd = io_pool_fd(ctx->workers) };
	io_op_start(&ctx->wake);
	list_init(&ctx->wake.link);
	if (ctx->eng->queue(ctx->engine, &ctx->wake) < 0)
		return;
	ctx->wake_armed = true;
	ctx->in_engine++;
	ctx->polls_in_engine++;
}

/* ppoll() for an engine that cannot wait for descriptors itself. */
static int poll_fds(struct io_ctx *ctx, uint64_t timeout_ns)
{
	struct timespec ts = { .tv_sec = (time_t)(timeout_ns / 1000000000u),
			       .tv_nsec = (long)(timeout_ns % 1000000000u) };
	struct pollfd fds[MAX_POLLS + 2];
	struct io_op *ops[MAX_POLLS + 2];
	nfds_t nr = 0;

	for (struct link *i = ctx->polls.next; i != &ctx->polls && nr < MAX_POLLS; i = i->next) {
		ops[nr] = container_of(i, struct io_op, link);
		fds[nr] = (struct pollfd){ .fd = ops[nr]->fd, .events = POLLIN };
		nr++;
	}
	if (ctx->in_engine && ctx->eng->wait_fd) {
		ops[nr] = NULL;
		fds[nr++] = (struct pollfd){ .fd = ctx->eng->wait_fd(ctx->engine),
					     .events = POLLIN };
	}
	if (ctx->nr_work && ctx->workers) {
		ops[nr] = NULL;
		fds[nr++] = (struct pollfd){ .fd = io_pool_fd(ctx->workers), .events = POLLIN };
	}
	if (!nr && timeout_ns == UINT64_MAX)
		return 0;
	ctx->waits++;
	if (ppoll(fds, nr, timeout_ns == UINT64_MAX ? NULL : &ts, NULL) < 0)
		return errno == EINTR ? 0 : -errno;
	for (nfds_t i = 0; i < nr; i++) {
		if (!ops[i] || !fds[i].revents)
			continue;
		list_del(&ops[i]->link);
		io_ctx_complete(ctx, ops[i], fds[i].revents & POLLNVAL ? -EBADF : 0);
	}
	return 0;
}

/* Nanoseconds until the next timer; UINT64_MAX: none, or its time comes only by simulation. */
static uint64_t sleep_limit(struct io_ctx *ctx)
{
	uint64_t when, now;

	if (list_empty(&ctx->timers))
		return UINT64_MAX;
	when = container_of(ctx->timers.next, struct io_timer, link)->when_ns;
	if (!ctx->simulated) {
		now = io_ctx_now(ctx);
		return when > now ? when - now : 0;
	}
	if (ctx->in_engine > ctx->polls_in_engine || ctx->nr_work || !list_empty(&ctx->ready))
		return UINT64_MAX;
	if (when > ctx->sim_now_ns)
		ctx->sim_now_ns = when;
	return 0;
}

static bool anything_done(const struct io_ctx *ctx)
{
	return ctx->done_work || !list_empty(&ctx->done);
}

static int sleep_in_engine(struct io_ctx *ctx)
{
	uint64_t limit = sleep_limit(ctx);

	arm_wake(ctx);
	if (ctx->in_engine)
		return reap(ctx, limit ? 1 : 0, limit);
	/* Only timers are left. */
	return limit && limit != UINT64_MAX ? poll_fds(ctx, limit) : 0;
}

static int sleep_in_poll(struct io_ctx *ctx)
{
	uint64_t limit = sleep_limit(ctx);
	int ret;

	/* The common case: operations only; the engine sleeps without a second call. */
	if (ctx->in_engine && list_empty(&ctx->polls) && !ctx->nr_work)
		return reap(ctx, limit ? 1 : 0, limit);
	ret = poll_fds(ctx, limit);
	return ret < 0 ? ret : reap(ctx, 0, 0);
}

int io_ctx_wait(struct io_ctx *ctx, bool block)
{
	int ret = push_ready(ctx);

	if (ret < 0)
		return ret;
	io_work_collect(ctx);
	block = block && !anything_done(ctx);
	if (!(ctx->eng->caps & IO_CAP_POLL)) {
		/* Start what is queued; an engine of plain calls has then finished it too. */
		ret = reap(ctx, 0, 0);
		block = block && ret == 0;
		if (ret >= 0 && !block && !list_empty(&ctx->polls))
			ret = poll_fds(ctx, 0);
		else if (block)
			ret = sleep_in_poll(ctx);
	} else {
		ret = block ? sleep_in_engine(ctx) : reap(ctx, 0, 0);
	}
	io_work_collect(ctx);
	return ret < 0 ? ret : 0;
}
