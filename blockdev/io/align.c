/* SPDX-License-Identifier: MIT */
/*
 * Files that take only aligned or short requests (O_DIRECT, a filter with limits): anything else is
 * carried out in pieces through an aligned buffer, part of a block by reading the block first.
 * Such a read-modify-write holds its blocks against every other write of the file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/base/iov.h"
#include "blockdev/io/ctx.h"
#include "blockdev/io/file.h"

/* Bytes of a bounce buffer; more is done piece by piece. */
#define BOUNCE_MAX (1u << 20)

/* The execution of one unaligned operation; op->bounce while it runs. */
struct align_job {
	struct io_op sub;      /* the aligned operation now in flight */
	struct io_op *op;
	struct iovec vec;
	uint8_t *buf;
	size_t room;           /* bytes of buf */
	uint64_t len;          /* bytes of the caller's range now worked on */
	bool modify;           /* sub is the read of a read-modify-write */
};

static bool writes(const struct io_op *op)
{
	return op->kind == IO_WRITE || op->kind == IO_ZERO || op->kind == IO_DISCARD;
}

static uint64_t align_of(const struct io_op *op)
{
	return op->file->request_align > 1 ? op->file->request_align : 1;
}

static bool range_aligned(const struct io_op *op)
{
	return !((op->off | op->len) & (align_of(op) - 1));
}

static bool memory_aligned(const struct io_op *op)
{
	uint64_t align = op->file->buffer_align;

	if (op->kind != IO_READ && op->kind != IO_WRITE)
		return true;
	for (int i = 0; i < op->niov; i++) {
		if (align > 1 && ((uintptr_t)op->iov[i].iov_base & (align - 1)))
			return false;
		if (op->iov[i].iov_len & (align_of(op) - 1))
			return false;
	}
	return true;
}

/* --- order of writes --------------------------------------------------------------------- */

/* Two writes may not overlap in time if one of them reads what the other changes. */
static bool conflict(const struct io_op *a, const struct io_op *b)
{
	uint64_t align = align_of(a);

	if (!a->bounce && !b->bounce)
		return false;
	return round_down(a->off, align) < round_up(b->off + b->len, align) &&
	       round_down(b->off, align) < round_up(a->off + a->len, align);
}

static bool conflicts_with(const struct io_op *op, const struct link *list)
{
	for (const struct link *i = list->next; i != list; i = i->next)
		if (i == &op->range)
			return false; /* those behind it are younger */
		else if (conflict(op, container_of(i, struct io_op, range)))
			return true;
	return false;
}

static void job_step(struct align_job *job);

static void start(struct io_op *op)
{
	if (op->bounce)
		job_step(op->bounce);
	else
		op->file->ops->submit(op->file, op);
}

void io_align_done(struct io_op *op)
{
	struct io_file *file = op->file;
	struct link *i, *next;

	list_del(&op->range);
	for (i = file->held.next; i != &file->held; i = next) {
		struct io_op *held = container_of(i, struct io_op, range);

		next = i->next;
		if (conflicts_with(held, &file->writes) || conflicts_with(held, &file->held))
			continue;
		list_del(i);
		list_add_tail(&file->writes, i);
		start(held);
	}
}

/* --- pieces ------------------------------------------------------------------------------ */

static void job_end(struct align_job *job, int res)
{
	struct io_op *op = job->op;

	free(job->buf);
	free(job);
	op->bounce = NULL;
	io_ctx_complete(op->file->ctx, op, res);
}

static void piece_done(struct io_op *sub);

/* Hand an aligned operation on [off, off+len) to the file itself. */
static void submit_sub(struct align_job *job, enum io_kind kind, uint64_t off, uint64_t len)
{
	struct io_op *op = job->op;
	unsigned flags = op->flags;

	if (kind == IO_READ)
		flags &= ~(unsigned)IO_META; /* the end of the file was checked before */
	job->vec = (struct iovec){ job->buf, (size_t)len };
	job->sub = (struct io_op){ .kind = kind, .flags = flags, .file = op->file,
				   .off = off, .len = len, .iov = &job->vec, .niov = 1,
				   .done = piece_done, .user = job };
	list_init(&job->sub.link);
	list_init(&job->sub.range);
	op->file->ctx->nr_ops++;
	op->file->ops->submit(op->file, &job->sub);
}

static void read_piece(struct align_job *job, uint64_t abs, uint64_t end, uint64_t align)
{
	uint64_t lo = round_down(abs, align);

	end = min_u64(end, lo + job->room);
	job->len = end - abs;
	submit_sub(job, IO_READ, lo, round_up(end, align) - lo);
}

