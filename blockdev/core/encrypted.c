/* SPDX-License-Identifier: MIT */
/*
 * Guest data that are cipher text in the file.  Always through a buffer of our own: a guest may
 * change its memory while we look at it, and must not see what it did not ask for.
 */
#include <errno.h>
#include <stdlib.h>

#include "blockdev/base/bits.h"
#include "blockdev/base/iov.h"
#include "blockdev/core/request.h"

enum {
	READ_MAX = 512 << 10, /* bytes of one operation, and so of one buffer */
	READ_OPS = 8,         /* such operations of one request at a time */
	INLINE_MAX = 16 << 10, /* bytes not worth waking another thread for */
};

static uint64_t iv_off(const struct bd_node *layer, uint64_t host_off, uint64_t guest_off)
{
	return layer->iv_by_guest ? guest_off : host_off;
}

static void run(struct req_op *rop, void (*work)(struct bd_work *), void (*done)(struct bd_work *))
{
	rop->work.run = work;
	rop->work.done = done;
	if (rop->bounce_len > INLINE_MAX) {
		bd_work_submit(rop->req->queue, &rop->work);
		return;
	}
	work(&rop->work);
	done(&rop->work);
}

static int make_bounce(struct req_op *rop, size_t len)
{
	rop->bounce_len = len;
	if (posix_memalign(&rop->bounce, 4096, len)) {
		rop->bounce = NULL;
		return -ENOMEM;
	}
	return 0;
}

static void decrypt_run(struct bd_work *work)
{
	struct req_op *rop = container_of(work, struct req_op, work);

	bd_sectors_decrypt(rop->layer->cipher, rop->iv_off, rop->bounce, rop->bounce_len);
}

static void decrypt_done(struct bd_work *work)
{
	struct req_op *rop = container_of(work, struct req_op, work);

	bd_iov_from_buf(rop->reader->iov, rop->reader->niov, rop->to,
			(uint8_t *)rop->bounce + rop->in_cluster, rop->to_len);
	bd_req_op_over(rop, 0);
}

static void cipher_read(struct io_op *op)
{
	struct req_op *rop = op->user;

	if (op->res < 0)
		bd_req_op_over(rop, op->res);
	else
		run(rop, decrypt_run, decrypt_done);
}

/* Bring @len bytes in, which are data of @ext, @skip bytes behind its start. */
static int read_piece(struct request *req, struct reader *reader, const struct bd_extent *ext,
		      uint64_t skip, uint64_t len)
{
	struct bd_node *layer = ext->node;
	uint64_t host = ext->host_off + skip, guest = ext->guest_off + skip;
	uint64_t before = host % BD_SECTOR;
	struct req_op *rop = bd_req_op_get(req);

	if (!rop)
		return 0;
	if (make_bounce(rop, (size_t)round_up(before + len, BD_SECTOR)) < 0) {
		bd_req_op_put(rop);
		return -ENOMEM;
	}
	rop->reader = reader;
	rop->layer = layer;
	rop->in_cluster = before;
	rop->iv_off = iv_off(layer, host - before, guest - before);
	rop->to = reader->pos;
	rop->to_len = len;
	rop->small[0] = (struct iovec){rop->bounce, rop->bounce_len};
	rop->op = (struct io_op){
		.kind = IO_READ, .file = layer->data,
		.off = host - before, .len = rop->bounce_len, .iov = rop->small, .niov = 1,
		.done = cipher_read, .user = rop,
	};
	io_event(layer->file, layer == req->pub.node ? "read_aio" : "read_backing_aio");
	req->ops++;
	io_op_submit(&rop->op);
	return 1;
}

int bd_encrypted_read(struct request *req, struct reader *reader, const struct bd_extent *ext)
{
	uint64_t end = min_u64(ext->guest_off + ext->len, reader->off + reader->len);

	while (reader->off + reader->pos < end) {
		uint64_t at = reader->off + reader->pos;
		uint64_t len = min_u64(end - at, READ_MAX - at % BD_SECTOR);
		int ret;

		if (req->ops >= READ_OPS)
			return 0; /* the next one that ends carries the request on */
		ret = read_piece(req, reader, ext, at - ext->guest_off, len);
		if (ret <= 0)
			return ret;
		reader->pos += len;
	}
	return 1;
}

void bd_encrypted_widen(struct bd_plan *plan)
{
	uint64_t end = plan->guest_off + plan->len + plan->tail;

	plan->head += (uint32_t)((plan->guest_off - plan->head) % BD_SECTOR);
	plan->tail += (uint32_t)(round_up(end, BD_SECTOR) - end);
}

static void encrypt_run(struct bd_work *work)
{
	struct req_op *rop = container_of(work, struct req_op, work);

	bd_sectors_encrypt(rop->layer->cipher, rop->iv_off, rop->bounce, rop->bounce_len);
}

static void encrypt_done(struct bd_work *work)
{
	struct req_op *rop = container_of(work, struct req_op, work);
	struct request *req = rop->req;

	rop->iov[0] = (struct iovec){rop->bounce, rop->bounce_len};
	rop->op.niov = 1;
	req->ops--; /* bd_req_op_submit() counts it again */
	bd_req_op_submit(rop, IO_WRITE, rop->layer->data, rop->to, rop->bounce_len, 0);
}

int bd_encrypted_write(struct request *req, struct req_op *rop, uint64_t host_off, uint64_t len)
{
	struct bd_node *node = req->pub.node;

	if (make_bounce(rop, (size_t)len) < 0)
		return -ENOMEM;
	bd_iov_to_buf(rop->iov, rop->op.niov, 0, rop->bounce, (size_t)len);
	rop->layer = node;
	rop->to = host_off;
	rop->iv_off = iv_off(node, host_off, req->plan.guest_off - req->plan.head);
	req->ops++;
	run(rop, encrypt_run, encrypt_done);
	return 0;
}
