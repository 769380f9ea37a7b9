/* SPDX-License-Identifier: MIT */
/* One request of the guest: parse its chain, hand it to the engine, answer. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vkvm/virtio/virtio_blk.h"

enum { NO_STATUS = -1 }; /* the status byte cannot be placed */

struct blk_request {
	struct virtio_blk *blk;
	unsigned queue;              /* index of the virtqueue */
	struct vq_chain chain;
	struct bd_request *io;       /* the engine's; held while the chain is */
	struct blk_request *next;    /* free or parked list */
	uint32_t type;               /* VIRTIO_BLK_T_* */
	uint64_t sector;
	uint8_t *status;             /* the chain's last writable byte */
	/* what the header and the status byte leave of the chain */
	struct iovec *out, *in;
	unsigned nr_out, nr_in;
	uint64_t out_len, in_len;    /* bytes */
	struct virtio_blk_discard_write_zeroes ranges[BLK_MAX_RANGES];
	unsigned nr_ranges, next_range;
	struct iovec *guarded;       /* vector with a private head, which is behind it; owned */
	uint64_t start_ns;
};

static enum disk_op op_of(const struct blk_request *req)
{
	switch (req->type) {
	case VIRTIO_BLK_T_IN:
	case VIRTIO_BLK_T_GET_ID:
		return DISK_READ;
	case VIRTIO_BLK_T_FLUSH:
		return DISK_FLUSH;
	case VIRTIO_BLK_T_DISCARD:
		return DISK_UNMAP;
	default:
		return DISK_WRITE;
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

/* Give the chain back; @written: bytes besides the status. */
static void answer(struct blk_request *req, int status, uint32_t written)
{
	struct virtqueue *vq = &req->blk->dev.queues[req->queue];

	if (status != NO_STATUS) {
		*(volatile uint8_t *)req->status = (uint8_t)status;
		written++;
	}
	virtqueue_push(vq, req->chain.head, written);
	release(req);
}

/* A request that never was one: it costs no I/O and changes nothing. */
static void refuse(struct blk_request *req, int status)
{
	req->blk->disk->stats.op[op_of(req)].invalid++;
	answer(req, status, 0);
}

static void count(struct blk_request *req, bool failed)
{
	struct disk_stats *stats = &req->blk->disk->stats;
	struct disk_op_stats *op = &stats->op[op_of(req)];
	uint64_t len = req->in_len + req->out_len, end = req->sector * 512 + len;

	op->total_time_ns += disk_clock_ns() - req->start_ns;
	if (failed) {
		op->failed++;
		return;
	}
	op->operations++;
	if (req->type == VIRTIO_BLK_T_IN || req->type == VIRTIO_BLK_T_OUT)
		op->bytes += len;
	if (req->type == VIRTIO_BLK_T_OUT && end > stats->wr_highest_offset)
		stats->wr_highest_offset = end;
}

static void park(struct blk_request *req, int error)
{
	struct virtio_blk *blk = req->blk;
	struct disk *disk = blk->disk;

	req->next = NULL;
	*blk->parked_end = req;
	blk->parked_end = &req->next;
	if (disk->stopped)
		disk->stopped(disk->user, disk, op_of(req), error);
}

static void complete(struct blk_request *req, int error)
{
	bool failed = error < 0;

	if (failed) {
		enum disk_policy action = disk_action(req->blk->disk, op_of(req), error);

		if (action == DISK_STOP) {
			park(req, error);
			return;
		}
		failed = action != DISK_IGNORE;
	}
	count(req, failed);
	if (failed)
		answer(req, VIRTIO_BLK_S_IOERR, 0);
	else
		answer(req, VIRTIO_BLK_S_OK, (uint32_t)req->in_len);
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

void blk_restart(struct blk_request *req)
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

/* --- parse ------------------------------------------------------------------------------- */

static bool in_disk(const struct blk_request *req, uint64_t sector, uint64_t sectors)
{
	uint64_t capacity = bd_size(req->blk->disk->node) / 512;

	return sector <= capacity && sectors <= capacity - sector;
}

static bool transfer_fits(const struct blk_request *req, uint64_t len)
{
	uint32_t block = req->blk->disk->block_size;

	return len % block == 0 && req->sector <= UINT64_MAX / 512 &&
	       req->sector * 512 % block == 0 && in_disk(req, req->sector, len / 512);
}

/*
 * The first bytes of a disk whose format was guessed are checked before they are written, so the
 * guest must not be able to change them in between: they are written from a copy.
 */
static int guard(struct blk_request *req)
{
	uint64_t off = req->sector * 512;
	size_t want, done = 0;
	struct iovec *iov;
	uint8_t *head;
	unsigned i;

	if (!bd_probed(req->blk->disk->node) || off >= BLK_GUARD || !req->out_len)
		return 0;
	want = BLK_GUARD - off < req->out_len ? (size_t)(BLK_GUARD - off) : (size_t)req->out_len;
	iov = calloc(1, (req->nr_out + 1) * sizeof(*iov) + BLK_GUARD);
	if (!iov)
		return -ENOMEM;
	head = (uint8_t *)&iov[req->nr_out + 1];
	for (i = 0; done < want; i++) {
		size_t part = req->out[i].iov_len < want - done ? req->out[i].iov_len : want - done;

		memcpy(head + done, req->out[i].iov_base, part);
		done += part;
		req->out[i].iov_base = (char *)req->out[i].iov_base + part;
		req->out[i].iov_len -= part;
	}
	/* The entry in which the head ended still has its rest. */
	i -= req->out[i - 1].iov_len != 0;
	iov[0] = (struct iovec){ head, want };
	memcpy(&iov[1], &req->out[i], (req->nr_out - i) * sizeof(*iov));
	req->nr_out = req->nr_out - i + 1;
	req->out = iov;
	req->guarded = iov;
	return 0;
}

/* Take @len bytes from the front of what the guest can be read from.  false: there are fewer. */
static bool take_out(struct blk_request *req, void *buf, size_t len)
{
	size_t done = 0;

	if (req->out_len < len)
		return false;
	while (done < len) {
		size_t part = req->out->iov_len < len - done ? req->out->iov_len : len - done;

		memcpy((char *)buf + done, req->out->iov_base, part);
		req->out->iov_base = (char *)req->out->iov_base + part;
		req->out->iov_len -= part;
		if (!req->out->iov_len) {
			req->out++;
			req->nr_out--;
		}
		done += part;
	}
	req->out_len -= len;
	return true;
}

/* The status byte is the last writable one, wherever descriptors end.  false: there is none. */
static bool take_status(struct blk_request *req)
{
	struct iovec *last;

	if (!req->nr_in || !req->in[req->nr_in - 1].iov_base)
		return false;
	last = &req->in[req->nr_in - 1];
	req->status = (uint8_t *)last->iov_base + --last->iov_len;
	req->in_len--;
	if (!last->iov_len)
		req->nr_in--;
	return true;
}

static void start_transfer(struct blk_request *req)
{
	bool out = req->type == VIRTIO_BLK_T_OUT;

	if (!transfer_fits(req, out ? req->out_len : req->in_len) ||
	    (out && req->blk->disk->read_only))
		refuse(req, VIRTIO_BLK_S_IOERR);
	else if (out && guard(req) < 0)
		refuse(req, VIRTIO_BLK_S_IOERR);
	else
		blk_restart(req);
}

/* The status a discard or write-zeroes request fails with before it starts, or OK. */
static int check_ranges(struct blk_request *req)
{
	unsigned known = req->type == VIRTIO_BLK_T_DISCARD ? 0 : VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP;
	uint64_t nr = req->out_len / sizeof(req->ranges[0]);

	if (req->blk->disk->read_only)
		return VIRTIO_BLK_S_IOERR;
	if (!nr || nr > BLK_MAX_RANGES || req->out_len % sizeof(req->ranges[0]))
		return VIRTIO_BLK_S_IOERR;
	if (!take_out(req, req->ranges, (size_t)req->out_len))
		return VIRTIO_BLK_S_IOERR;
	req->nr_ranges = (unsigned)nr;
	for (unsigned i = 0; i < nr; i++) {
		struct virtio_blk_discard_write_zeroes *range = &req->ranges[i];

		range->sector = le64toh(range->sector);
		range->num_sectors = le32toh(range->num_sectors);
		range->flags = le32toh(range->flags);
		if (range->flags & ~known)
			return VIRTIO_BLK_S_UNSUPP;
		if (range->sector > UINT64_MAX / 512 ||
		    !in_disk(req, range->sector, range->num_sectors))
			return VIRTIO_BLK_S_IOERR;
	}
	return VIRTIO_BLK_S_OK;
}

static void get_id(struct blk_request *req)
{
	const char *serial = req->blk->disk->serial ? req->blk->disk->serial : "";
	char id[VIRTIO_BLK_ID_BYTES] = {0};
	size_t done = 0;

	memcpy(id, serial, strnlen(serial, sizeof(id)));
	for (unsigned i = 0; i < req->nr_in && done < sizeof(id); i++) {
		size_t part = req->in[i].iov_len;

		if (part > sizeof(id) - done)
			part = sizeof(id) - done;
		memcpy(req->in[i].iov_base, id + done, part);
		done += part;
	}
	answer(req, VIRTIO_BLK_S_OK, (uint32_t)done);
}

static void start(struct blk_request *req)
{
	struct virtio_blk_outhdr header;
	int status;

	if (req->chain.malformed || !take_status(req)) {
		refuse(req, NO_STATUS);
		return;
	}
	if (req->chain.unmapped || !take_out(req, &header, sizeof(header))) {
		refuse(req, VIRTIO_BLK_S_IOERR);
		return;
	}
	req->type = le32toh(header.type);
	req->sector = le64toh(header.sector);
	switch (req->type) {
	case VIRTIO_BLK_T_IN:
	case VIRTIO_BLK_T_OUT:
		start_transfer(req);
		break;
	case VIRTIO_BLK_T_FLUSH:
		blk_restart(req);
		break;
	case VIRTIO_BLK_T_DISCARD:
	case VIRTIO_BLK_T_WRITE_ZEROES:
		status = check_ranges(req);
		if (status == VIRTIO_BLK_S_OK)
			blk_restart(req);
		else
			refuse(req, status);
		break;
	case VIRTIO_BLK_T_GET_ID:
		get_id(req);
		break;
	default:
		refuse(req, VIRTIO_BLK_S_UNSUPP);
	}
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
	req->in = req->chain.iov + req->chain.nr_out;
	req->nr_in = req->chain.nr_in;
	req->in_len = req->chain.in_len;
	req->start_ns = disk_clock_ns();
	start(req);
	return true;
}

struct blk_request *blk_next(const struct blk_request *req)
{
	return req->next;
}

void blk_forget(struct blk_request *req)
{
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
