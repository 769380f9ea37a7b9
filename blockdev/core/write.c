/* SPDX-License-Identifier: MIT */
/*
 * Writes: lock the range, plan, bring in the surroundings, write, publish; part by part.
 * The sequence knows no format; the write order that keeps data safe is plan/publish/flush's.
 */
#include <errno.h>
#include <stdlib.h>

#include "blockdev/base/bits.h"
#include "blockdev/base/iov.h"
#include "blockdev/core/request.h"
#include "blockdev/core/slow.h"

enum {
	ZERO_BYTES = 65536,
	ENCRYPT_MAX = 2 << 20, /* bytes of one part that is encrypted; at least a cluster */
};

static const uint8_t zeroes[ZERO_BYTES];

/* What two writes may not change at the same time; bytes, 0: nothing. */
static uint64_t lock_unit(const struct bd_node *node)
{
	if (!node->cluster_size && node->cipher)
		return BD_SECTOR;
	return node->cluster_size;
}

int bd_request_lock(struct request *req, uint64_t off, uint64_t len, bool exclusive)
{
	struct bd_node *node = req->pub.node;
	uint64_t cluster = lock_unit(node);
	uint64_t start = off, end = off + len;
	struct range_lock *other;

	if (!cluster) {
		req->part = len;
		return 1;
	}
	start = round_down(start, cluster);
	end = round_up(end, cluster);
	other = bd_range_conflict(&node->inflight, start, end, true);
	if (other && other->start <= start && (exclusive || other->exclusive)) {
		list_add_tail(&other->waiters, &req->wait.link);
		return 0;
	}
	/* Whoever else is there begins a part of its own: what is left is ours alone or shared. */
	req->plan.may_alloc = !other || other->start > start;
	if (other)
		end = other->start > start ? other->start : min_u64(end, other->end);
	req->part = min_u64(len, end - off);
	bd_range_take(&node->inflight, &req->range, start, end, exclusive);
	return 1;
}

/* The range must become ours alone: wait for the writes in place that are in flight there. */
static int lock_alone(struct request *req, uint64_t off)
{
	struct bd_node *node = req->pub.node;
	uint64_t start = round_down(off, node->cluster_size);
	struct range_lock *other;

	bd_range_release(&req->range, req->queue);
	other = bd_range_conflict(&node->inflight, start, start + node->cluster_size, true);
	if (other) {
		list_add_tail(&other->waiters, &req->wait.link);
		req->state = ST_LOCK;
		return 0;
	}
	req->state = ST_LOCK;
	return 1;
}

static int fail(struct request *req, int err)
{
	request_fail(req, err);
	req->state = ST_END;
	return 1;
}

static int begin(struct request *req)
{
	struct bd_node *node = req->pub.node;

	if (req->err)
		return fail(req, req->err);
	if (!node->fmt->write || node->corrupt)
		return fail(req, node->corrupt ? -ENOMEDIUM : -ENOTSUP);
	if (!node->wrote && node->fmt->write->first_write) {
		bd_slow_park(req);
		return 0;
	}
	req->state = ST_LOCK;
	return 1;
}

/* 1: planned; 0: parked; negative errno. */
static int call_plan(struct request *req, uint64_t off, uint64_t len)
{
	const struct bd_write_ops *ops = req->pub.node->fmt->write;
	bool may_alloc = req->plan.may_alloc;

	req->plan = (struct bd_plan){.guest_off = off, .len = len, .may_alloc = may_alloc};
	if (req->kind == REQ_COMPRESSED && req->packed_len)
		return ops->plan_compressed(req->pub.node, &req->plan,
					    (uint32_t)req->packed_len, &req->wait);
	return ops->plan(req->pub.node, &req->plan, &req->wait);
}

static int plan(struct request *req)
{
	struct bd_node *node = req->pub.node;
	uint64_t off = req->pub.off + req->pos;
	int ret;

	if (req->err)
		return fail(req, req->err);
	ret = call_plan(req, off, req->part);
	if (ret == 0)
		return 0;
	if (ret == -EBUSY && node->cluster_size)
		return lock_alone(req, off);
	if (ret == -EAGAIN) {
		bd_range_release(&req->range, req->queue);
		req->state = ST_LOCK;
		bd_slow_park(req);
		return 0;
	}
	if (ret < 0)
		return fail(req, ret);
	req->part = req->plan.len;
	if (node->cipher)
		bd_encrypted_widen(&req->plan);
	if (lock_unit(node)) {
		req->range.exclusive = req->range.exclusive || req->plan.publish;
		req->range.end = min_u64(req->range.end,
					 round_up(off + req->part, lock_unit(node)));
	}
	req->state = req->plan.head || req->plan.tail ? ST_COW : ST_DATA;
	return 1;
}

/* Start the readers of head and tail. */
static int cow_start(struct request *req)
{
	const struct bd_plan *p = &req->plan;
	size_t len = (size_t)p->head + p->tail;

	if (posix_memalign((void **)&req->cow, 4096, len ? len : 1)) {
		req->cow = NULL;
		return -ENOMEM;
	}
	req->cow_iov[0] = (struct iovec){req->cow, p->head};
	req->cow_iov[1] = (struct iovec){req->cow + p->head, p->tail};
	bd_reader_start(&req->reader[0], p->guest_off - p->head, p->head, &req->cow_iov[0], 1);
	bd_reader_start(&req->reader[1], p->guest_off + p->len, p->tail, &req->cow_iov[1], 1);
	req->pub.node->stats.cow_bytes += len;
	return 0;
}

