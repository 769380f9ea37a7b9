/* SPDX-License-Identifier: MIT */
/* Write-zeroes, discard, flush: by the format's metadata, else the host file, else by bytes. */
#include <errno.h>

#include "blockdev/base/bits.h"
#include "blockdev/core/request.h"
#include "blockdev/core/slow.h"

enum { LOCK_MAX = 1 << 30 };

static int end(struct request *req, int err)
{
	request_fail(req, err);
	req->state = ST_END;
	return 1;
}

static int begin(struct request *req)
{
	struct bd_node *node = req->pub.node;

	if (req->err || (req->kind == REQ_DISCARD && !(node->flags & BD_O_UNMAP)))
		return end(req, 0);
	if (!node->fmt->write || node->corrupt)
		return end(req, node->corrupt ? -ENOMEDIUM : -ENOTSUP);
	if (!node->wrote && node->fmt->write->first_write) {
		bd_slow_park(req);
		return 0;
	}
	req->state = ST_LOCK;
	return 1;
}

/* After a part: the next one, or the end. */
static int advance(struct request *req)
{
	struct bd_node *node = req->pub.node;

	bd_range_release(&req->range, req->queue);
	req->state = ST_LOCK;
	if (req->pos < req->pub.len)
		return 1;
	req->state = ST_END;
	if (req->kind == REQ_ZERO &&
	    (req->pub.flags & BD_REQ_FUA || node->flags & BD_O_WRITETHROUGH))
		req->state = ST_FLUSH;
	return 1;
}

/* The format has no metadata for it: the host file does it. */
static int by_host(struct request *req)
{
	struct bd_node *node = req->pub.node;
	struct bd_plan plan = {.guest_off = req->pub.off + req->pos, .len = req->part,
			       .may_alloc = true};
	bool zero = req->kind == REQ_ZERO;
	unsigned flags = 0;
	struct req_op *rop;

	if (!zero && !(node->flags & BD_O_UNMAP && node->data->can_unmap)) {
		req->pos += req->part;
		return advance(req);
	}
	if (node->fmt->write->plan(node, &plan, &req->wait) != 1)
		return end(req, -EIO);
	rop = bd_req_op_get(req);
	if (!rop)
		return 0;
	if (zero && req->pub.flags & BD_REQ_UNMAP && node->flags & BD_O_UNMAP)
		flags |= IO_UNMAP;
	if (zero && req->pub.flags & BD_REQ_NO_FALLBACK)
		flags |= IO_NO_FALLBACK;
	rop->op.niov = 0;
	req->state = ST_DATA;
	bd_req_op_submit(rop, zero ? IO_ZERO : IO_DISCARD, node->data, plan.host_off, plan.len,
			 flags);
	req->part = plan.len;
	return 0;
}

static int host_done(struct request *req)
{
	if (req->ops)
		return 0;
	if (req->err && req->kind == REQ_ZERO)
		return end(req, 0);
	req->err = 0;
	req->pos += req->part;
	return advance(req);
}

/* Zeros that the format only notes must be in a raw data file too, and first. */
static int mirror(struct request *req)
{
	struct bd_node *node = req->pub.node;
	uint64_t off = req->pub.off + req->pos, end = off + req->part;
	struct req_op *rop;
	unsigned flags;

	if (req->kind == REQ_DISCARD) {
		/* The format drops whole clusters only. */
		off = round_up(off, node->cluster_size);
		end = end == node->size ? end : round_down(end, node->cluster_size);
	}
	req->state = ST_STEP;
	if (!node->data_is_raw || off >= end)
		return 1;
	rop = bd_req_op_get(req);
	if (!rop) {
		req->state = ST_MIRROR;
		return 0;
	}
	flags = req->kind == REQ_DISCARD || req->pub.flags & BD_REQ_UNMAP ? IO_UNMAP : 0;
	if (req->pub.flags & BD_REQ_NO_FALLBACK)
		flags |= IO_NO_FALLBACK;
	rop->op.niov = 0;
	bd_req_op_submit(rop, IO_ZERO, node->data, off, end - off, flags);
	return 0;
}

/* One bounded step of the format. */
static int by_format(struct request *req)
{
	const struct bd_write_ops *ops = req->pub.node->fmt->write;
	struct bd_node *node = req->pub.node;
	uint64_t off = req->pub.off + req->pos, len = req->part;
	int ret;

	if (req->err)
		return end(req, 0);
	if (req->kind == REQ_ZERO)
		ret = ops->zero(node, &off, &len, req->pub.flags, &req->wait);
	else
		ret = ops->discard(node, &off, &len, &req->wait);
	if (ret == 0)
		return 0;
	if (ret == -EAGAIN) {
		bd_range_release(&req->range, req->queue);
		req->state = ST_LOCK;
		bd_slow_park(req);
		return 0;
	}
	if (ret == -ENOTSUP && req->kind == REQ_ZERO &&
	    !(req->pub.flags & BD_REQ_NO_FALLBACK)) {
		req->zero_part = true;
		req->part = len;
		req->plan.may_alloc = true;
		req->state = ST_PLAN;
		return 1;
	}
	if (ret < 0)
		return end(req, ret == -ENOTSUP && req->kind == REQ_DISCARD ? 0 : ret);
	req->pos = off - req->pub.off;
	req->part = len;
	return len ? 1 : advance(req);
}

int bd_zero_state(struct request *req)
{
	const struct bd_write_ops *ops = req->pub.node->fmt->write;
	uint64_t off = req->pub.off + req->pos;
	bool has_hook;

	switch (req->state) {
	case ST_BEGIN:
		return begin(req);
	case ST_LOCK:
		if (req->err)
			return end(req, 0);
		req->zero_part = false;
		if (!bd_request_lock(req, off, min_u64(req->pub.len - req->pos, LOCK_MAX), true))
			return 0;
		req->state = ST_MIRROR;
		return 1;
	case ST_MIRROR:
		return mirror(req);
	case ST_STEP:
		if (req->ops)
			return 0;
		has_hook = req->kind == REQ_ZERO ? ops->zero != NULL : ops->discard != NULL;
		return has_hook ? by_format(req) : by_host(req);
	case ST_DATA:
		if (!req->zero_part)
			return host_done(req);
		return bd_write_state(req);
	case ST_END:
		return 1;
	default:
		return bd_write_state(req);
	}
}

/* The host file's own flush, when the format leaves durability to the core. */
static int barrier(struct request *req)
{
	struct bd_node *node = req->pub.node;
	struct req_op *rop;

	if (node->flags & BD_O_NO_FLUSH)
		return end(req, 0);
	rop = bd_req_op_get(req);
	if (!rop)
		return 0;
	rop->op.niov = 0;
	req->state = ST_BARRIER;
	bd_req_op_submit(rop, IO_FLUSH, node->data, 0, 0, 0);
	return 0;
}

int bd_flush_state(struct request *req)
{
	struct bd_node *node = req->pub.node;
	int ret;

	switch (req->state) {
	case ST_BEGIN:
		if (!(node->flags & BD_O_RDWR) || !node->fmt->write)
			return end(req, 0);
		req->state = ST_FLUSH;
		return 1;
	case ST_FLUSH:
		if (req->err)
			return end(req, 0);
		if (!node->fmt->write->flush)
			return barrier(req);
		ret = node->fmt->write->flush(node, &req->wait);
		req->state = ST_BARRIER;
		return ret == 0 ? 0 : end(req, ret < 0 ? ret : 0);
	case ST_BARRIER:
		return req->ops ? 0 : end(req, 0);
	default:
		return 1;
	}
}
