/* SPDX-License-Identifier: MIT */
/* A request of the guest on its way: to the engine, waiting, answered. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vkvm/virtio/blk_request.h"

static enum bd_op_kind op_of(const struct blk_request *req)
{
	switch (req->type) {
	case VIRTIO_BLK_T_IN:
	case VIRTIO_BLK_T_GET_ID:
		return BD_OP_READ;
	case VIRTIO_BLK_T_FLUSH:
		return BD_OP_FLUSH;
	case VIRTIO_BLK_T_DISCARD:
		return BD_OP_UNMAP;
	default:
		return BD_OP_WRITE;
	}
}

/* --- end --------------------------------------------------------------------------------- */

static void release(struct blk_request *req)
{
	free(req->guarded);
	req->guarded = NULL;
	if (req->io)
		bd_request_put(req->io);
	req->io = NULL;
	req->next = req->blk->free;
	req->blk->free = req;
}

void blk_answer(struct blk_request *req, int status, uint32_t written)
{
	struct virtqueue *vq = &req->blk->dev.queues[req->queue];

	if (status != BLK_NO_STATUS) {
		*(volatile uint8_t *)req->status = (uint8_t)status;
		written++;
	}
	virtqueue_push(vq, req->chain.head, written);
	release(req);
}

void blk_refuse(struct blk_request *req, int status)
{
	req->blk->disk->stats.account.op[op_of(req)].invalid++;
	blk_answer(req, status, 0);
}

static void count(struct blk_request *req, bool failed)
{
	bool transfer = req->type == VIRTIO_BLK_T_IN || req->type == VIRTIO_BLK_T_OUT;

	bd_account_done(&req->blk->disk->stats.account, op_of(req), req->sector * 512,
			transfer ? req->in_len + req->out_len : 0, req->start_ns, failed);
}

static void append(struct blk_list *list, struct blk_request *req)
{
	req->next = NULL;
	*list->end = req;
	list->end = &req->next;
}

/* true: it has to wait until the machine goes on. */
static bool handle_error(struct blk_request *req, int error, bool *report)
{
	const struct disk *disk = req->blk->disk;
	enum bd_policy action = bd_policy_action(op_of(req) == BD_OP_READ ? disk->read_error :
						 disk->write_error, error);

	if (action == BD_POLICY_STOP)
		append(&req->blk->parked, req);
	if (disk->failed)
		disk->failed(disk->user, disk, op_of(req), error, action);
	*report = action != BD_POLICY_IGNORE;
	return action == BD_POLICY_STOP;
}

static void complete(struct blk_request *req, int error)
{
	bool failed = false;

	if (error < 0 && handle_error(req, error, &failed))
		return;
	count(req, failed);
	blk_answer(req, failed ? VIRTIO_BLK_S_IOERR : VIRTIO_BLK_S_OK,
		   failed ? 0 : (uint32_t)req->in_len);
}

/* --- start ------------------------------------------------------------------------------- */

/* A write must be durable before it is answered if the guest has no volatile cache. */
static unsigned fua(const struct virtio_blk *blk)
{
	bool through = blk->write_through ||
		       !__atomic_load_n(&blk->config.wce, __ATOMIC_ACQUIRE);

	return through ? BD_REQ_FUA : 0;
}

static bool start_range(struct blk_request *req)
{
	const struct virtio_blk_discard_write_zeroes *range;

	/* An empty range is no work. */
	while (req->next_range < req->nr_ranges && !req->ranges[req->next_range].num_sectors)
		req->next_range++;
	if (req->next_range == req->nr_ranges)
		return false;
	range = &req->ranges[req->next_range++];
	req->io->off = range->sector * 512;
	req->io->len = (uint64_t)range->num_sectors * 512;
	if (req->type == VIRTIO_BLK_T_DISCARD) {
		bd_discard(req->io);
		return true;
	}
	req->io->flags = fua(req->blk);
	if (range->flags & VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP)
		req->io->flags |= BD_REQ_UNMAP;
	bd_write_zeroes(req->io);
	return true;
}

static void io_done(struct bd_request *io)
{
	struct blk_request *req = io->user;

	if (io->res == 0 && req->nr_ranges && start_range(req))
		return;
	req->blk->in_flight--;
	complete(req, io->res);
}

