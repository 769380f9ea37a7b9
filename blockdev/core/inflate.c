/* SPDX-License-Identifier: MIT */
/* Compressed extents: read the payload, inflate it on a worker, copy the wanted part. */
#include <errno.h>
#include <stdlib.h>

#include "blockdev/base/iov.h"
#include "blockdev/core/request.h"

static void inflate_run(struct bd_work *work)
{
	struct req_op *rop = container_of(work, struct req_op, work);
	struct bd_node *layer = rop->layer;

	rop->res = layer->fmt->inflate(layer, rop->bounce, rop->bounce_len, rop->plain,
				       layer->cluster_size);
}

static void inflate_done(struct bd_work *work)
{
	struct req_op *rop = container_of(work, struct req_op, work);
	struct request *req = rop->req;

	if (rop->res >= 0) {
		bd_iov_from_buf(rop->reader->iov, rop->reader->niov, rop->to,
			     (uint8_t *)rop->plain + rop->in_cluster, rop->to_len);
		req->pub.node->stats.inflated++;
	}
	bd_req_op_over(rop, rop->res);
}

static void payload_done(struct io_op *op)
{
	struct req_op *rop = op->user;

	if (op->res < 0) {
		rop->res = op->res;
		inflate_done(&rop->work);
		return;
	}
	rop->work.run = inflate_run;
	rop->work.done = inflate_done;
	bd_work_submit(rop->req->queue, &rop->work);
}

int bd_inflate_start(struct request *req, struct reader *reader, const struct bd_extent *ext,
		     uint64_t skip, uint64_t to, uint64_t len)
{
	struct req_op *rop = bd_req_op_get(req);

	if (!rop)
		return 0;
	rop->bounce_len = ext->host_len;
	rop->bounce = malloc(ext->host_len);
	rop->plain = malloc(ext->node->cluster_size);
	if (!rop->bounce || !rop->plain) {
		bd_req_op_put(rop);
		return -ENOMEM;
	}
	rop->reader = reader;
	rop->layer = ext->node;
	rop->in_cluster = (ext->guest_off + skip) & (ext->node->cluster_size - 1);
	rop->to = to;
	rop->to_len = len;
	rop->small[0] = (struct iovec){rop->bounce, ext->host_len};
	rop->op = (struct io_op){
		.kind = IO_READ, .file = ext->node->data, .off = ext->host_off,
		.len = ext->host_len, .iov = rop->small, .niov = 1,
		.done = payload_done, .user = rop,
	};
	io_event(ext->node->file, "read_compressed");
	req->ops++;
	io_op_submit(&rop->op);
	return 1;
}
