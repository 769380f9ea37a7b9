/* SPDX-License-Identifier: MIT */
/*
 * From operations to host operations, once for all engines: short transfers, interrupted calls,
 * end of file, full disks, and the ladder of ways to make a range zero.
 */
#include "blockdev/io/op.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blockdev/base/bits.h"
#include "blockdev/base/iov.h"
#include "blockdev/io/file.h"

/* Order of a ZERO operation's attempts: each phase follows the refusal of the one before. */
enum phase {
	PHASE_TRANSFER,   /* READ, WRITE */
	PHASE_DISCARD,
	PHASE_RESERVE,
	PHASE_PUNCH,      /* IO_UNMAP: zeros and no space */
	PHASE_ZERO_RANGE, /* zeros, space kept */
	PHASE_REPUNCH,    /* where only holes are known: a hole ... */
	PHASE_FILL,       /* ... and space for it */
	PHASE_WRITE_ZERO, /* zero bytes */
	PHASE_SYNC,
	PHASE_POLL,
};

#define ZEROS_LEN (1u << 16)
static const uint8_t zeros[ZEROS_LEN] __attribute__((aligned(4096)));

#define MAX_TRIES 1000
#define RESERVE_LEAST (256u << 10) /* bytes */

static bool finish_with(struct io_op *op, int res)
{
	op->res = res;
	return true;
}

static uint64_t file_length(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : UINT64_MAX;
}

/* The first rung of the ladder at or after @phase that this file has not refused before. */
static enum phase zero_phase(const struct io_op *op, enum phase phase)
{
	const struct io_file *file = op->file;

	if (phase == PHASE_PUNCH &&
	    (!(op->flags & IO_UNMAP) || file->no_punch ||
	     /* A hole behind the end would leave the file too short. */
	     op->off + op->len > file_length(file->fd)))
		phase = PHASE_ZERO_RANGE;
	if (phase == PHASE_ZERO_RANGE && file->no_zero_range)
		phase = PHASE_REPUNCH;
	if (phase == PHASE_REPUNCH && file->no_punch)
		phase = PHASE_WRITE_ZERO;
	return phase;
}

static bool sync_needed(const struct io_op *op)
{
	return !(op->file->flags & BD_O_NO_FLUSH);
}

bool io_op_start(struct io_op *op)
{
	struct io_file *file = op->file;
	uint64_t end;

	op->tail_iov.iov_len = 0;
	if (op->kind == IO_POLL) {
		op->phase = PHASE_POLL;
		return false;
	}
	if (op->kind == IO_FLUSH) {
		op->phase = PHASE_SYNC;
		if (sync_needed(op) && !file->broken)
			return false;
		return finish_with(op, file->broken ? -EIO : 0);
	}
	if (!checked_add(op->off, op->len, &end) || end > INT64_MAX)
		return finish_with(op, -EINVAL);
	if (!op->len)
		return finish_with(op, 0);
	if (op->kind == IO_ZERO) {
		op->phase = zero_phase(op, PHASE_PUNCH);
		if (op->phase == PHASE_WRITE_ZERO && (op->flags & IO_NO_FALLBACK))
			return finish_with(op, -ENOTSUP);
	} else if (op->kind == IO_DISCARD) {
		op->phase = PHASE_DISCARD;
		if (file->no_punch)
			return finish_with(op, 0);
	} else if (op->kind == IO_RESERVE) {
		op->phase = PHASE_RESERVE;
		if (file->no_reserve)
			return finish_with(op, -ENOTSUP);
	} else {
		op->phase = PHASE_TRANSFER;
	}
	/* Filters have no descriptor: what they do must not be passed by. */
	if (op->kind == IO_COPY && (file->fd < 0 || op->src->fd < 0))
		return finish_with(op, -ENOTSUP);
	return false;
}

/* --- transfers --------------------------------------------------------------------------- */

/* Put the cursor at op->progress: a piece of a vector in tail_iov, or whole ones from skip on. */
static void seek_iov(struct io_op *op)
{
	uint64_t left = op->progress;
	int i = 0;

	while (i < op->niov && left >= op->iov[i].iov_len)
		left -= op->iov[i++].iov_len;
	op->skip = i;
	op->tail_iov.iov_len = 0;
	if (!left)
		return;
	op->tail_iov.iov_base = (char *)op->iov[i].iov_base + left;
	op->tail_iov.iov_len = op->iov[i].iov_len - (size_t)left;
	op->skip++;
}

