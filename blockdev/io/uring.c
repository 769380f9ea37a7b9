/* SPDX-License-Identifier: MIT */
/*
 * io_uring: a turn of the context is one system call for all that is queued and all that waits.
 *
 * Large transfers through the page cache are copies by the processor.  The ring makes them on the
 * submitting thread, or one by one on a kernel worker; threads of our own make them side by side.
 */
#include "config.h"

#if CONFIG_URING

#include <errno.h>
#include <liburing.h>
#include <poll.h>
#include <stdlib.h>

#include "blockdev/io/engines.h"
#include "blockdev/io/file.h"
#include "blockdev/io/op.h"
#include "blockdev/io/op_pool.h"

enum {
	BULK_READ = 128 << 10,  /* bytes from which on a buffered transfer is a thread's */
	BULK_WRITE = 64 << 10,
	BULK_THREADS = 16,
};

struct io_engine {
	struct io_uring ring;
	unsigned entries;   /* of the submission ring; in flight at most */
	unsigned inflight;
	unsigned queued;    /* filled entries the kernel has not seen */
	bool deferred;      /* completions appear only inside io_uring_enter() */
	struct io_pool *bulk; /* large buffered transfers; NULL: none yet */
	unsigned nr_bulk;   /* of them in flight; part of inflight */
	const struct io_op *own; /* a bulk read the ring has been given; NULL: none in flight */
	bool bulk_polled;   /* the ring watches the pool */
	uint64_t syscalls;
};

/* Kernels before 6.1 do not know the flags that make completions cheaper. */
static int ring_init(struct io_engine *engine)
{
	unsigned entries = engine->entries;
	int ret;

	ret = io_uring_queue_init(entries, &engine->ring,
				  IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
				  IORING_SETUP_TASKRUN_FLAG);
	engine->deferred = ret == 0;
	if (ret == -EINVAL)
		ret = io_uring_queue_init(entries, &engine->ring, IORING_SETUP_COOP_TASKRUN);
	if (ret == -EINVAL)
		ret = io_uring_queue_init(entries, &engine->ring, 0);
	return ret;
}

static int uring_open(unsigned depth, struct io_engine **out, struct bd_error *err)
{
	struct io_engine *engine = calloc(1, sizeof(*engine));
	int ret;

	*out = NULL;
	if (!engine)
		return bd_fail_errno(err, -ENOMEM, "Could not set up io_uring");
	for (engine->entries = 8; engine->entries < depth && engine->entries < 4096;)
		engine->entries *= 2;
	ret = ring_init(engine);
	/* Waiting with a timeout inside the one call, and reads at the end of the queue. */
	if (ret == 0 && !(engine->ring.features & IORING_FEAT_EXT_ARG)) {
		io_uring_queue_exit(&engine->ring);
		ret = -ENOSYS;
	}
	if (ret < 0) {
		free(engine);
		return bd_fail_errno(err, ret == -ENOMEM ? ret : -ENOTSUP,
				     "failed to init linux io_uring ring");
	}
	io_uring_register_ring_fd(&engine->ring);
	*out = engine;
	return 0;
}

static void uring_close(struct io_engine *engine)
{
	io_pool_free(engine->bulk);
	io_uring_queue_exit(&engine->ring);
	free(engine);
}

static void prep_transfer(struct io_uring_sqe *sqe, const struct io_step *step)
{
	const struct iovec *iov = step->iov;
	bool write = step->verb == IO_STEP_WRITE;
	unsigned len;

	if (step->niov != 1) {
		if (write)
			io_uring_prep_writev(sqe, step->fd, iov, (unsigned)step->niov, step->off);
		else
			io_uring_prep_readv(sqe, step->fd, iov, (unsigned)step->niov, step->off);
		return;
	}
	len = iov->iov_len < IO_MAX_TRANSFER ? (unsigned)iov->iov_len : IO_MAX_TRANSFER;
	if (write)
		io_uring_prep_write(sqe, step->fd, iov->iov_base, len, step->off);
	else
		io_uring_prep_read(sqe, step->fd, iov->iov_base, len, step->off);
}

static bool is_bulk(const struct io_op *op)
{
	uint64_t least = op->kind == IO_READ ? BULK_READ : BULK_WRITE;

	if (op->kind == IO_COPY)
		return true;
	if ((op->kind != IO_READ && op->kind != IO_WRITE) || op->file->flags & BD_O_DIRECT)
		return false;
	return op->len - op->progress >= least;
}

/* The ring watches the pool while that has work.  False: there is no room for that now. */
static bool watch_bulk(struct io_engine *engine)
{
	struct io_uring_sqe *sqe;

	if (engine->bulk_polled)
		return true;
	sqe = io_uring_get_sqe(&engine->ring);
	if (!sqe)
		return false;
	io_uring_prep_poll_add(sqe, io_pool_fd(engine->bulk), POLLIN);
	io_uring_sqe_set_data(sqe, engine);
	engine->bulk_polled = true;
	engine->queued++;
	return true;
}

/* Give @op to a thread.  False: the ring has to do it. */
static bool queue_bulk(struct io_engine *engine, struct io_op *op)
{
	if (!engine->bulk && io_op_pool_new(BULK_THREADS, &engine->bulk) < 0)
		return false;
	if (!watch_bulk(engine))
		return false;
	engine->inflight++;
	engine->nr_bulk++;
	engine->syscalls++;
	io_pool_submit(engine->bulk, op);
	return true;
}

