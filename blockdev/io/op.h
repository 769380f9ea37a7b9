/* SPDX-License-Identifier: MIT */
/*
 * What all engines share about an operation: it is a sequence of host operations ("steps"), and
 * op.c decides after each one what comes next.  An engine takes the step, carries it out, stores
 * the kernel's answer in op->raw.
 */
#ifndef IO_OP_H
#define IO_OP_H

#include "blockdev/io/engine.h"

/* No engine need transfer more at once: the kernel's own limit, 2 GiB - 4 KiB. */
#define IO_MAX_TRANSFER 0x7ffff000u

enum io_verb {
	IO_STEP_READ,
	IO_STEP_WRITE,
	IO_STEP_SYNC,  /* fdatasync */
	IO_STEP_FALLOC,
	IO_STEP_COPY,  /* copy_file_range */
	IO_STEP_POLL,
};

/* One host operation; valid until the operation is finished or continued. */
struct io_step {
	enum io_verb verb;
	int fd;
	int mode;                /* FALLOC_FL_* */
	int src_fd;              /* IO_STEP_COPY */
	uint64_t src_off;
	uint64_t off, len;       /* bytes */
	const struct iovec *iov;
	int niov;                /* <= IOV_MAX */
	bool reserve;            /* IO_STEP_WRITE: allocate space first */
	bool async;              /* would or may block: carry it out on another core */
};

/*
 * Prepare a new operation of a local file.  True: nothing to do for an engine, op->res is set.
 */
bool io_op_start(struct io_op *op);
/* The next host operation of @op. */
void io_op_step(struct io_op *op, struct io_step *step);
/* Look at op->raw.  True: finished, op->res is set; false: queue it again for its next step. */
bool io_op_finish(struct io_op *op);
/* Carry out a step with plain system calls: bytes or a negative errno. */
int64_t io_step_run(const struct io_step *step);

#endif
