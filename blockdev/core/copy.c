/* SPDX-License-Identifier: MIT */
/*
 * The copy job: pieces are read into slots, slots are written out in order.
 *
 *   idle --start--> active: reading -> read -> written in order --all issued--> draining --> idle
 *
 * Callbacks only count; one loop in run() decides.  So nothing here is called from two places.
 */
#include "blockdev/core/copy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "blockdev/base/bits.h"

enum { DEFAULT_PARALLEL = 8, MAX_PARALLEL = 64 };

static void read_done(struct bd_request *req)
{
	struct copy_slot *slot = req->user;

	if (req->res < 0 && !slot->res)
		slot->res = req->res;
	slot->reading--;
	slot->job->in_flight--;
	bd_request_put(req);
}

/* Where the slot's next bytes come from; 0: behind the odd end of a source, so zeros. */
static uint64_t source_part(const struct copy_slot *slot, struct bd_node **node, uint64_t *off)
{
	const struct bd_copy_args *args = slot->job->args;
	uint64_t pos = slot->run.off + slot->read_pos;
	uint64_t start, left = slot->run.len - slot->read_pos;
	unsigned src = bd_copy_source(args, pos, &start);

	*node = args->src[src];
	*off = pos - start;
	if (*off >= bd_size(*node))
		return 0;
	return min_u64(left, bd_size(*node) - *off);
}

/* Ask for what is not yet on its way.  1: all of it is, 0: no free request. */
static int read_slot(struct copy_slot *slot)
{
	if (slot->run.kind == COPY_PACKED && slot->read_pos < slot->run.len)
		bd_copy_read_packed(slot);
	while (slot->read_pos < slot->run.len) {
		struct bd_request *req;
		struct bd_node *node;
		uint64_t off, len = source_part(slot, &node, &off);

		if (!len) {
			len = min_u64(COPY_SECTOR - off % COPY_SECTOR,
				      slot->run.len - slot->read_pos);
			memset(slot->buf + slot->read_pos, 0, len);
			slot->read_pos += len;
			continue;
		}
		req = bd_request_get(slot->job->queue);
		if (!req)
			return 0;
		*req = (struct bd_request){
			.node = node,
			.off = off,
			.len = len,
			.done = read_done,
			.user = slot,
			.one = { slot->buf + slot->read_pos, len },
			.niov = 1,
		};
		req->iov = &req->one;
		slot->read_pos += len;
		slot->reading++;
		slot->job->in_flight++;
		bd_read(req);
	}
	return 1;
}

/* A piece could not be read: sector by sector, zeros for those that cannot.  Blocks. */
static void salvage(struct copy_slot *slot)
{
	const struct bd_copy_args *args = slot->job->args;
	char line[128];

	slot->run.kind = COPY_DATA;
	for (slot->read_pos = 0; slot->read_pos < slot->run.len;) {
		struct bd_node *node;
		uint64_t off, len = min_u64(source_part(slot, &node, &off), COPY_SECTOR);
		uint8_t *buf = slot->buf + slot->read_pos;
		int ret = len ? bd_pread(node, off, buf, len) : 0;

		if (!len)
			len = min_u64(COPY_SECTOR - off % COPY_SECTOR,
				      slot->run.len - slot->read_pos);
		if (ret < 0 || off >= bd_size(node))
			memset(buf, 0, len);
		if (ret < 0 && args->warn) {
			snprintf(line, sizeof(line),
				 "error while reading offset %" PRIu64 ": %s", off,
				 strerror(-ret));
			args->warn(line, args->user);
		}
		slot->read_pos += len;
	}
	slot->res = 0;
}

static void slot_failed(struct copy_slot *slot)
{
	struct copy_job *job = slot->job;

	/* Several may fail at once: the first byte is the one to report. */
	if (job->res && job->res_off < slot->run.off)
		return;
	job->res = slot->res;
	job->res_write = slot->write_failed;
	job->res_off = slot->run.off;
}

/* Take slots whose last request has ended back into the pool. */
static void drain_slots(struct copy_job *job)
{
	struct link *link = job->draining.next;

	while (link != &job->draining) {
		struct copy_slot *slot = container_of(link, struct copy_slot, link);

		link = link->next;
		if (slot->reading || slot->writing)
			continue;
		if (slot->res < 0)
			slot_failed(slot);
		list_del(&slot->link);
		list_add_tail(&job->idle, &slot->link);
	}
}

