/* SPDX-License-Identifier: MIT */
/*
 * The kernel's older asynchronous calls ("native").  Only O_DIRECT transfers are truly
 * asynchronous there; everything else is carried out on the spot.
 */
#include "config.h"

#if CONFIG_AIO

#include <errno.h>
#include <libaio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "blockdev/io/engines.h"
#include "blockdev/io/file.h"
#include "blockdev/io/op.h"

struct io_engine {
	io_context_t aio;
	int fd;                 /* eventfd: completions */
	unsigned depth, inflight, queued;
	struct iocb **batch;    /* queued and not yet submitted */
	struct iocb *cbs, **spare;
	unsigned nr_spare;
	struct io_event *events;
	struct link finished;   /* carried out on the spot */
	unsigned nr_finished;
	uint64_t syscalls;
};

static void aio_close(struct io_engine *engine)
{
	if (engine->aio)
		io_destroy(engine->aio);
	if (engine->fd >= 0)
		close(engine->fd);
	free(engine->batch);
	free(engine->cbs);
	free(engine->spare);
	free(engine->events);
	free(engine);
}

static int set_up(struct io_engine *engine, unsigned depth)
{
	int ret;

	engine->depth = depth;
	engine->batch = calloc(depth, sizeof(*engine->batch));
	engine->cbs = calloc(depth, sizeof(*engine->cbs));
	engine->spare = calloc(depth, sizeof(*engine->spare));
	engine->events = calloc(depth, sizeof(*engine->events));
	if (!engine->batch || !engine->cbs || !engine->spare || !engine->events)
		return -ENOMEM;
	for (; engine->nr_spare < depth; engine->nr_spare++)
		engine->spare[engine->nr_spare] = &engine->cbs[engine->nr_spare];
	ret = io_setup((int)depth, &engine->aio);
	if (ret < 0)
		return ret;
	engine->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return engine->fd < 0 ? -errno : 0;
}

static int aio_open(unsigned depth, struct io_engine **out, struct bd_error *err)
{
	struct io_engine *engine = calloc(1, sizeof(*engine));
	int ret = -ENOMEM;

	*out = NULL;
	if (engine) {
		engine->fd = -1;
		list_init(&engine->finished);
		ret = set_up(engine, depth);
	}
	if (ret < 0) {
		if (engine)
			aio_close(engine);
		return bd_fail_errno(err, ret == -ENOSYS ? -ENOTSUP : ret,
				     "failed to create linux AIO context");
	}
	*out = engine;
	return 0;
}

static int aio_queue(struct io_engine *engine, struct io_op *op)
{
	struct io_step step;
	struct iocb *cb;

	io_op_step(op, &step);
	if ((step.verb != IO_STEP_READ && step.verb != IO_STEP_WRITE) ||
	    !(op->file->flags & BD_O_DIRECT)) {
		op->raw = io_step_run(&step);
		engine->syscalls++;
		engine->nr_finished++;
		list_add_tail(&engine->finished, &op->link);
		return 0;
	}
	if (!engine->nr_spare)
		return -EAGAIN;
	cb = engine->spare[--engine->nr_spare];
	if (step.verb == IO_STEP_READ)
		io_prep_preadv(cb, step.fd, step.iov, step.niov, (long long)step.off);
	else
		io_prep_pwritev(cb, step.fd, step.iov, step.niov, (long long)step.off);
	io_set_eventfd(cb, engine->fd);
	cb->data = op;
	engine->batch[engine->queued++] = cb;
	return 0;
}

/* The operation of @cb is over; its control block is free again. */
static void finish(struct io_engine *engine, struct iocb *cb, int64_t raw)
{
	struct io_op *op = cb->data;

	op->raw = raw;
	engine->spare[engine->nr_spare++] = cb;
	engine->nr_finished++;
	list_add_tail(&engine->finished, &op->link);
}

static void submit(struct io_engine *engine)
{
	while (engine->queued) {
		int ret = io_submit(engine->aio, (long)engine->queued, engine->batch);
		unsigned taken = ret > 0 ? (unsigned)ret : 0;

		engine->syscalls++;
		if (ret == -EINTR)
			continue;
		if (ret == -EAGAIN && engine->inflight)
			return; /* room comes with the next completion */
		engine->inflight += taken;
		if (ret <= 0) {
			/* The first of the batch is the one refused. */
			finish(engine, engine->batch[0], ret < 0 ? ret : -EIO);
			taken = 1;
		}
		engine->queued -= taken;
		memmove(engine->batch, engine->batch + taken,
			engine->queued * sizeof(*engine->batch));
	}
}

static int aio_reap(struct io_engine *engine, unsigned wait_min, uint64_t timeout_ns,
		    struct link *done)
{
	struct timespec ts = { .tv_sec = (time_t)(timeout_ns / 1000000000u),
			       .tv_nsec = (long)(timeout_ns % 1000000000u) };
	uint64_t count;
	int nr = 0;

	submit(engine);
	if (engine->inflight) {
		bool wait = wait_min && !engine->nr_finished;

		if (!wait)
			ts = (struct timespec){0};
		nr = io_getevents(engine->aio, wait, (long)engine->depth, engine->events,
				  wait && timeout_ns == UINT64_MAX ? NULL : &ts);
		engine->syscalls++;
		if (nr > 0 && read(engine->fd, &count, sizeof(count)) < 0)
			count = 0;
	}
	for (int i = 0; i < nr; i++)
		finish(engine, engine->events[i].obj, (int64_t)engine->events[i].res);
	if (nr > 0)
		engine->inflight -= (unsigned)nr;
	submit(engine);
	if (nr < 0 && nr != -EINTR && !engine->nr_finished)
		return nr;
	nr = (int)engine->nr_finished;
	engine->nr_finished = 0;
	list_splice_tail(done, &engine->finished);
	return nr;
}

static int aio_wait_fd(const struct io_engine *engine)
{
	return engine->fd;
}

static uint64_t aio_syscalls(const struct io_engine *engine)
{
	return engine->syscalls;
}

const struct io_engine_ops io_aio_engine = {
	.name = "native",
	.caps = IO_CAP_DIRECT_ONLY | IO_CAP_ZERO,
	.open = aio_open,
	.close = aio_close,
	.queue = aio_queue,
	.reap = aio_reap,
	.wait_fd = aio_wait_fd,
	.syscalls = aio_syscalls,
};

#endif
