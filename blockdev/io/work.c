/* SPDX-License-Identifier: MIT */
/* CPU work on threads: at most one per core, started on first use. */
#include <unistd.h>

#include "blockdev/io/ctx.h"

static void run_work(void *item)
{
	struct bd_work *work = item;

	work->run(work);
}

static const struct io_pool_kind work_kind = {
	.next_at = offsetof(struct bd_work, next),
	.run = run_work,
};

static unsigned nr_cores(void)
{
	long nr = sysconf(_SC_NPROCESSORS_ONLN);

	return nr < 1 ? 1 : nr > 256 ? 256 : (unsigned)nr;
}

static void append_done(struct io_ctx *ctx, struct bd_work *work)
{
	struct bd_work **end = &ctx->done_work;

	while (*end)
		end = &(*end)->next;
	*end = work;
}

void io_work_submit(struct io_ctx *ctx, struct bd_work *work)
{
	ctx->nr_work++;
	if (!ctx->workers && io_pool_new(&work_kind, nr_cores(), &ctx->workers) < 0) {
		work->run(work);
		work->next = NULL;
		append_done(ctx, work);
		return;
	}
	io_pool_submit(ctx->workers, work);
}

void io_work_collect(struct io_ctx *ctx)
{
	struct bd_work *work = ctx->workers ? io_pool_collect(ctx->workers) : NULL;

	if (work)
		append_done(ctx, work);
}

int io_work_run_done(struct io_ctx *ctx)
{
	struct bd_work *work = ctx->done_work;
	int nr = 0;

	ctx->done_work = NULL;
	while (work) {
		struct bd_work *next = work->next;

		ctx->nr_work--;
		work->done(work);
		work = next;
		nr++;
	}
	return nr;
}
