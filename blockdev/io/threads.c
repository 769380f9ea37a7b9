/* SPDX-License-Identifier: MIT */
/* A pool of threads that make plain system calls. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "blockdev/io/engines.h"
#include "blockdev/io/op_pool.h"

/* More threads than that do not make a disk faster. */
#define MAX_THREADS 16

struct io_engine {
	struct io_pool *pool;
	unsigned depth, inflight;
	uint64_t syscalls;
};

static int threads_open(unsigned depth, struct io_engine **out, struct bd_error *err)
{
	struct io_engine *engine = calloc(1, sizeof(*engine));
	int ret = engine ? 0 : -ENOMEM;

	*out = NULL;
	if (engine)
		ret = io_op_pool_new(depth < MAX_THREADS ? depth : MAX_THREADS, &engine->pool);
	if (ret < 0) {
		free(engine);
		return bd_fail_errno(err, ret, "Could not set up I/O threads");
	}
	engine->depth = depth;
	*out = engine;
	return 0;
}

static void threads_close(struct io_engine *engine)
{
	io_pool_free(engine->pool);
	free(engine);
}

static int threads_queue(struct io_engine *engine, struct io_op *op)
{
	if (engine->inflight >= engine->depth)
		return -EAGAIN;
	engine->inflight++;
	engine->syscalls++;
	io_pool_submit(engine->pool, op);
	return 0;
}

static int collect(struct io_engine *engine, struct link *done)
{
	unsigned nr = io_op_pool_collect(engine->pool, done);

	engine->inflight -= nr;
	return (int)nr;
}

static int threads_reap(struct io_engine *engine, unsigned wait_min, uint64_t timeout_ns,
			struct link *done)
{
	struct timespec ts = { .tv_sec = (time_t)(timeout_ns / 1000000000u),
			       .tv_nsec = (long)(timeout_ns % 1000000000u) };
	struct pollfd pfd = { .fd = io_pool_fd(engine->pool), .events = POLLIN };
	int nr = collect(engine, done);

	while ((unsigned)nr < wait_min && engine->inflight) {
		int ret = ppoll(&pfd, 1, timeout_ns == UINT64_MAX ? NULL : &ts, NULL);

		engine->syscalls++;
		if (ret <= 0)
			return nr || !ret || errno == EINTR ? nr : -errno;
		nr += collect(engine, done);
	}
	return nr;
}

static int threads_wait_fd(const struct io_engine *engine)
{
	return io_pool_fd(engine->pool);
}

static uint64_t threads_syscalls(const struct io_engine *engine)
{
	return engine->syscalls;
}

const struct io_engine_ops io_threads_engine = {
	.name = "threads",
	.caps = IO_CAP_ZERO,
	.open = threads_open,
	.close = threads_close,
	.queue = threads_queue,
	.reap = threads_reap,
	.wait_fd = threads_wait_fd,
	.syscalls = threads_syscalls,
};
