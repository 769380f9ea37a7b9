/* SPDX-License-Identifier: MIT */
/* Requests: from the public call to done(). */
#include "blockdev/core/request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/base/iov.h"
#include "blockdev/base/zero.h"
#include "blockdev/core/slow.h"

static void resume(struct bd_wait *wait)
{
	struct request *req = container_of(wait, struct request, wait);

	request_fail(req, wait->res);
	bd_request_step(req);
}

static void release(struct request *req)
{
	bd_range_release(&req->range, req->queue);
	free(req->cow);
	free(req->packed);
	free(req->plain);
	req->cow = req->packed = req->plain = NULL;
}

static void finish(struct request *req)
{
	list_del(&req->link);
	release(req);
	req->pub.res = req->err;
	req->pub.done(&req->pub);
}

/* One state of a read: 1: done, 0: waits. */
static int read_state(struct request *req)
{
	if (!req->err && !bd_reader_step(req, &req->reader[0]))
		return 0;
	return req->ops == 0;
}

/* Writes that find a failure give back what they hold and end. */
static bool is_over(struct request *req)
{
	switch (req->kind) {
	case REQ_READ:
		return read_state(req) != 0;
	case REQ_WRITE:
	case REQ_COMPRESSED:
		while (bd_write_state(req)) {
			if (req->state == ST_END)
				return true;
		}
		return false;
	case REQ_ZERO:
	case REQ_DISCARD:
		while (bd_zero_state(req)) {
			if (req->state == ST_END)
				return true;
		}
		return false;
	case REQ_FLUSH:
		while (bd_flush_state(req)) {
			if (req->state == ST_END)
				return true;
		}
		return false;
	}
	return true;
}

bool bd_reads_before(const struct bd_node *node, uint64_t seq)
{
	for (struct link *it = node->active.next; it != &node->active; it = it->next) {
		const struct request *req = container_of(it, struct request, link);

		if (req->seq > seq)
			return false;
		if (req->ops)
			return true;
	}
	return false;
}

void bd_request_step(struct request *req)
{
	if (req->stepping || !list_empty(&req->wait.link))
		return;
	req->stepping = true;
	if (is_over(req)) {
		req->stepping = false;
		finish(req);
		return;
	}
	req->stepping = false;
}

/* The first step runs from the queue, so that done() never runs inside the submitting call. */
static void start(struct request *req, enum req_kind kind)
{
	struct bd_node *node = req->pub.node;

	req->kind = kind;
	req->clone = NULL;
	req->state = ST_BEGIN;
	req->seq = ++node->seq;
	req->ops = 0;
	req->err = kind == REQ_WRITE ? req->refused : 0;
	req->pos = 0;
	req->part = 0;
	req->packed_len = 0;
	req->plan = (struct bd_plan){0};
	req->stepping = req->quiet_parked = req->zero_part = false;
	req->range.held = false;
	req->cow = req->packed = req->plain = NULL;
	req->wait.resume = resume;
	list_init(&req->wait.link);
	list_init(&req->packing);
	list_add_tail(&node->active, &req->link);
	if (kind != REQ_FLUSH &&
	    (req->pub.off > node->size || req->pub.len > node->size - req->pub.off))
		request_fail(req, -EIO);
	if (node->corrupt) /* like QEMU: as if the image had been taken out */
		request_fail(req, -ENOMEDIUM);
	if (kind != REQ_FLUSH && node->flags & BD_O_NO_DATA)
		request_fail(req, -EBADF);
	if (kind != REQ_READ && kind != REQ_FLUSH && !(node->flags & BD_O_RDWR))
		request_fail(req, -EROFS);
	if (req->err || req->pub.len == 0) {
		req->state = kind == REQ_FLUSH && !req->err ? ST_BEGIN : ST_END;
		if (req->state == ST_END) {
			req->kind = REQ_WRITE;
			bd_queue_wake(req->queue, &req->wait, 0);
			return;
		}
	}
	if (kind == REQ_COMPRESSED) {
		bd_compressed_begin(req);
		if (!req->err)
			return;
	} else if (bd_slow_pending(node) && kind != REQ_READ) {
		bd_slow_park(req);
		return;
	}
	bd_queue_wake(req->queue, &req->wait, 0);
}

