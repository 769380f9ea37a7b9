/* SPDX-License-Identifier: MIT */
/* Blocking forms of the requests, for control-plane code at top level. */
#include <errno.h>

#include "blockdev/core/request.h"

struct blocking {
	bool finished;
	int res;
};

static void blocking_done(struct bd_request *req)
{
	struct blocking *state = req->user;

	state->finished = true;
	state->res = req->res;
	bd_request_put(req);
}

/* A request of @node, once one is free. */
static struct bd_request *get(struct bd_node *node, struct blocking *state)
{
	struct bd_request *req;

	while (!(req = bd_request_get(node->queue))) {
		if (bd_queue_poll(node->queue, true) < 0)
			return NULL;
	}
	req->node = node;
	req->done = blocking_done;
	req->user = state;
	return req;
}

static int await(struct bd_node *node, const struct blocking *state)
{
	while (!state->finished) {
		int ret = bd_queue_poll(node->queue, true);

		if (ret < 0)
			return ret;
	}
	return state->res;
}

static int transfer(struct bd_node *node, void (*start)(struct bd_request *), uint64_t off,
		    struct iovec one, uint64_t len, unsigned flags)
{
	struct blocking state = {0};
	struct bd_request *req = get(node, &state);

	if (!req)
		return -EIO;
	req->off = off;
	req->len = len;
	req->one = one;
	req->iov = &req->one;
	req->niov = one.iov_len ? 1 : 0;
	req->flags = flags;
	start(req);
	return await(node, &state);
}

int bd_pread(struct bd_node *node, uint64_t off, void *buf, size_t len)
{
	return transfer(node, bd_read, off, (struct iovec){buf, len}, len, 0);
}

int bd_pwrite(struct bd_node *node, uint64_t off, const void *buf, size_t len)
{
	struct iovec one = {(void *)(uintptr_t)buf, len};

	return transfer(node, bd_write, off, one, len, 0);
}

int bd_pwrite_compressed(struct bd_node *node, uint64_t off, const void *buf, size_t len)
{
	struct iovec one = {(void *)(uintptr_t)buf, len};

	return transfer(node, bd_write_compressed, off, one, len, 0);
}

int bd_pwrite_zeroes(struct bd_node *node, uint64_t off, uint64_t len, unsigned req_flags)
{
	return transfer(node, bd_write_zeroes, off, (struct iovec){0}, len, req_flags);
}

int bd_pdiscard(struct bd_node *node, uint64_t off, uint64_t len)
{
	return transfer(node, bd_discard, off, (struct iovec){0}, len, 0);
}

int bd_sync(struct bd_node *node)
{
	return transfer(node, bd_flush, 0, (struct iovec){0}, 0, 0);
}