/* Issue writes: the oldest slot first; the next one once all of that is on its way. */
static void write_slots(struct copy_job *job)
{
	struct link *link = job->active.next;

	while (link != &job->active) {
		struct copy_slot *slot = container_of(link, struct copy_slot, link);
		bool filled = slot->read_pos == slot->run.len && !slot->reading;
		int ret = 0;

		link = link->next;
		if (filled && slot->res && !slot->write_pos && job->args->salvage)
			salvage(slot);
		if (filled)
			ret = slot->res ? slot->res : bd_copy_write(slot);
		if (ret) {
			list_del(&slot->link);
			list_add_tail(&job->draining, &slot->link);
		}
		if (ret < 0 || (!ret && !job->args->out_of_order))
			return;
	}
}

static void show_progress(const struct copy_job *job, uint64_t done)
{
	if (job->args->progress)
		job->args->progress(done, job->total, job->args->user);
}

/*
 * A piece is taken up: with qemu-img that is the moment when it counts, so that the percentages do
 * not depend on the order in which writes end.  Compressed clusters count one by one.
 */
static void count_piece(struct copy_job *job, const struct copy_run *piece)
{
	uint64_t left = bd_copy_counts(job->args, piece->kind) ? piece->len : 0;

	while (left && job->args->count_first) {
		uint64_t step = job->args->compress ? min_u64(job->scan.cluster, left) : left;

		left -= step;
		job->done += step;
		show_progress(job, min_u64(job->done, job->total));
	}
}

/* Put pieces into idle slots.  1: there is more to do, 0: the end is reached. */
static int start_slots(struct copy_job *job, struct bd_error *err)
{
	while (job->next < job->scan.total) {
		struct copy_slot *slot;
		struct copy_run piece;
		uint64_t copied = 0;
		int ret;

		if (list_empty(&job->idle))
			return 1;
		ret = bd_copy_scan_next(&job->scan, job->next, &piece, err);
		if (ret < 0)
			return ret;
		if (piece.kind == COPY_DATA && job->offload)
			copied = bd_copy_offload(job, piece.off, &piece.len);
		if (copied)
			piece.len = copied;
		job->next += piece.len;
		count_piece(job, &piece);
		if (bd_copy_skips(job->args, piece.kind))
			continue;
		if (copied)
			return 1; /* so that progress is seen */
		slot = container_of(job->idle.next, struct copy_slot, link);
		list_del(&slot->link);
		list_add_tail(&job->active, &slot->link);
		slot->run = piece;
		slot->read_pos = slot->write_pos = 0;
		slot->res = 0;
		slot->write_failed = false;
		if (piece.kind == COPY_ZERO) {
			slot->read_pos = piece.len;
			if (!job->args->sparse_size)
				memset(slot->buf, 0, piece.len);
		}
	}
	return 0;
}

/* Continue reads that found no free request; start those of new slots. */
static void read_slots(struct copy_job *job)
{
	for (struct link *link = job->active.next; link != &job->active; link = link->next) {
		struct copy_slot *slot = container_of(link, struct copy_slot, link);

		if (!slot->res && !read_slot(slot))
			return;
	}
}

/* Wait for something to happen: a completion, or the time the rate limit allows more. */
static int wait_turn(struct copy_job *job)
{
	struct timespec pause = { 0 };
	uint64_t now;

	if (job->in_flight) {
		job->idle_turns = 0;
		return bd_queue_poll(job->queue, true);
	}
	now = bd_copy_now();
	if (!job->args->rate || now >= job->rate_ns) {
		/* Once is fine (a blocking call ran the callbacks); twice: no requests. */
		return job->idle_turns++ ? -EBUSY : 0;
	}
	pause.tv_nsec = (long)min_u64(job->rate_ns - now, 100000000);
	nanosleep(&pause, NULL);
	return 0;
}

static bool cancelled(const struct copy_job *job)
{
	return job->args->cancel && *job->args->cancel;
}