void bd_read(struct bd_request *pub)
{
	struct request *req = request_of(pub);
	struct reader *reader = &req->reader[0];

	bd_reader_start(reader, pub->off, pub->len, pub->iov, pub->niov);
	start(req, REQ_READ);
}

void bd_write_clone(struct bd_request *pub, struct io_file *src, uint64_t off)
{
	struct request *req = request_of(pub);

	req->refused = 0;
	start(req, REQ_WRITE);
	req->clone = src;
	req->clone_off = off;
}

/*
 * A guest must not turn its raw disk into an image of another format, which the next guess would
 * believe.  -EPERM: this write would.  Like: QEMU's raw driver after probing.
 */
static int guard_head(const struct bd_request *pub)
{
	struct bd_node *node = pub->node;
	uint8_t head[BD_PROBE_LEN];

	if (!node->probe_head || pub->off >= BD_PROBE_LEN || !pub->len)
		return 0;
	memcpy(head, node->probe_head, sizeof(head));
	bd_iov_to_buf(pub->iov, pub->niov, 0, head + pub->off,
		      (size_t)min_u64(pub->len, BD_PROBE_LEN - pub->off));
	if (bd_format_probe(head, sizeof(head)) != node->fmt)
		return -EPERM;
	memcpy(node->probe_head, head, sizeof(head));
	return 0;
}

/* A write of nothing but zero bytes, on a node that looks for them. */
static bool is_zero_write(const struct bd_request *pub)
{
	if (!(pub->node->flags & BD_O_DETECT_ZEROES))
		return false;
	for (int i = 0; i < pub->niov; i++) {
		if (!bd_is_zero(pub->iov[i].iov_base, pub->iov[i].iov_len))
			return false;
	}
	return true;
}

void bd_write(struct bd_request *pub)
{
	bool zero = is_zero_write(pub);

	if (zero && pub->node->flags & BD_O_DETECT_UNMAP)
		pub->flags |= BD_REQ_UNMAP;
	request_of(pub)->refused = guard_head(pub);
	start(request_of(pub), zero ? REQ_ZERO : REQ_WRITE);
}

void bd_write_compressed(struct bd_request *pub)
{
	start(request_of(pub), REQ_COMPRESSED);
}

void bd_write_zeroes(struct bd_request *pub)
{
	start(request_of(pub), REQ_ZERO);
}

void bd_discard(struct bd_request *pub)
{
	start(request_of(pub), REQ_DISCARD);
}

void bd_flush(struct bd_request *pub)
{
	start(request_of(pub), REQ_FLUSH);
}

int bd_req_op_room(struct req_op *rop, int nr)
{
	struct iovec *iov = rop->small;

	if (nr > REQ_IOV)
		iov = calloc((size_t)nr, sizeof(*iov));
	if (!iov)
		return -ENOMEM;
	rop->iov = iov;
	return 0;
}

int bd_req_op_slice(struct req_op *rop, const struct iovec *iov, int niov, uint64_t skip,
		    uint64_t len)
{
	int ret = bd_req_op_room(rop, niov);

	if (ret == 0)
		rop->op.niov = bd_iov_slice(iov, niov, skip, len, rop->iov);
	return ret;
}

void bd_req_op_over(struct req_op *rop, int res)
{
	struct request *req = rop->req;

	request_fail(req, res);
	bd_req_op_put(rop);
	if (--req->ops == 0)
		bd_queue_wake_all(req->queue, &req->pub.node->grace, 0);
	bd_request_step(req);
}

static void op_done(struct io_op *op)
{
	bd_req_op_over(op->user, op->res);
}

void bd_req_op_submit(struct req_op *rop, enum io_kind kind, struct io_file *file, uint64_t off,
		      uint64_t len, unsigned io_flags)
{
	int niov = rop->op.niov;
	const struct request *req = rop->req;

	rop->op = (struct io_op){
		.src = req->clone, .src_off = req->clone_off + req->pos,
		.kind = kind, .flags = io_flags, .file = file, .off = off, .len = len,
		.iov = rop->iov, .niov = niov, .done = op_done, .user = rop,
	};
	rop->req->ops++;
	io_op_submit(&rop->op);
}
