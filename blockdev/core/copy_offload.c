/* SPDX-License-Identifier: MIT */
/*
 * Copies within the host's file systems: the kernel, or the server, moves the bytes or shares the
 * blocks.  Where the target has clusters only whole ones go this way; what is cut off is written.
 */
#include <errno.h>

#include "blockdev/base/bits.h"
#include "blockdev/core/copy.h"
#include "blockdev/core/request.h"

struct clone {
	bool over;
	int res;
};

static void clone_done(struct bd_request *req)
{
	struct clone *state = req->user;

	state->over = true;
	state->res = req->res;
	bd_request_put(req);
}

/* @len bytes at @off of the target from @from of @src.  Blocks; others' requests go on. */
static int clone(struct copy_job *job, struct io_file *src, uint64_t from, uint64_t off,
		 uint64_t len)
{
	struct clone state = {0};
	struct bd_request *req;
	int ret = 0;

	while (!(req = bd_request_get(job->queue)) && ret >= 0)
		ret = bd_queue_poll(job->queue, true);
	if (!req)
		return ret;
	*req = (struct bd_request){.node = job->args->dst, .off = off, .len = len,
				   .done = clone_done, .user = &state};
	bd_write_clone(req, src, from);
	while (!state.over && ret >= 0)
		ret = bd_queue_poll(job->queue, true);
	return state.over ? state.res : ret;
}

/* How much of [off, off+len) is whole clusters from @off on; 0: *len is cut before the next. */
static uint64_t whole(const struct copy_job *job, uint64_t off, uint64_t *len)
{
	uint64_t unit = bd_cluster_size(job->args->dst);
	uint64_t next;

	if (unit <= 1)
		return *len;
	next = round_up(off, unit);
	if (next == off && *len >= unit)
		return round_down(*len, unit);
	if (next != off)
		*len = min_u64(*len, next - off);
	return 0;
}

uint64_t bd_copy_offload(struct copy_job *job, uint64_t off, uint64_t *len)
{
	const struct bd_copy_args *args = job->args;
	uint64_t start, part = whole(job, off, len);
	unsigned i = bd_copy_source(args, off, &start);
	struct bd_node *src = args->src[i];
	struct bd_extent ext;
	int ret;

	part = min_u64(part, job->dst_size - min_u64(off, job->dst_size));
	/* The end of an odd source is zeros, which no file has. */
	if (!part || off - start >= bd_size(src))
		return 0;
	ret = bd_map(src, off - start, min_u64(part, bd_size(src) - (off - start)), &ext, 1);
	if (ret <= 0 || ext.kind != BD_DATA || !ext.node ||
	    ext.flags & (BD_EXTENT_ENCRYPTED | BD_EXTENT_SPARSE | BD_EXTENT_CUT))
		return 0;
	part = min_u64(part, ext.len);
	part = round_down(whole(job, off, &part), COPY_SECTOR);
	if (!part)
		return 0;
	if (clone(job, ext.node->data, ext.host_off, off, part) < 0) {
		job->offload = false;
		return 0;
	}
	return part;
}
