/* SPDX-License-Identifier: MIT */
/* qimg-io: what is read is kept in the image (-C). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/include/debug.h"
#include "blockdev/include/extent.h"
#include "qimg/io.h"

enum { PIECE = 1 << 20 }; /* bytes copied at a time */

static bool all_zero(const uint8_t *buf, size_t len)
{
	return !len || (!buf[0] && !memcmp(buf, buf + 1, len - 1));
}

/* [off, off+len) is nothing of the image's own: what shows through becomes its own. */
static int keep(struct bd_node *node, uint64_t off, uint64_t len, uint8_t *buf)
{
	uint64_t end = off + len;
	int ret = 0;

	while (off < end && ret == 0) {
		struct bd_extent ext;
		uint64_t n;

		ret = bd_map(node, off, end - off, &ext, 1);
		if (ret < 0)
			return ret;
		n = ext.len;
		bd_debug_event(node, "cor_write");
		if (ext.kind == BD_UNALLOCATED || ext.kind == BD_ZERO) {
			ret = bd_pwrite_zeroes(node, off, n, 0);
		} else {
			n = n < PIECE ? n : PIECE;
			ret = bd_pread(node, off, buf, (size_t)n);
			if (ret == 0)
				ret = all_zero(buf, (size_t)n)
					      ? bd_pwrite_zeroes(node, off, n, 0)
					      : bd_pwrite(node, off, buf, (size_t)n);
		}
		off += n;
	}
	return ret;
}

int io_keep_read(struct io_state *io, uint64_t off, uint64_t len)
{
	struct bd_node *node = io->node;
	uint64_t cluster = bd_cluster_size(node), size = bd_size(node), end;
	uint8_t *buf;
	int ret = 0;

	if (!io->how.copy_on_read || !(io->how.flags & BD_O_RDWR) || !cluster || off >= size)
		return 0;
	end = len > size - off ? size : off + len;
	off -= off % cluster;
	end = size - end < cluster ? size : (end + cluster - 1) / cluster * cluster;
	buf = malloc(PIECE);
	if (!buf)
		return -ENOMEM;
	io_aio_drain(io);
	while (off < end && ret == 0) {
		struct bd_extent ext;

		ret = bd_map_above(node, bd_backing(node), off, end - off, &ext, 1);
		if (ret < 0)
			break;
		ret = ext.kind == BD_UNALLOCATED ? keep(node, off, ext.len, buf) : 0;
		off += ext.len;
	}
	free(buf);
	return ret;
}
