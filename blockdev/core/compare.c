/* SPDX-License-Identifier: MIT */
/* Compare two disks: block status decides what must be read, a few chunks are read ahead. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/base/zero.h"
#include "blockdev/include/copy.h"

enum { CHUNK = 1 << 20, CHUNKS = 8, BATCH = 32, SECTOR = 512 };

/* One disk: its size and the block status known so far. */
struct side {
	struct bd_node *node;
	uint64_t size;
	struct bd_extent batch[BATCH];
	unsigned nr, pos;
};

/* A range both disks are read of; a disk that is known to be zero is not. */
struct chunk {
	struct compare *job;
	uint64_t off, len;
	uint8_t *buf[2];       /* CHUNK bytes */
	bool wanted[2];
	unsigned asked;        /* sides whose read has been started */
	unsigned reading;
	int res[2];
};

struct compare {
	struct bd_compare_args *args;
	struct side side[2];
	struct chunk chunks[CHUNKS];   /* a ring: first.. */
	unsigned first, count, in_flight;
	uint64_t next;                 /* what the next chunk starts at */
	uint64_t shorter, longer;      /* sizes */
	bool told;                     /* size_differs() has been called */
};

/* The extent at @off, what is left of it, at most to the end of the disk. */
static int status_at(struct compare *job, struct side *side, uint64_t off, struct bd_extent *out,
		     struct bd_error *err)
{
	int nr;

	while (side->pos < side->nr &&
	       off - side->batch[side->pos].guest_off >= side->batch[side->pos].len)
		side->pos++;
	if (side->pos == side->nr) {
		side->nr = side->pos = 0;
		nr = bd_map(side->node, off, side->size - off, side->batch, BATCH);
		if (nr <= 0) {
			job->args->status_failed = true;
			return bd_fail(err, nr ? nr : -EIO, "Sector allocation test failed for %s",
				       bd_filename(side->node));
		}
		side->nr = (unsigned)nr;
	}
	*out = side->batch[side->pos];
	out->len -= off - out->guest_off;
	out->guest_off = off;
	return 0;
}

static bool is_zero_extent(const struct bd_extent *ext)
{
	return ext->kind <= BD_ZERO || (ext->flags & BD_EXTENT_SPARSE);
}

/* What strict mode compares: how the range is described, not where it lies. */
static unsigned status_word(const struct bd_extent *ext, uint64_t size)
{
	bool zero = is_zero_extent(ext);
	unsigned word = zero;

	if (ext->kind != BD_UNALLOCATED)
		word |= 2;
	if (!zero)
		word |= 4;
	if (ext->flags & BD_EXTENT_HAS_OFFSET && !(ext->flags & BD_EXTENT_ENCRYPTED))
		word |= 8;
	if (ext->kind == BD_COMPRESSED)
		word |= 16;
	/* Like QEMU, whose status says that a range ends with its disk. */
	if (ext->guest_off + ext->len == size)
		word |= 32;
	return word;
}

static void read_done(struct bd_request *req)
{
	struct chunk *chunk = req->user;
	int side = req->one.iov_base == chunk->buf[1];

	chunk->res[side] = req->res;
	chunk->reading--;
	chunk->job->in_flight--;
	bd_request_put(req);
}

/* Start what is still missing.  False: no free request. */
static bool read_chunk(struct chunk *chunk)
{
	struct compare *job = chunk->job;

	for (; chunk->asked < 2; chunk->asked++) {
		struct bd_request *req;
		unsigned i = chunk->asked;

		if (!chunk->wanted[i])
			continue;
		req = bd_request_get(bd_node_queue(job->side[i].node));
		if (!req)
			return false;
		*req = (struct bd_request){
			.node = job->side[i].node,
			.off = chunk->off,
			.len = chunk->len,
			.done = read_done,
			.user = chunk,
			.one = { chunk->buf[i], chunk->len },
			.niov = 1,
		};
		req->iov = &req->one;
		chunk->reading++;
		job->in_flight++;
		bd_read(req);
	}
	return true;
}

/* First sector in which the chunk's buffers differ, or one is not zero; -1: none. */
static int64_t find_difference(const struct chunk *chunk)
{
	for (uint64_t pos = 0; pos < chunk->len; pos += SECTOR) {
		size_t len = min_u64(SECTOR, chunk->len - pos);
		bool same;

		if (chunk->wanted[0] && chunk->wanted[1])
			same = !memcmp(chunk->buf[0] + pos, chunk->buf[1] + pos, len);
		else
			same = bd_is_zero(chunk->buf[chunk->wanted[1]] + pos, len);
		if (!same)
			return (int64_t)pos;
	}
	return -1;
}

static int check_chunk(struct compare *job, const struct chunk *chunk, struct bd_error *err)
{
	int64_t pos;

	for (int i = 0; i < 2; i++) {
		if (chunk->res[i] < 0)
			return bd_fail_errno(err, chunk->res[i],
					     "Error while reading offset %" PRIu64 " of %s",
					     chunk->off, bd_filename(job->side[i].node));
	}
	pos = find_difference(chunk);
	if (pos < 0)
		return BD_SAME;
	job->args->offset = chunk->off + (uint64_t)pos;
	return BD_DIFFER_CONTENT;
}

