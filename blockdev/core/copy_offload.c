/* SPDX-License-Identifier: MIT */
/*
 * Copies within the host's file systems: the kernel, or the server, moves the bytes or shares the
 * blocks.  Only where the target's bytes lie where the format says already, as in raw files.
 */
#include <errno.h>

#include "blockdev/base/bits.h"
#include "blockdev/core/copy.h"
#include "blockdev/core/format.h"

/* Where guest byte @off of the target lies; *len is cut.  -ENOTSUP: a write decides that. */
static int place(struct bd_node *dst, uint64_t off, uint64_t *len, uint64_t *host)
{
	struct bd_extent ext;
	int ret;

	if (dst->fmt->caps & BD_CAP_METADATA)
		return -ENOTSUP;
	ret = dst->fmt->map(dst, off, *len, &ext, 1, NULL);
	if (ret <= 0 || !(ext.flags & BD_EXTENT_HAS_OFFSET) || ext.flags & BD_EXTENT_ENCRYPTED)
		return ret < 0 ? ret : -ENOTSUP;
	*host = ext.host_off;
	*len = min_u64(*len, ext.len);
	return 0;
}

/* One extent of source @src at @from, to @off of the target.  Bytes copied; -errno. */
static int64_t copy_extent(struct bd_node *src, uint64_t from, struct bd_node *dst, uint64_t off,
			   uint64_t len)
{
	struct bd_extent ext;
	uint64_t host;
	int ret = bd_map(src, from, len, &ext, 1);

	if (ret <= 0 || ext.kind != BD_DATA || !ext.node ||
	    ext.flags & (BD_EXTENT_ENCRYPTED | BD_EXTENT_SPARSE | BD_EXTENT_CUT))
		return ret < 0 ? ret : -ENOTSUP;
	len = min_u64(len, ext.len);
	ret = place(dst, off, &len, &host);
	if (ret == 0)
		ret = io_copy_range(ext.node->data, ext.host_off, dst->data, host, len);
	return ret < 0 ? ret : (int64_t)len;
}

bool bd_copy_offload(struct copy_job *job, const struct copy_run *run)
{
	const struct bd_copy_args *args = job->args;
	uint64_t at = 0;

	/* The end of an odd source is zeros, which no file has. */
	while (job->offload && at < run->len) {
		uint64_t start, off = run->off + at;
		unsigned src = bd_copy_source(args, off, &start);
		uint64_t len = min_u64(run->len - at, job->dst_size - min_u64(off, job->dst_size));
		int64_t done = -ENOTSUP;

		if (len && off - start < bd_size(args->src[src]))
			done = copy_extent(args->src[src], off - start, args->dst, off, len);
		if (done < 0)
			job->offload = false;
		else
			at += (uint64_t)done;
	}
	return at == run->len;
}