static int give_up(struct request *req)
{
	if (req->plan.publish)
		req->pub.node->fmt->write->abort(req->pub.node, &req->plan);
	return fail(req, req->err);
}

static int cow(struct request *req)
{
	int ret = 0;

	if (!req->cow) {
		io_event(req->pub.node->file, "cow_read");
		ret = cow_start(req);
	}
	request_fail(req, ret);
	if (!req->err && (!bd_reader_step(req, &req->reader[0]) ||
			  !bd_reader_step(req, &req->reader[1])))
		return 0;
	if (req->ops)
		return 0;
	if (req->err)
		return give_up(req);
	req->state = ST_DATA;
	return 1;
}

/* Payload of the current part into @iov; number of vectors; NULL: how many at most. */
static int payload(struct request *req, struct iovec *iov)
{
	uint64_t len = req->part;
	int nr = 0;

	if (req->packed_len) {
		if (iov)
			*iov = (struct iovec){req->packed, req->packed_len};
		return 1;
	}
	if (!req->zero_part) {
		if (!iov)
			return req->pub.niov;
		return bd_iov_slice(req->pub.iov, req->pub.niov, req->pos, len, iov);
	}
	for (; len; nr++) {
		size_t n = (size_t)min_u64(len, ZERO_BYTES);

		if (iov)
			iov[nr] = (struct iovec){(void *)(uintptr_t)zeroes, n};
		len -= n;
	}
	return nr;
}

/* head, payload and tail as one vectored operation. */
static int fill_iov(struct request *req, struct req_op *rop)
{
	int ret = bd_req_op_room(rop, payload(req, NULL) + 2), at = 0;

	if (ret < 0)
		return ret;
	if (req->plan.head)
		rop->iov[at++] = req->cow_iov[0];
	at += payload(req, rop->iov + at);
	if (req->plan.tail)
		rop->iov[at++] = req->cow_iov[1];
	rop->op.niov = at;
	return 0;
}

/* The host moves the bytes.  1: it is about to. */
static int clone(struct request *req, struct req_op *rop)
{
	const struct bd_plan *p = &req->plan;

	if (p->head || p->tail || req->pub.node->cipher)
		return -ENOTSUP;
	rop->op.niov = 0;
	bd_req_op_submit(rop, IO_COPY, req->pub.node->data, p->host_off, p->len, 0);
	return 1;
}

static int data(struct request *req)
{
	const struct bd_plan *p = &req->plan;
	uint64_t len = p->head + (req->packed_len ? req->packed_len : p->len) + p->tail;
	struct req_op *rop = bd_req_op_get(req);
	int ret;

	if (!rop)
		return 0;
	io_event(req->pub.node->file, "write_aio");
	if (p->head || p->tail)
		io_event(req->pub.node->file, "cow_write");
	req->state = ST_PUBLISH;
	ret = req->clone ? clone(req, rop) : fill_iov(req, rop);
	if (ret > 0)
		return 0;
	if (ret == 0 && req->pub.node->cipher && !req->packed_len)
		ret = bd_encrypted_write(req, rop, p->host_off - p->head, len);
	else if (ret == 0)
		bd_req_op_submit(rop, IO_WRITE, req->pub.node->data, p->host_off - p->head, len,
				 0);
	if (ret == 0)
		return 0;
	bd_req_op_put(rop);
	request_fail(req, ret);
	return give_up(req);
}

static int publish(struct request *req)
{
	struct bd_node *node = req->pub.node;
	int ret = 1;

	if (req->ops)
		return 0;
	if (req->err)
		return give_up(req);
	if (req->plan.publish)
		ret = node->fmt->write->publish(node, &req->plan, &req->wait);
	if (ret == 0)
		return 0;
	if (ret < 0) {
		request_fail(req, ret);
		return give_up(req);
	}
	bd_range_release(&req->range, req->queue);
	free(req->cow);
	req->cow = NULL;
	req->pos += req->part;
	req->plan = (struct bd_plan){0};
	req->state = ST_LOCK;
	if (req->pos < req->pub.len)
		return 1;
	req->state = ST_END;
	if (req->pub.flags & BD_REQ_FUA || node->flags & BD_O_WRITETHROUGH)
		req->state = ST_FLUSH;
	return 1;
}

/*
 * The next part.  Encrypted ones are not too large, end where a cluster ends, and change whole
 * sectors: if part of one stays as it is, nobody else may write it meanwhile.
 */
static int lock_part(struct request *req)
{
	struct bd_node *node = req->pub.node;
	uint64_t off = req->pub.off + req->pos, len = req->pub.len - req->pos;
	bool exclusive = false;
	int ret;

	if (node->cipher) {
		len = min_u64(len, round_down(off + ENCRYPT_MAX, lock_unit(node)) - off);
		exclusive = (off | len) % BD_SECTOR != 0;
	}
	ret = bd_request_lock(req, off, len, exclusive);
	if (ret)
		req->state = ST_PLAN;
	return ret;
}

int bd_write_state(struct request *req)
{
	switch (req->state) {
	case ST_BEGIN:
		return begin(req);
	case ST_LOCK:
		if (req->err)
			return fail(req, req->err);
		if (req->kind == REQ_COMPRESSED && !bd_compressed_plan(req))
			return 0;
		return lock_part(req);
	case ST_PLAN:
		return plan(req);
	case ST_COW:
		return cow(req);
	case ST_DATA:
		return data(req);
	case ST_PUBLISH:
		return publish(req);
	case ST_END:
		return 1;
	default:
		return bd_flush_state(req);
	}
}