/*
 * ext4 writes to pages of allocated space in two thirds of the time that it takes to account for
 * space to be allocated later.  Where that fails, the write itself tells why.
 */
static bool reserve_pays(const struct io_op *op)
{
	return op->kind == IO_WRITE && op->file->reserve_first && op->len >= RESERVE_LEAST &&
	       !op->progress;
}

static void transfer_step(struct io_op *op, struct io_step *step)
{
	step->verb = op->kind == IO_READ ? IO_STEP_READ : IO_STEP_WRITE;
	step->off = op->off + op->progress;
	step->len = op->len - op->progress;
	step->reserve = reserve_pays(op);
	if (op->kind == IO_COPY) {
		step->verb = IO_STEP_COPY;
		step->src_fd = op->src->fd;
		step->src_off = op->src_off + op->progress;
		step->len = min_u64(step->len, IO_MAX_TRANSFER);
		return;
	}
	if (op->phase == PHASE_WRITE_ZERO) {
		step->verb = IO_STEP_WRITE;
		op->tail_iov.iov_base = (void *)zeros;
		op->tail_iov.iov_len = (size_t)min_u64(step->len, ZEROS_LEN);
	}
	if (op->tail_iov.iov_len) {
		step->len = op->tail_iov.iov_len;
		step->iov = &op->tail_iov;
		step->niov = 1;
		return;
	}
	step->iov = op->iov + op->skip;
	step->niov = op->niov - op->skip;
	if (step->niov > IOV_MAX) {
		step->niov = IOV_MAX;
		step->len = bd_iov_total(step->iov, IOV_MAX);
	}
}

void io_op_step(struct io_op *op, struct io_step *step)
{
	static const int modes[] = {
		[PHASE_DISCARD] = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		[PHASE_RESERVE] = FALLOC_FL_KEEP_SIZE,
		[PHASE_PUNCH] = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		[PHASE_REPUNCH] = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		[PHASE_ZERO_RANGE] = FALLOC_FL_ZERO_RANGE,
		[PHASE_FILL] = 0,
	};

	*step = (struct io_step){ .async = op->tries };
	if (op->phase == PHASE_POLL) {
		step->verb = IO_STEP_POLL;
		step->fd = op->fd;
		return;
	}
	step->fd = op->file->fd;
	switch (op->phase) {
	case PHASE_TRANSFER:
	case PHASE_WRITE_ZERO:
		transfer_step(op, step);
		break;
	case PHASE_SYNC:
		step->verb = IO_STEP_SYNC;
		break;
	default:
		step->verb = IO_STEP_FALLOC;
		step->mode = modes[op->phase];
		step->off = op->off;
		step->len = op->len;
	}
}

/* All of it is done; a forced one still wants its flush. */
static bool finish_ok(struct io_op *op)
{
	if (op->phase != PHASE_SYNC && (op->flags & IO_FUA) && op->kind != IO_READ) {
		if (op->file->broken)
			return finish_with(op, -EIO);
		op->phase = PHASE_SYNC;
		return !sync_needed(op) && finish_with(op, 0);
	}
	return finish_with(op, 0);
}

static bool finish_eof(struct io_op *op)
{
	if (op->flags & IO_META)
		return finish_with(op, -EIO);
	bd_iov_memset(op->iov, op->niov, op->progress, 0, op->len - op->progress);
	return finish_with(op, 0);
}

/*
 * O_DIRECT transfers must go on at an aligned place.  A short read ends at the end of the file
 * or is repeated from the last aligned byte.
 */
static bool realign(struct io_op *op, bool *eof)
{
	uint32_t align = op->file->request_align;
	uint64_t odd = align > 1 && op->kind != IO_COPY ? (op->off + op->progress) % align : 0;

	*eof = false;
	if (!odd || op->progress == op->len)
		return true;
	if (op->kind == IO_READ && op->off + op->progress >= file_length(op->file->fd)) {
		*eof = true;
		return true;
	}
	op->progress -= min_u64(odd, op->progress);
	return ++op->tries < MAX_TRIES;
}

