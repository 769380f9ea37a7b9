/* SPDX-License-Identifier: MIT */
/* Compressed writes: pack on workers, out of order; allocate in the order of arrival. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/iov.h"
#include "blockdev/core/request.h"

static void pack_run(struct bd_work *work)
{
	struct request *req = container_of(work, struct request, work);
	struct bd_node *node = req->pub.node;

	req->packed_len = node->fmt->deflate(node, req->plain, node->cluster_size, req->packed);
}

/* Let every request go on whose predecessors are packed too: the file's layout is repeatable. */
static void pump(struct bd_node *node)
{
	while (!list_empty(&node->packing)) {
		struct request *req = container_of(node->packing.next, struct request, packing);

		if (!req->packing_done)
			return;
		list_del(&req->packing);
		req->packed_ready = true;
		bd_queue_wake(req->queue, &req->wait, 0);
	}
}

static void pack_done(struct bd_work *work)
{
	struct request *req = container_of(work, struct request, work);

	free(req->plain);
	req->plain = NULL;
	req->packing_done = true;
	pump(req->pub.node);
}

/* The payload is there already: it only waits for its turn. */
static int take_packed(struct request *req)
{
	const struct bd_request *pub = &req->pub;
	size_t len = (size_t)bd_iov_total(pub->iov, pub->niov);

	if (!len || len >= pub->node->cluster_size)
		return -EINVAL;
	req->packed = malloc(len);
	if (!req->packed)
		return -ENOMEM;
	bd_iov_to_buf(pub->iov, pub->niov, 0, req->packed, len);
	req->packed_len = len;
	req->packing_done = true;
	list_add_tail(&pub->node->packing, &req->packing);
	pump(pub->node);
	return 0;
}

static int check(const struct request *req)
{
	const struct bd_node *node = req->pub.node;
	uint32_t cluster = node->cluster_size;

	if (!node->fmt->deflate || !cluster || !node->fmt->write->plan_compressed)
		return -ENOTSUP;
	if (node->data != node->file || node->encrypted)
		return -ENOTSUP;
	if (req->pub.off % cluster || req->pub.len > cluster)
		return -EINVAL;
	if (req->pub.len != cluster && req->pub.off + req->pub.len != node->size)
		return -EINVAL;
	return 0;
}

/* Runs inside the submitting call: errors are kept for the first step. */
void bd_compressed_begin(struct request *req)
{
	struct bd_node *node = req->pub.node;
	size_t cluster = node->cluster_size;

	req->packed_len = 0;
	req->packed_ready = req->packing_done = false;
	request_fail(req, check(req));
	if (!req->err && req->pub.flags & BD_REQ_PACKED)
		request_fail(req, take_packed(req));
	if (req->err || req->packing_done)
		return;
	req->plain = malloc(cluster);
	req->packed = malloc(cluster);
	if (!req->plain || !req->packed) {
		request_fail(req, -ENOMEM);
		return;
	}
	bd_iov_to_buf(req->pub.iov, req->pub.niov, 0, req->plain, req->pub.len);
	memset(req->plain + req->pub.len, 0, cluster - req->pub.len);
	req->work.run = pack_run;
	req->work.done = pack_done;
	list_add_tail(&node->packing, &req->packing);
	bd_work_submit(req->queue, &req->work);
}

int bd_compressed_plan(struct request *req)
{
	return req->packed_ready;
}