void blk_run_now(struct blk_request *req)
{
	struct bd_request *io = req->io;
	bool in = req->type == VIRTIO_BLK_T_IN;

	io->node = req->blk->disk->node;
	io->done = io_done;
	io->user = req;
	io->off = req->sector * 512;
	io->len = in ? req->in_len : req->out_len;
	io->iov = in ? req->in : req->out;
	io->niov = (int)(in ? req->nr_in : req->nr_out);
	io->flags = 0;
	req->blk->in_flight++;
	if (in) {
		bd_read(io);
	} else if (req->type == VIRTIO_BLK_T_OUT) {
		io->flags = fua(req->blk);
		bd_write(io);
	} else if (req->type == VIRTIO_BLK_T_FLUSH) {
		io->len = 0;
		io->niov = 0;
		bd_flush(io);
	} else {
		io->iov = NULL;
		io->niov = 0;
		req->next_range = 0;
		if (!start_range(req)) {
			req->blk->in_flight--;
			complete(req, 0);
		}
	}
}

void blk_run_throttled(struct blk_request *req)
{
	struct virtio_blk *blk = req->blk;
	bool in = req->type == VIRTIO_BLK_T_IN;

	if (blk->held.first ||
	    !bd_throttle_pass(blk->throttle, !in, in ? req->in_len : req->out_len))
		append(&blk->held, req);
	else
		blk_run_now(req);
}

/* --- lists ------------------------------------------------------------------------------- */

static struct blk_request *get(struct virtio_blk *blk)
{
	struct blk_request *req = blk->free;

	if (req) {
		blk->free = req->next;
	} else {
		req = calloc(1, sizeof(*req));
		if (!req)
			return NULL;
		req->blk = blk;
	}
	req->io = bd_request_get(blk->disk->queue);
	if (!req->io) {
		release(req);
		return NULL;
	}
	return req;
}

bool blk_take(struct virtio_blk *blk, unsigned queue)
{
	struct blk_request *req = get(blk);
	int ret;

	if (!req) {
		blk->starved = true;
		return false;
	}
	ret = virtqueue_pop(&blk->dev.queues[queue], &req->chain);
	if (ret <= 0) {
		release(req);
		if (ret == -EPROTO)
			virtio_broken(&blk->dev);
		blk->starved |= ret == -ENOMEM;
		return false;
	}
	req->queue = queue;
	req->type = VIRTIO_BLK_T_IN;
	req->sector = 0;
	req->nr_ranges = req->next_range = 0;
	req->out = req->chain.iov;
	req->nr_out = req->chain.nr_out;
	req->out_len = req->chain.out_len;
	/* A chain without a byte has no vectors. */
	req->in = req->chain.iov ? req->chain.iov + req->chain.nr_out : NULL;
	req->nr_in = req->chain.nr_in;
	req->in_len = req->chain.in_len;
	req->start_ns = bd_clock_ns();
	blk_start(req);
	return true;
}

void blk_list_init(struct blk_list *list)
{
	list->first = NULL;
	list->end = &list->first;
}

static struct blk_request *take_first(struct blk_list *list)
{
	struct blk_request *req = list->first;

	if (req && !(list->first = req->next))
		list->end = &list->first;
	return req;
}

void virtio_blk_retry(struct virtio_blk *blk)
{
	struct blk_request *req = blk->parked.first, *next;

	/* Those that fail once more come back to the list. */
	blk_list_init(&blk->parked);
	for (; req; req = next) {
		next = req->next;
		blk_run_now(req);
	}
}

void blk_release(struct virtio_blk *blk)
{
	struct blk_request *req;

	while (!blk->paused && (req = blk->held.first)) {
		bool in = req->type == VIRTIO_BLK_T_IN;

		if (!bd_throttle_pass(blk->throttle, !in, in ? req->in_len : req->out_len))
			return;
		blk_run_now(take_first(&blk->held));
	}
}

void blk_forget(struct virtio_blk *blk)
{
	struct blk_request *req;

	while ((req = take_first(&blk->parked)) || (req = take_first(&blk->held)))
		release(req);
}

void blk_free_requests(struct virtio_blk *blk)
{
	struct blk_request *req;

	while ((req = blk->free)) {
		blk->free = req->next;
		vq_chain_clear(&req->chain);
		free(req);
	}
}
