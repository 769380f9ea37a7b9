/* SPDX-License-Identifier: MIT */
/*
 * Host operations, the engines that carry them out, and the context that drives one engine.
 *
 * An operation names a struct io_file.  io_op_submit() hands it to that file's driver: a local file
 * queues it on the context's engine, a filter may hold, change or forward it.  Whatever happens,
 * op->done() runs later, from io_ctx_poll(), never from inside io_op_submit().
 */
#ifndef IO_ENGINE_H
#define IO_ENGINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "blockdev/base/list.h"
#include "blockdev/include/blockdev.h"
#include "blockdev/include/error.h"

struct io_file;
struct io_ctx;
struct io_engine;

enum io_kind {
	IO_READ,    /* past the end of the file: zeros, unless IO_META */
	IO_WRITE,
	IO_FLUSH,
	IO_ZERO,    /* make off..off+len read as zeros; IO_UNMAP: give the space back */
	IO_DISCARD, /* a hint */
	IO_RESERVE, /* host space for off..off+len, the file's length kept; a hint that may fail */
	IO_COPY,    /* bytes of op->src, by the host; an error: it cannot, or not these */
	IO_POLL,    /* completes once op->fd is readable (eventfd, socket, timerfd) */
};

enum {
	IO_FUA = 1,
	IO_META = 4,        /* metadata: a read past the end of the file is -EIO */
	IO_UNMAP = 8,       /* IO_ZERO may punch a hole */
	IO_NO_FALLBACK = 16 /* IO_ZERO: -ENOTSUP rather than writing zero bytes */
};

/* One host operation.  The caller's memory until done(). */
struct io_op {
	enum io_kind kind;
	unsigned flags;              /* IO_* */
	struct io_file *file;
	uint64_t off, len;           /* bytes in the file; len = sum of iov for READ and WRITE */
	struct io_file *src;         /* IO_COPY only: where the bytes are, from @src_off on */
	uint64_t src_off;
	struct iovec *iov;           /* not changed; must live until done() */
	int niov;
	int fd;                      /* IO_POLL only */
	int res;                     /* out: 0 or negative errno; short transfers are repaired */
	void (*done)(struct io_op *op);
	void *user;                  /* the caller's */

	/* the io layer's while queued */
	struct link link;
	uint64_t progress;           /* bytes already transferred */
	struct iovec tail_iov;       /* cursor of a partly transferred vector */
	int skip;                    /* full vectors already transferred */
	void *bounce;                /* aligned buffer, when the caller's is not */
	int64_t raw;                 /* engine's result: bytes or negative errno */
	unsigned tries;
	uint8_t phase;               /* op.c: which host operation of several is next */
	struct link range;           /* align.c: writes in flight of a file that needs alignment */
};

enum {
	IO_CAP_DIRECT_ONLY = 1, /* works on O_DIRECT files only (libaio) */
	IO_CAP_POLL = 2,        /* carries out IO_POLL itself */
	IO_CAP_ZERO = 4,        /* carries out IO_ZERO, IO_DISCARD and IO_RESERVE itself */
};

/*
 * One way of carrying out operations on file descriptors.
 * The engine sets op->raw and puts finished operations on a list; it never calls done().
 */
struct io_engine_ops {
	const char *name;   /* "io_uring", "native", "threads", "sync", "mmap", "null" */
	unsigned caps;      /* IO_CAP_* */
	/* @depth: operations in flight at most.  -ENOTSUP: not on this kernel. */
	int (*open)(unsigned depth, struct io_engine **out, struct bd_error *err);
	void (*close)(struct io_engine *engine);
	/* Take an operation without entering the kernel where possible.  -EAGAIN: full. */
	int (*queue)(struct io_engine *engine, struct io_op *op);
	/*
	 * Submit all that is queued, wait for at least @wait_min completions (at most @timeout_ns;
	 * UINT64_MAX: no limit), and append what has finished to @done.  Number or negative errno.
	 */
	int (*reap)(struct io_engine *engine, unsigned wait_min, uint64_t timeout_ns,
		    struct link *done);
	/*
	 * Optional, without IO_CAP_POLL: a descriptor that is readable when an operation has
	 * finished.  Without it reap() must finish all that is queued.
	 */
	int (*wait_fd)(const struct io_engine *engine);
	/* Optional: @file is about to be closed or changed in size; forget what is kept of it. */
	void (*forget)(struct io_engine *engine, struct io_file *file);
	/* Optional: kernel entries so far. */
	uint64_t (*syscalls)(const struct io_engine *engine);
};

extern const struct io_engine_ops *const io_engines[]; /* in order of preference; NULL-terminated */

/* Called once after a time; for delay, throttle and cache clean-up. */
struct io_timer {
	struct link link;            /* the context's */
	uint64_t when_ns;            /* io_ctx_now() time */
	void (*fire)(struct io_timer *timer);
	void *user;
};

/*
 * The io half of a queue.  @engine as for bd_queue_new().  The context owns its engine, its worker
 * threads (started on first use, 256 KiB stacks, at most one per core and never more than work for
 * them; fewer if the system refuses), its timers and an overflow list for a full engine.
 */
int io_ctx_new(const char *engine, unsigned depth, struct io_ctx **out, struct bd_error *err);
void io_ctx_free(struct io_ctx *ctx);
void io_op_submit(struct io_op *op);
/* Submit @op of kind IO_POLL, which belongs to no file. */
void io_poll_submit(struct io_ctx *ctx, struct io_op *op);
/*
 * One turn: submit what is queued, collect, run timers and done() callbacks.
 * @wait: sleep until something completes, if anything (operation, work, timer) is pending.
 * Returns the number of callbacks run, or a negative errno.
 */
int io_ctx_poll(struct io_ctx *ctx, bool wait);
/* Finish @op with @res at the next turn without going to the kernel. */
void io_ctx_complete(struct io_ctx *ctx, struct io_op *op, int res);
/* For local files: hand an operation to the engine (@op->file->fd). */
void io_ctx_queue(struct io_ctx *ctx, struct io_op *op);
/* Operations, work and timers that have not completed. */
unsigned io_ctx_pending(const struct io_ctx *ctx);
const char *io_ctx_engine_name(const struct io_ctx *ctx);
void io_ctx_counters(const struct io_ctx *ctx, uint64_t *syscalls, uint64_t *ops);

uint64_t io_ctx_now(const struct io_ctx *ctx); /* monotonic ns, or the simulated clock */
/* Tests only: from now on time stands still and jumps to the next timer when nothing else runs. */
void io_ctx_simulate_clock(struct io_ctx *ctx);
void io_timer_add(struct io_ctx *ctx, struct io_timer *timer, uint64_t when_ns);
void io_timer_cancel(struct io_timer *timer); /* fine if not pending; link must be initialised */
void io_work_submit(struct io_ctx *ctx, struct bd_work *work);

#endif
