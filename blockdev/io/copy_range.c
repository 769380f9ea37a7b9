/* SPDX-License-Identifier: MIT */
/* Copying between two local files by the host. */
#include <errno.h>
#include <unistd.h>

#include "blockdev/base/bits.h"
#include "blockdev/io/file.h"

enum { PIECE = 1 << 30 };

int io_copy_range(struct io_file *src, uint64_t src_off, struct io_file *dst, uint64_t dst_off,
		  uint64_t len)
{
	off_t from = (off_t)src_off, to = (off_t)dst_off;

	/* Filters have no descriptor: what they do must not be passed by. */
	if (src->fd < 0 || dst->fd < 0)
		return -ENOTSUP;
	while (len) {
		ssize_t done = copy_file_range(src->fd, &from, dst->fd, &to, min_u64(len, PIECE),
					       0);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? -errno : -EIO; /* the end of the file */
		len -= (uint64_t)done;
	}
	return 0;
}