static bool finish_transfer(struct io_op *op)
{
	bool eof;

	if (op->raw < 0)
		return finish_with(op, (int)op->raw);
	if (op->raw == 0 && op->kind == IO_READ)
		return finish_eof(op);
	if (op->raw == 0)
		return finish_with(op, op->kind == IO_COPY ? -EIO : -ENOSPC);
	op->progress += (uint64_t)op->raw;
	if (op->progress > op->len)
		return finish_with(op, -EIO);
	if (!realign(op, &eof))
		return finish_with(op, -EIO);
	if (eof)
		return finish_eof(op);
	if (op->progress == op->len)
		return finish_ok(op);
	if (op->phase == PHASE_TRANSFER && op->kind != IO_COPY)
		seek_iov(op);
	return false;
}

/* --- zero and discard -------------------------------------------------------------------- */

/* The host cannot do it, or not for this range: there is another way. */
static bool refused(int64_t raw)
{
	return raw == -EOPNOTSUPP || raw == -ENOSYS || raw == -ENOTTY || raw == -ENODEV ||
	       raw == -EINVAL || raw == -EBUSY || raw == -ESPIPE;
}

static bool finish_zero(struct io_op *op)
{
	struct io_file *file = op->file;
	bool never = op->raw == -EOPNOTSUPP || op->raw == -ENOSYS;

	if (op->raw >= 0 && op->phase == PHASE_REPUNCH) {
		op->phase = PHASE_FILL;
		return false;
	}
	if (op->raw >= 0)
		return finish_ok(op);
	if (!refused(op->raw))
		return finish_with(op, (int)op->raw);
	if (never && op->phase == PHASE_ZERO_RANGE)
		file->no_zero_range = true;
	if (never && (op->phase == PHASE_PUNCH || op->phase == PHASE_REPUNCH)) {
		file->no_punch = true;
		file->can_unmap = false;
	}
	if (op->phase == PHASE_PUNCH || op->phase == PHASE_ZERO_RANGE)
		op->phase = zero_phase(op, op->phase + 1);
	else
		op->phase = PHASE_WRITE_ZERO;
	if (op->phase != PHASE_WRITE_ZERO)
		return false;
	if (never)
		file->can_zero = false;
	return (op->flags & IO_NO_FALLBACK) && finish_with(op, -ENOTSUP);
}

static bool finish_discard(struct io_op *op)
{
	if (op->raw >= 0)
		return finish_ok(op);
	if (op->raw == -EOPNOTSUPP) {
		op->file->no_punch = true;
		op->file->can_unmap = false;
	}
	/* A hint: what the host cannot do is no failure. */
	return finish_with(op, refused(op->raw) ? 0 : (int)op->raw);
}

bool io_op_finish(struct io_op *op)
{
	if (op->raw == -EINTR || op->raw == -EAGAIN) {
		if (op->raw == -EINTR || ++op->tries < MAX_TRIES)
			return false;
		op->raw = -EIO;
	}
	switch (op->phase) {
	case PHASE_TRANSFER:
	case PHASE_WRITE_ZERO:
		return finish_transfer(op);
	case PHASE_DISCARD:
		return finish_discard(op);
	case PHASE_SYNC:
		/* The kernel has dropped the dirty pages: no later flush can mend that. */
		if (op->raw < 0)
			op->file->broken = true;
		return finish_with(op, op->raw < 0 ? (int)op->raw : 0);
	case PHASE_POLL:
	case PHASE_RESERVE:
		return finish_with(op, op->raw < 0 ? (int)op->raw : 0);
	default:
		return finish_zero(op);
	}
}

int64_t io_step_run(const struct io_step *step)
{
	off_t off = (off_t)step->off, from = (off_t)step->src_off;
	ssize_t ret = -1;

	switch (step->verb) {
	case IO_STEP_READ:
		ret = preadv(step->fd, step->iov, step->niov, off);
		break;
	case IO_STEP_WRITE:
		if (step->reserve && fallocate(step->fd, FALLOC_FL_KEEP_SIZE, off,
					       (off_t)step->len) < 0 && errno == EINTR)
			break;
		ret = pwritev(step->fd, step->iov, step->niov, off);
		break;
	case IO_STEP_SYNC:
		ret = fdatasync(step->fd);
		break;
	case IO_STEP_FALLOC:
		ret = fallocate(step->fd, step->mode, off, (off_t)step->len);
		break;
	case IO_STEP_COPY:
		ret = copy_file_range(step->src_fd, &from, step->fd, &off, step->len, 0);
		break;
	case IO_STEP_POLL:
		errno = EOPNOTSUPP;
		break;
	}
	return ret < 0 ? -errno : ret;
}