/* Take the next range into the ring, or skip it.  > 0: a difference of status; negative errno. */
static int add_range(struct compare *job, struct bd_error *err)
{
	struct chunk *chunk = &job->chunks[(job->first + job->count) % CHUNKS];
	struct bd_extent ext[2];
	uint64_t off = job->next, len = job->longer - off;
	bool wanted[2] = { false, false };
	int ret;

	for (int i = 0; i < 2; i++) {
		/* Behind the end of the shorter disk zeros are expected. */
		if (off >= job->side[i].size)
			continue;
		ret = status_at(job, &job->side[i], off, &ext[i], err);
		if (ret < 0)
			return ret;
		len = min_u64(len, ext[i].len);
		wanted[i] = !is_zero_extent(&ext[i]);
	}
	if (job->args->strict && status_word(&ext[0], job->side[0].size) !=
					 status_word(&ext[1], job->side[1].size)) {
		job->args->offset = off;
		return BD_DIFFER_STATUS;
	}
	/* A run of zeros is one chunk of nothing to do: progress is told in order. */
	if (wanted[0] || wanted[1])
		len = min_u64(len, CHUNK);
	chunk->off = off;
	chunk->len = len;
	chunk->asked = wanted[0] || wanted[1] ? 0 : 2;
	chunk->reading = 0;
	for (int i = 0; i < 2; i++) {
		chunk->wanted[i] = wanted[i];
		chunk->res[i] = 0;
	}
	job->count++;
	job->next += len;
	return 0;
}

/* Judge the oldest chunks that are read. */
static int finish_chunks(struct compare *job, struct bd_error *err)
{
	while (job->count) {
		struct chunk *chunk = &job->chunks[job->first];
		int ret;

		if (chunk->asked < 2 || chunk->reading)
			return 0;
		ret = chunk->wanted[0] || chunk->wanted[1] ? check_chunk(job, chunk, err) : 0;
		if (ret)
			return ret;
		job->first = (job->first + 1) % CHUNKS;
		job->count--;
		if (job->args->progress)
			job->args->progress(chunk->off + chunk->len, job->longer, job->args->user);
	}
	return 0;
}

static void tell_size(struct compare *job)
{
	if (job->told || job->shorter == job->longer)
		return;
	job->told = true;
	if (job->args->size_differs)
		job->args->size_differs(job->args->user);
}

static int run(struct compare *job, struct bd_error *err)
{
	unsigned before;
	int later = 0, ret; /* later: a difference of status behind the chunks in flight */

	for (;;) {
		if (job->args->cancel && *job->args->cancel)
			return bd_fail(err, -ECANCELED, "interrupted");
		while (!later && job->count < CHUNKS && job->next < job->longer) {
			/* All before the shorter end is judged before anything behind it. */
			if (job->next >= job->shorter && !job->told &&
			    job->shorter != job->longer) {
				if (job->count)
					break;
				tell_size(job);
			}
			later = add_range(job, err);
		}
		for (unsigned i = 0; i < job->count; i++) {
			if (!read_chunk(&job->chunks[(job->first + i) % CHUNKS]))
				break;
		}
		/* Chunks of zeros need no wait. */
		before = job->count;
		ret = finish_chunks(job, err);
		if (ret)
			return ret;
		if (job->count != before)
			continue;
		if (!job->count)
			return later;
		if (!job->in_flight)
			return bd_fail_errno(err, -EBUSY, "Could not wait for I/O");
		ret = bd_queue_poll(bd_node_queue(job->side[0].node), true);
		if (ret < 0)
			return bd_fail_errno(err, ret, "Could not wait for I/O");
	}
}

static int init_job(struct compare *job, struct bd_error *err)
{
	for (int i = 0; i < 2; i++) {
		job->side[i].node = i ? job->args->b : job->args->a;
		job->side[i].size = bd_size(job->side[i].node);
	}
	job->shorter = min_u64(job->side[0].size, job->side[1].size);
	job->longer = max_u64(job->side[0].size, job->side[1].size);
	for (int i = 0; i < CHUNKS; i++) {
		job->chunks[i].job = job;
		for (int s = 0; s < 2; s++) {
			if (posix_memalign((void **)&job->chunks[i].buf[s], 4096, CHUNK)) {
				job->chunks[i].buf[s] = NULL;
				return bd_fail_errno(err, -ENOMEM, "Could not allocate buffers");
			}
		}
	}
	return 0;
}

int bd_compare(struct bd_compare_args *args, struct bd_error *err)
{
	struct compare *job = calloc(1, sizeof(*job));
	int ret;

	if (!job)
		return bd_fail_errno(err, -ENOMEM, "Could not allocate buffers");
	job->args = args;
	args->status_failed = false;
	ret = init_job(job, err);
	if (ret == 0 && args->strict && job->shorter != job->longer)
		ret = BD_DIFFER_SIZE;
	if (ret == 0) {
		ret = run(job, err);
		if (ret == BD_SAME)
			tell_size(job);
	}
	while (job->in_flight && bd_queue_poll(bd_node_queue(args->a), true) >= 0)
		;
	if (job->in_flight)
		return ret; /* the engine is broken and may still write to the buffers */
	for (int i = 0; i < CHUNKS; i++) {
		free(job->chunks[i].buf[0]);
		free(job->chunks[i].buf[1]);
	}
	free(job);
	return ret;
}
