/* SPDX-License-Identifier: MIT */
/* What a chain of virtio-blk asks for; everything in it is the guest's. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vkvm/virtio/blk_request.h"

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
		blk_refuse(req, VIRTIO_BLK_S_IOERR);
	else if (out && guard(req) < 0)
		blk_refuse(req, VIRTIO_BLK_S_IOERR);
	else
		blk_run_throttled(req);
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
	blk_answer(req, VIRTIO_BLK_S_OK, (uint32_t)done);
}

void blk_start(struct blk_request *req)
{
	struct virtio_blk_outhdr header;
	int status;

	if (req->chain.malformed || !take_status(req)) {
		blk_refuse(req, BLK_NO_STATUS);
		return;
	}
	if (req->chain.unmapped || !take_out(req, &header, sizeof(header))) {
		blk_refuse(req, VIRTIO_BLK_S_IOERR);
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
		blk_run_now(req);
		break;
	case VIRTIO_BLK_T_DISCARD:
	case VIRTIO_BLK_T_WRITE_ZEROES:
		status = check_ranges(req);
		if (status == VIRTIO_BLK_S_OK)
			blk_run_now(req);
		else
			blk_refuse(req, status);
		break;
	case VIRTIO_BLK_T_GET_ID:
		get_id(req);
		break;
	default:
		blk_refuse(req, VIRTIO_BLK_S_UNSUPP);
	}
}