/* Until all is written or something failed. */
static int run(struct copy_job *job, struct bd_error *err)
{
	uint64_t shown = 0;
	int more = 1, ret = 0;

	for (;;) {
		drain_slots(job);
		if (!job->args->count_first && job->next != shown) {
			shown = job->next;
			show_progress(job, min_u64(shown, job->total));
		}
		if (!job->res && cancelled(job))
			return bd_fail(err, -ECANCELED, "interrupted");
		if (job->res)
			return 0;
		if (more)
			more = start_slots(job, err);
		if (more < 0)
			return more;
		read_slots(job);
		write_slots(job);
		if (list_empty(&job->active) && list_empty(&job->draining)) {
			if (!more)
				return 0;
			continue;
		}
		/* A slot that ended without a request of its own needs no wait. */
		drain_slots(job);
		if (list_empty(&job->active) && list_empty(&job->draining))
			continue;
		ret = job->res ? 0 : wait_turn(job);
		if (ret < 0)
			return bd_fail_errno(err, ret, "Could not wait for I/O");
	}
}

static void clear_job(struct copy_job *job)
{
	while (job->in_flight && bd_queue_poll(job->queue, true) >= 0)
		;
	if (!job->in_flight && job->slots)
		drain_slots(job);
	/* With a broken engine the buffers may still be written to: better lost than reused. */
	if (job->in_flight)
		return;
	for (unsigned i = 0; job->slots && i < job->nr_slots; i++)
		free(job->slots[i].buf);
	free(job->slots);
	bd_copy_scan_clear(&job->scan);
}

static int init_job(struct copy_job *job, struct bd_error *err)
{
	const struct bd_copy_args *args = job->args;
	uint64_t align = bd_request_align(args->dst);
	int ret;

	list_init(&job->idle);
	list_init(&job->active);
	list_init(&job->draining);
	job->queue = bd_node_queue(args->dst);
	job->dst_size = bd_size(args->dst);
	job->cluster = args->out_of_order || args->compress ? 0 : bd_cluster_size(args->dst);
	job->offload = args->offload && !args->rate && !args->compress;
	job->align = 1;
	if (args->sparse_size >= COPY_SECTOR)
		job->align = 1ull << log2_floor(args->sparse_size / COPY_SECTOR);
	job->align = max_u64(job->align, div_up(align ? align : 1, COPY_SECTOR));
	ret = bd_copy_scan_init(&job->scan, args, err);
	if (ret < 0)
		return ret;
	job->nr_slots = args->parallel ? args->parallel : DEFAULT_PARALLEL;
	job->nr_slots = min_u64(job->nr_slots, MAX_PARALLEL);
	job->slots = calloc(job->nr_slots, sizeof(*job->slots));
	if (!job->slots)
		return bd_fail_errno(err, -ENOMEM, "Could not allocate buffers");
	for (unsigned i = 0; i < job->nr_slots; i++) {
		struct copy_slot *slot = &job->slots[i];

		slot->job = job;
		/* Aligned for any O_DIRECT file. */
		if (posix_memalign((void **)&slot->buf, 4096, COPY_BUFFER)) {
			slot->buf = NULL;
			return bd_fail_errno(err, -ENOMEM, "Could not allocate buffers");
		}
		list_add_tail(&job->idle, &slot->link);
	}
	return 0;
}

/* The format refuses compressed data where a cluster is allocated: tell that from a bad disk. */
static void explain(const struct copy_job *job, struct bd_error *err)
{
	struct bd_extent ext;

	if (job->res != -EIO || !job->res_write || !job->args->compress)
		return;
	if (bd_map_above(job->args->dst, bd_backing(job->args->dst), job->res_off, COPY_SECTOR,
			 &ext, 1) == 1 && ext.kind >= BD_DATA)
		bd_hint(err, "Compressed data cannot be written where the target has data "
			     "already.");
}

int bd_copy(const struct bd_copy_args *args, struct bd_error *err)
{
	struct copy_job job = { .args = args };
	int ret = init_job(&job, err);

	job.total = job.scan.total;
	if (ret == 0 && args->count_first)
		ret = bd_copy_scan_count(&job.scan, &job.total, err);
	if (ret == 0) {
		show_progress(&job, 0);
		ret = run(&job, err);
	}
	clear_job(&job);
	if (ret == 0 && job.res) {
		ret = bd_fail_errno(err, job.res, "error while %s at byte %" PRIu64,
				    job.res_write ? "writing" : "reading", job.res_off);
		explain(&job, err);
	}
	if (ret < 0)
		return ret;
	ret = bd_sync(args->dst);
	if (ret < 0)
		return bd_fail_errno(err, ret, "Could not flush the target");
	show_progress(&job, job.total);
	return 0;
}