static void write_piece(struct align_job *job, uint64_t abs, uint64_t end, uint64_t align)
{
	struct io_op *op = job->op;
	uint64_t lo = round_down(abs, align);

	job->modify = lo != abs || end - abs < align;
	if (job->modify) {
		job->len = min_u64(end, lo + align) - abs;
		io_event(op->file, lo != abs ? "pwritev_rmw_head" : "pwritev_rmw_tail");
		submit_sub(job, IO_READ, lo, align);
		return;
	}
	job->len = round_down(end - abs, align);
	if (op->kind == IO_WRITE) {
		job->len = min_u64(job->len, job->room);
		bd_iov_to_buf(op->iov, op->niov, op->progress, job->buf, (size_t)job->len);
	}
	submit_sub(job, op->kind, abs, job->len);
}

static void discard_piece(struct align_job *job, uint64_t align)
{
	struct io_op *op = job->op;
	uint64_t lo = round_up(op->off, align), hi = round_down(op->off + op->len, align);

	job->len = op->len;
	if (lo >= hi)
		job_end(job, 0);
	else
		submit_sub(job, IO_DISCARD, lo, hi - lo);
}

static void job_step(struct align_job *job)
{
	struct io_op *op = job->op;
	uint64_t align = align_of(op), abs = op->off + op->progress, end = op->off + op->len;

	if (op->progress >= op->len)
		job_end(job, 0);
	else if (op->kind == IO_READ)
		read_piece(job, abs, end, align);
	else if (op->kind == IO_DISCARD)
		discard_piece(job, align);
	else
		write_piece(job, abs, end, align);
}

/* The block is in the buffer: put the caller's bytes in and write it back. */
static void write_back(struct align_job *job)
{
	struct io_op *op = job->op;
	uint64_t align = align_of(op), abs = op->off + op->progress;
	uint64_t lo = round_down(abs, align);
	uint8_t *at = job->buf + (abs - lo);

	job->modify = false;
	io_event(op->file, lo != abs ? "pwritev_rmw_after_head" : "pwritev_rmw_after_tail");
	if (op->kind == IO_ZERO)
		memset(at, 0, (size_t)job->len);
	else
		bd_iov_to_buf(op->iov, op->niov, op->progress, at, (size_t)job->len);
	submit_sub(job, IO_WRITE, lo, align);
}

static void piece_done(struct io_op *sub)
{
	struct align_job *job = sub->user;
	struct io_op *op = job->op;
	uint64_t odd = (op->off + op->progress) & (align_of(op) - 1);

	if (sub->res < 0) {
		job_end(job, sub->res);
		return;
	}
	if (job->modify) {
		write_back(job);
		return;
	}
	if (op->kind == IO_READ)
		bd_iov_from_buf(op->iov, op->niov, op->progress, job->buf + odd,
				(size_t)job->len);
	op->progress += job->len;
	job_step(job);
}

static struct align_job *job_new(struct io_op *op)
{
	uint64_t align = align_of(op), memory = max_u64(op->file->buffer_align, 512);
	uint64_t limit = op->file->max_transfer ? op->file->max_transfer : BOUNCE_MAX;
	uint64_t room = round_up(op->off + op->len, align) - round_down(op->off, align);
	struct align_job *job = calloc(1, sizeof(*job));
	void *buf;

	if (!job)
		return NULL;
	job->op = op;
	limit = max_u64(align, round_down(min_u64(limit, BOUNCE_MAX), align));
	if (op->kind == IO_ZERO || op->kind == IO_DISCARD)
		room = align;
	job->room = (size_t)min_u64(room, limit);
	if (posix_memalign(&buf, (size_t)max_u64(memory, align), job->room)) {
		free(job);
		return NULL;
	}
	job->buf = buf;
	return job;
}

/* Metadata must lie inside the file; a widened read would not notice. */
static bool past_end(const struct io_op *op)
{
	int64_t length;

	if (op->kind != IO_READ || !(op->flags & IO_META))
		return false;
	length = op->file->ops->length(op->file);
	return length < 0 || op->off + op->len > (uint64_t)length;
}

static bool too_long(const struct io_op *op)
{
	return op->file->max_transfer && op->len > op->file->max_transfer &&
	       (op->kind == IO_READ || op->kind == IO_WRITE);
}

bool io_align_submit(struct io_op *op)
{
	struct io_file *file = op->file;
	uint64_t end;

	if (op->kind == IO_FLUSH || op->kind == IO_POLL || op->kind == IO_RESERVE || !op->len)
		return false;
	if (!checked_add(op->off, op->len, &end) || end > INT64_MAX)
		return false; /* the driver refuses it */
	if (!range_aligned(op) || !memory_aligned(op) || too_long(op)) {
		op->bounce = past_end(op) ? NULL : job_new(op);
		if (!op->bounce) {
			io_ctx_complete(file->ctx, op, past_end(op) ? -EIO : -ENOMEM);
			return true;
		}
	}
	if (writes(op)) {
		if (conflicts_with(op, &file->writes) || conflicts_with(op, &file->held)) {
			list_add_tail(&file->held, &op->range);
			return true;
		}
		list_add_tail(&file->writes, &op->range);
	}
	if (!op->bounce)
		return false;
	job_step(op->bounce);
	return true;
}
