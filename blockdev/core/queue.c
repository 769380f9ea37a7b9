/* SPDX-License-Identifier: MIT */
/* A thread's queue: pool of requests and operations, ready list, and the slow lane of nodes. */
#include <errno.h>
#include <stdlib.h>

#include "blockdev/core/request.h"
#include "blockdev/core/slow.h"

enum { OPS_PER_REQUEST = 4 };

struct bd_queue {
	struct io_ctx *ctx;
	struct request *requests;
	struct req_op *ops;
	struct link free_requests, free_ops;
	struct link ready;         /* bd_wait to resume */
	struct link want_op;       /* bd_wait of requests that need an operation */
	struct link slow;          /* nodes with blocking work to do once quiet */
	bool in_slow;
};

int bd_queue_new(const char *engine, unsigned depth, struct bd_queue **out, struct bd_error *err)
{
	struct bd_queue *queue;
	int ret = -ENOMEM;

	*out = NULL;
	if (depth < 1 || depth > 4096)
		return bd_fail(err, -EINVAL, "Queue depth must be between 1 and 4096");
	queue = calloc(1, sizeof(*queue));
	if (!queue)
		return bd_fail(err, -ENOMEM, "Out of memory");
	list_init(&queue->free_requests);
	list_init(&queue->free_ops);
	list_init(&queue->ready);
	list_init(&queue->want_op);
	list_init(&queue->slow);
	queue->requests = calloc(depth, sizeof(*queue->requests));
	queue->ops = calloc((size_t)depth * OPS_PER_REQUEST, sizeof(*queue->ops));
	if (!queue->requests || !queue->ops) {
		bd_fail(err, ret, "Out of memory");
		goto fail;
	}
	for (unsigned i = 0; i < depth; i++) {
		queue->requests[i].queue = queue;
		list_add_tail(&queue->free_requests, &queue->requests[i].link);
	}
	for (unsigned i = 0; i < depth * OPS_PER_REQUEST; i++)
		list_add_tail(&queue->free_ops, &queue->ops[i].link);
	ret = io_ctx_new(engine, depth * 2 < 64 ? 64 : depth * 2, &queue->ctx, err);
	if (ret < 0)
		goto fail;
	*out = queue;
	return 0;
fail:
	free(queue->requests);
	free(queue->ops);
	free(queue);
	return ret;
}

void bd_queue_free(struct bd_queue *queue)
{
	if (!queue)
		return;
	io_ctx_free(queue->ctx);
	free(queue->requests);
	free(queue->ops);
	free(queue);
}

struct io_ctx *bd_queue_ctx(struct bd_queue *queue)
{
	return queue->ctx;
}

const char *bd_queue_engine(const struct bd_queue *queue)
{
	return io_ctx_engine_name(queue->ctx);
}

void bd_work_submit(struct bd_queue *queue, struct bd_work *work)
{
	io_work_submit(queue->ctx, work);
}

void bd_queue_wake(struct bd_queue *queue, struct bd_wait *wait, int res)
{
	wait->res = res;
	list_add_tail(&queue->ready, &wait->link);
}

void bd_queue_wake_all(struct bd_queue *queue, struct link *list, int res)
{
	struct link *it;

	while ((it = list_pop(list)))
		bd_queue_wake(queue, container_of(it, struct bd_wait, link), res);
}

/* Resume what was ready when the turn began: whoever parks again waits for the next turn. */
static unsigned run_ready(struct bd_queue *queue)
{
	struct link now, *it;
	unsigned nr = 0;

	list_init(&now);
	list_splice_tail(&now, &queue->ready);
	while ((it = list_pop(&now))) {
		struct bd_wait *wait = container_of(it, struct bd_wait, link);

		wait->resume(wait);
		nr++;
	}
	return nr;
}

/* A node's blocking work may run once none of its requests has anything in flight. */
static void run_slow(struct bd_queue *queue)
{
	struct link now, *it;

	if (queue->in_slow || list_empty(&queue->slow))
		return;
	queue->in_slow = true;
	list_init(&now);
	list_splice_tail(&now, &queue->slow);
	while ((it = list_pop(&now))) {
		struct bd_node *node = container_of(it, struct bd_node, slow_link);

		if (!bd_slow_run(node))
			list_add_tail(&queue->slow, &node->slow_link);
	}
	queue->in_slow = false;
}

void bd_queue_slow(struct bd_queue *queue, struct bd_node *node)
{
	if (list_empty(&node->slow_link))
		list_add_tail(&queue->slow, &node->slow_link);
}

int bd_queue_poll(struct bd_queue *queue, bool wait)
{
	unsigned nr = run_ready(queue);
	int ret;

	run_slow(queue);
	wait = wait && !nr && list_empty(&queue->ready);
	ret = io_ctx_poll(queue->ctx, wait);
	if (ret < 0)
		return ret;
	nr += run_ready(queue);
	run_slow(queue);
	return (int)nr + ret;
}

struct bd_request *bd_request_get(struct bd_queue *queue)
{
	struct link *it = list_pop(&queue->free_requests);
	struct request *req;

	if (!it)
		return NULL;
	req = container_of(it, struct request, link);
	req->pub = (struct bd_request){0};
	return &req->pub;
}

void bd_request_put(struct bd_request *pub)
{
	struct request *req = request_of(pub);

	list_add_head(&req->queue->free_requests, &req->link);
}

struct req_op *bd_req_op_get(struct request *req)
{
	struct bd_queue *queue = req->queue;
	struct link *it = list_pop(&queue->free_ops);
	struct req_op *rop;

	if (!it) {
		list_add_tail(&queue->want_op, &req->wait.link);
		return NULL;
	}
	rop = container_of(it, struct req_op, link);
	rop->req = req;
	rop->iov = rop->small;
	rop->reader = NULL;
	rop->bounce = NULL;
	rop->plain = NULL;
	rop->res = 0;
	return rop;
}

void bd_req_op_put(struct req_op *rop)
{
	struct bd_queue *queue = rop->req->queue;
	struct link *it = list_pop(&queue->want_op);

	if (rop->iov != rop->small)
		free(rop->iov);
	free(rop->bounce);
	free(rop->plain);
	list_add_head(&queue->free_ops, &rop->link);
	if (it)
		bd_queue_wake(queue, container_of(it, struct bd_wait, link), 0);
}
