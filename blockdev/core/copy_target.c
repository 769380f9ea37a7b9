/* SPDX-License-Identifier: MIT */
/* Writing a piece of a copy: data, holes, compressed clusters; one request after the other. */
#include <errno.h>
#include <time.h>

#include "blockdev/base/bits.h"
#include "blockdev/base/zero.h"
#include "blockdev/core/copy.h"

uint64_t bd_copy_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/*
 * As aligned_run() below for whole blocks of @align sectors: one that is not all zeros is data.  To
 * tell that takes one line of the processor's cache where it takes two for each sector otherwise.
 */
static uint64_t block_run(const uint8_t *buf, uint64_t nr, uint64_t align, bool *zero)
{
	size_t size = (size_t)align * COPY_SECTOR;
	uint64_t run = align;

	*zero = bd_is_zero(buf, size);
	while (run + align <= nr && bd_is_zero(buf + run * COPY_SECTOR, size) == *zero)
		run += align;
	return run;
}

/*
 * The first run of alike sectors of @buf (@nr sectors, the first is number @sector).
 * A run of zeros shrinks to aligned ends, a run of data grows to them.  Returns its length.
 */
static uint64_t aligned_run(const uint8_t *buf, uint64_t nr, uint64_t sector, uint64_t align,
			    bool *zero)
{
	uint64_t run, tail;

	if (!(sector & (align - 1)) && nr >= align)
		return block_run(buf, nr, align, zero);
	run = bd_zero_run(buf, nr, zero);
	tail = (sector + run) & (align - 1);
	if (run == nr || !tail)
		return run;
	if (*zero && run > tail)
		return run - tail;
	*zero = false; /* too few zeros to reach a border */
	return min_u64(run + align - tail, nr);
}

/*
 * The first range of @buf to be written, or to be left out (*zero).  Runs of zeros shorter than
 * @least sectors do not interrupt a range of data.
 */
static uint64_t sparse_run(const uint8_t *buf, uint64_t nr, uint64_t sector, uint64_t align,
			   uint64_t least, bool *zero)
{
	uint64_t pos = aligned_run(buf, nr, sector, align, zero);
	uint64_t used = pos;

	least = min_u64(least, nr);
	while (!*zero && pos < nr) {
		bool hole;
		uint64_t run = aligned_run(buf + pos * COPY_SECTOR, nr - pos, sector + pos,
					   align, &hole);

		if (hole && run >= least)
			break;
		pos += run;
		if (!hole)
			used = pos;
	}
	return used;
}

/* How the next request of @slot looks. */
struct step {
	enum { SKIP, WRITE, WRITE_COMPRESSED, WRITE_PACKED, WRITE_ZEROES } what;
	uint64_t len;
};

static struct step next_step(const struct copy_slot *slot)
{
	const struct copy_job *job = slot->job;
	const struct bd_copy_args *args = job->args;
	uint64_t pos = slot->write_pos, left = slot->run.len - pos;
	bool zero = slot->run.kind == COPY_ZERO && args->sparse_size;
	struct step step = { .what = slot->run.kind == COPY_PACKED ? WRITE_PACKED : WRITE,
			     .len = left };

	if (slot->run.kind == COPY_DATA) {
		const uint8_t *buf = slot->buf + pos;
		uint64_t sector = (slot->run.off + pos) / COPY_SECTOR;

		if (args->compress) {
			step.what = WRITE_COMPRESSED;
			step.len = min_u64(left, job->scan.cluster);
			zero = args->sparse_size && bd_is_zero(buf, step.len);
		} else if (args->sparse_size && !args->exact) {
			step.len = COPY_SECTOR *
				   sparse_run(buf, left / COPY_SECTOR, sector, job->align,
					      args->sparse_size / COPY_SECTOR, &zero);
		}
	}
	/* Without holes, zeros of the source are in the buffer as data are. */
	if (zero)
		step.what = args->dst_is_zero ? SKIP : WRITE_ZEROES;
	return step;
}

static void write_done(struct bd_request *req)
{
	struct copy_slot *slot = req->user;

	if (req->res < 0 && !slot->res) {
		slot->res = req->res;
		slot->write_failed = true;
	}
	if (slot->job->last == req)
		slot->job->last = NULL;
	slot->writing--;
	slot->job->in_flight--;
	bd_request_put(req);
}

static void start_write(struct copy_slot *slot, struct bd_request *req, struct step step,
			uint64_t off, uint64_t len)
{
	struct copy_job *job = slot->job;

	*req = (struct bd_request){
		.node = job->args->dst,
		.off = off,
		.len = len,
		.done = write_done,
		.user = slot,
	};
	slot->writing++;
	job->in_flight++;
	job->last = req;
	job->last_end = off + len;
	if (step.what == WRITE_ZEROES) {
		req->flags = BD_REQ_UNMAP;
		bd_write_zeroes(req);
		return;
	}
	req->one = (struct iovec){ slot->buf + slot->write_pos, len };
	req->iov = &req->one;
	req->niov = 1;
	if (step.what == WRITE_PACKED) {
		req->one.iov_len = slot->packed_len;
		req->flags = BD_REQ_PACKED;
	}
	if (step.what == WRITE_COMPRESSED || step.what == WRITE_PACKED)
		bd_write_compressed(req);
	else
		bd_write(req);
}

/*
 * Two writes to one new cluster are carried out one after the other, and those behind them would
 * overtake: clusters would no longer lie in the order of the disk.
 */
static bool must_wait(const struct copy_job *job, uint64_t off)
{
	return job->cluster && job->last && off % job->cluster &&
	       (job->last_end - 1) / job->cluster == off / job->cluster;
}

/* Within the rate limit?  Then account for @len bytes. */
static bool rate_allows(struct copy_job *job, uint64_t len)
{
	uint64_t now;

	if (!job->args->rate)
		return true;
	now = bd_copy_now();
	if (now < job->rate_ns)
		return false;
	job->rate_ns = max_u64(now, job->rate_ns) +
		       (uint64_t)((double)len * 1e9 / (double)job->args->rate);
	return true;
}

int bd_copy_write(struct copy_slot *slot)
{
	struct copy_job *job = slot->job;

	while (slot->write_pos < slot->run.len && !slot->res) {
		struct step step = next_step(slot);
		uint64_t off = slot->run.off + slot->write_pos;
		uint64_t len = off < job->dst_size ? min_u64(step.len, job->dst_size - off) : 0;

		if (step.what != SKIP && len) {
			struct bd_request *req;

			if (must_wait(job, off) || !(req = bd_request_get(job->queue)))
				return 0;
			if (!rate_allows(job, step.what == WRITE_ZEROES ? 0 : len)) {
				bd_request_put(req);
				return 0;
			}
			start_write(slot, req, step, off, len);
		}
		slot->write_pos += step.len;
	}
	return slot->res ? slot->res : 1;
}