/*
 * One read at a time may as well be copied by the submitting thread, which would wait otherwise:
 * if it is the only one that saves two changes of threads, else the threads do the others.
 */
static bool alone(const struct io_engine *engine, const struct io_op *op)
{
	return op->kind == IO_READ && !engine->own && !engine->nr_bulk;
}

static int uring_queue(struct io_engine *engine, struct io_op *op)
{
	bool bulk = is_bulk(op);
	struct io_uring_sqe *sqe;
	struct io_step step;

	if (engine->inflight >= engine->entries)
		return -EAGAIN;
	if (bulk && !alone(engine, op) && queue_bulk(engine, op))
		return 0;
	sqe = io_uring_get_sqe(&engine->ring);
	if (!sqe)
		return -EAGAIN;
	if (bulk && !engine->own)
		engine->own = op;
	io_op_step(op, &step);
	switch (step.verb) {
	case IO_STEP_READ:
	case IO_STEP_WRITE:
		prep_transfer(sqe, &step);
		break;
	case IO_STEP_SYNC:
		io_uring_prep_fsync(sqe, step.fd, IORING_FSYNC_DATASYNC);
		break;
	case IO_STEP_FALLOC:
		io_uring_prep_fallocate(sqe, step.fd, step.mode, (off_t)step.off,
					(off_t)step.len);
		break;
	case IO_STEP_COPY: /* without threads: nothing is copied, which is an error */
		io_uring_prep_nop(sqe);
		break;
	case IO_STEP_POLL:
		io_uring_prep_poll_add(sqe, step.fd, POLLIN);
		break;
	}
	if (step.async)
		io_uring_sqe_set_flags(sqe, IOSQE_ASYNC);
	io_uring_sqe_set_data(sqe, op);
	engine->inflight++;
	engine->queued++;
	return 0;
}

static int collect(struct io_engine *engine, struct link *done)
{
	struct io_uring_cqe *cqe;
	unsigned head, nr = 0, seen = 0;

	io_uring_for_each_cqe(&engine->ring, head, cqe) {
		struct io_op *op = io_uring_cqe_get_data(cqe);

		seen++;
		if ((void *)op == engine) {
			engine->bulk_polled = false;
			continue;
		}
		if (op == engine->own)
			engine->own = NULL;
		op->raw = cqe->res;
		list_add_tail(done, &op->link);
		nr++;
	}
	io_uring_cq_advance(&engine->ring, seen);
	if (engine->nr_bulk) {
		unsigned bulk = io_op_pool_collect(engine->bulk, done);

		engine->nr_bulk -= bulk;
		nr += bulk;
	}
	engine->inflight -= nr;
	return (int)nr;
}

/* The kernel keeps completions back until it is entered: so it says whether it does. */
static bool held_back(const struct io_engine *engine)
{
	unsigned flags = __atomic_load_n(engine->ring.sq.kflags, __ATOMIC_ACQUIRE);

	return engine->deferred && (flags & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW));
}

/* The one system call of a turn. */
static int enter(struct io_engine *engine, unsigned wait_min, uint64_t timeout_ns)
{
	struct __kernel_timespec ts = { .tv_sec = (long long)(timeout_ns / 1000000000u),
					.tv_nsec = (long long)(timeout_ns % 1000000000u) };
	struct io_uring_cqe *cqe;
	int ret;

	engine->syscalls++;
	if (wait_min)
		ret = io_uring_submit_and_wait_timeout(&engine->ring, &cqe, wait_min,
						       timeout_ns == UINT64_MAX ? NULL : &ts,
						       NULL);
	else if (engine->deferred)
		ret = io_uring_submit_and_get_events(&engine->ring);
	else
		ret = io_uring_submit(&engine->ring);
	engine->queued = io_uring_sq_ready(&engine->ring);
	if (ret == -ETIME || ret == -EINTR || ret == -EAGAIN || ret == -EBUSY)
		return 0;
	return ret < 0 ? ret : 0;
}

static int uring_reap(struct io_engine *engine, unsigned wait_min, uint64_t timeout_ns,
		      struct link *done)
{
	int nr = 0, ret;

	if (!engine->inflight)
		return 0;
	/* What has come in meanwhile needs no waiting. */
	if (!engine->queued)
		nr = collect(engine, done);
	if (nr && (unsigned)nr >= wait_min)
		return nr;
	if (engine->nr_bulk)
		watch_bulk(engine);
	if (engine->queued || wait_min || held_back(engine)) {
		ret = enter(engine, wait_min, timeout_ns);
		if (ret < 0)
			return nr ? nr : ret;
	}
	return nr + collect(engine, done);
}

static uint64_t uring_syscalls(const struct io_engine *engine)
{
	return engine->syscalls;
}

const struct io_engine_ops io_uring_engine = {
	.name = "io_uring",
	.caps = IO_CAP_POLL | IO_CAP_ZERO,
	.open = uring_open,
	.close = uring_close,
	.queue = uring_queue,
	.reap = uring_reap,
	.syscalls = uring_syscalls,
};

#endif
