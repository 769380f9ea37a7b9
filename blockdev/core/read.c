/* SPDX-License-Identifier: MIT */
/* Reads: resolve a guest range, then move it with as few large operations as it has extents. */
#include <errno.h>

#include "blockdev/base/bits.h"
#include "blockdev/base/iov.h"
#include "blockdev/core/request.h"
#include "blockdev/core/resolve.h"

enum { EXTENTS = 8 };

void bd_reader_start(struct reader *reader, uint64_t off, uint64_t len, const struct iovec *iov,
		     int niov)
{
	*reader = (struct reader){.off = off, .len = len, .iov = iov, .niov = niov,
				  .active = true};
}

/* Queue the read of bytes [to, +len) of the reader's range at host offset @host_off. */
static int read_data(struct request *req, struct reader *reader, struct bd_node *layer,
		     uint64_t host_off, uint64_t to, uint64_t len)
{
	struct req_op *rop = bd_req_op_get(req);
	int ret;

	if (!rop)
		return 0;
	ret = bd_req_op_slice(rop, reader->iov, reader->niov, to, len);
	if (ret < 0) {
		bd_req_op_put(rop);
		return ret;
	}
	io_event(layer->file, layer == req->pub.node ? "read_aio" : "read_backing_aio");
	bd_req_op_submit(rop, IO_READ, layer->data, host_off, len, 0);
	return 1;
}

/* Bring one extent in.  1: queued or done; 0: parked; negative errno. */
static int read_extent(struct request *req, struct reader *reader, const struct bd_extent *ext)
{
	uint64_t from = reader->off + reader->pos;
	uint64_t skip = from - ext->guest_off;
	uint64_t len = min_u64(ext->len - skip, reader->len - reader->pos);
	int ret = 1;

	if (ext->kind == BD_DATA && ext->node->cipher)
		return bd_encrypted_read(req, reader, ext);
	switch (ext->kind) {
	case BD_DATA:
		ret = read_data(req, reader, ext->node, ext->host_off + skip, reader->pos, len);
		break;
	case BD_COMPRESSED:
		ret = bd_inflate_start(req, reader, ext, skip, reader->pos, len);
		break;
	default:
		bd_iov_memset(reader->iov, reader->niov, reader->pos, 0, len);
	}
	if (ret > 0)
		reader->pos += len;
	return ret;
}

int bd_reader_step(struct request *req, struct reader *reader)
{
	struct bd_node *node = req->pub.node;
	struct bd_extent ext[EXTENTS];

	while (reader->active && reader->pos < reader->len) {
		uint64_t off = reader->off + reader->pos;
		uint64_t len = reader->len - reader->pos;
		int nr;

		if (off >= node->size) {
			bd_iov_memset(reader->iov, reader->niov, reader->pos, 0, len);
			reader->pos = reader->len;
			break;
		}
		len = min_u64(len, node->size - off);
		nr = bd_resolve(node, NULL, off, len, ext, EXTENTS, &req->wait);
		if (nr == 0)
			return 0;
		for (int i = 0; i < nr && reader->pos < reader->len; i++) {
			int ret = read_extent(req, reader, &ext[i]);

			if (ret == 0)
				return 0;
			if (ret < 0)
				nr = ret;
		}
		if (nr < 0) {
			request_fail(req, nr);
			break;
		}
	}
	reader->active = false;
	return 1;
}
