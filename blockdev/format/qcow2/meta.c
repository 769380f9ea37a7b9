/* SPDX-License-Identifier: MIT */
/* Blocking use of the allocator, on a drained image: tables, preallocation, write-back. */
#include <errno.h>
#include <stdlib.h>

#include "blockdev/base/be.h"
#include "blockdev/base/bits.h"
#include "blockdev/core/queue.h"
#include "blockdev/format/qcow2/alloc.h"

struct blocking {
	struct bd_wait wait;
	bool woken;
};

static void woken(struct bd_wait *wait)
{
	container_of(wait, struct blocking, wait)->woken = true;
}

static bool at_rest(const struct qcow2 *q)
{
	return q->alloc->step == ROUND_IDLE && !q->alloc->starting && !q->alloc->nr_runs &&
	       !metacache_is_dirty(q->l2_cache) && !metacache_is_dirty(q->refcount_cache) &&
	       !q->l1_is_dirty && !q->reftable_is_dirty;
}

static int wait_idle(struct qcow2 *q)
{
	while (q->alloc->step != ROUND_IDLE || q->alloc->starting) {
		int ret = bd_queue_poll(q->node->queue, true);

		if (ret < 0)
			return ret;
	}
	return 0;
}

int qcow2_flush_once(struct qcow2 *q)
{
	struct blocking state = {.wait.resume = woken};
	int ret = 0;

	qcow2_flush_counts(q, &state.wait);
	while (!ret && !state.woken)
		ret = bd_queue_poll(q->node->queue, true) < 0 ? -EIO : 0;
	if (ret == 0)
		ret = state.wait.res;
	if (ret == 0)
		ret = wait_idle(q);
	/* What was asked for is durable; but it ended before all frees were applied. */
	return ret < 0 ? ret : q->alloc->failed;
}

int qcow2_flush_all(struct qcow2 *q)
{
	do {
		int ret = qcow2_flush_once(q);

		if (ret < 0)
			return ret;
	} while (!at_rest(q));
	return 0;
}

/* As qcow2_alloc_run(), growing the refcount table when it must. */
static int alloc_blocking(struct qcow2 *q, uint64_t want, uint64_t *off, uint64_t *got)
{
	for (;;) {
		int ret = qcow2_alloc_run(q, want, NULL, off, got);

		if (ret != -EAGAIN)
			return ret < 0 ? ret : 0;
		ret = qcow2_slow(q->node);
		if (ret < 0)
			return ret;
	}
}

int qcow2_alloc_meta(struct qcow2 *q, uint64_t len, uint64_t *off)
{
	uint64_t nr = div_up(len, q->cluster_size), have = 0;

	/* Refcount blocks lie at the start of what they count: longer runs cannot be found. */
	if (nr >= UINT64_C(1) << (q->cluster_bits + 2 - q->refcount_order))
		return qcow2_alloc_span(q, nr, off);

	io_event(q->node->file, "cluster_alloc");
	while (have < nr) {
		uint64_t run, got;
		int ret = alloc_blocking(q, nr - have, &run, &got);

		if (ret < 0)
			return ret;
		if (have && run != *off + (have << q->cluster_bits)) {
			qcow2_free_later(q, *off, have << q->cluster_bits, QCOW2_FREE_OTHER);
			have = 0;
		}
		if (!have)
			*off = run;
		have += got;
	}
	metacache_drop(q->l2_cache, *off, nr << q->cluster_bits);
	return 0;
}

int qcow2_free_meta(struct qcow2 *q, uint64_t off, uint64_t len)
{
	metacache_drop(q->l2_cache, off, len);
	qcow2_free_later(q, off, len, QCOW2_FREE_OTHER);
	return 0;
}

/*
 * Clusters of the file as it was, @old_len bytes, may hold what was there before; those behind its
 * end read as zeros.  With subclusters nothing shows of a cluster before it is written.
 */
static int clear_old(struct qcow2 *q, uint64_t host, uint64_t len,
		     const struct qcow2_prealloc *done)
{
	if (q->incompatible & QCOW2_INCOMPAT_DATA_FILE || q->extended_l2 || host >= done->old_len)
		return 0;
	return io_pzero(q->node->file, host, min_u64(len, done->old_len - host),
			done->space ? 0 : IO_UNMAP);
}

/* Entries of one L2 table for clusters that have none, over freshly taken host clusters. */
static int fill_table(struct qcow2 *q, uint8_t *table, uint64_t first, uint64_t nr, uint64_t guest,
		      struct qcow2_prealloc *done)
{
	unsigned words = q->l2_entry_size / 8;

	while (nr) {
		uint64_t host = guest, got = nr;
		int ret = 0;

		if (!(q->incompatible & QCOW2_INCOMPAT_DATA_FILE))
			ret = alloc_blocking(q, nr, &host, &got);
		if (ret == 0)
			ret = clear_old(q, host, got << q->cluster_bits, done);
		if (ret < 0)
			return ret;
		for (uint64_t i = 0; i < got; i++) {
			be64 *at = (be64 *)table + (first + i) * words;

			at[0] = be64_make((host + (i << q->cluster_bits)) | QCOW2_OFLAG_COPIED);
			if (q->extended_l2)
				at[1] = be64_make(0); /* like QEMU: reserved, not filled */
		}
		done->end = max_u64(done->end, host + (got << q->cluster_bits));
		first += got;
		nr -= got;
		guest += got << q->cluster_bits;
	}
	return 0;
}

/*
 * One L2 table that maps clusters [first, first+nr) of L1 entry @idx.  It is always a new one: that
 * which is there may belong to a snapshot too, and must not name clusters before they are counted.
 */
static int preallocate_table(struct qcow2 *q, uint64_t idx, uint64_t first, uint64_t nr,
			     struct qcow2_prealloc *done)
{
	uint64_t guest = (idx << q->l2_bits) + first, off;
	uint8_t *table = calloc(1, q->cluster_size);
	uint64_t old = q->l1[idx] & QCOW2_OFFSET_MASK;
	int ret = table ? 0 : -ENOMEM;

	if (ret == 0 && old)
		ret = io_pread(q->node->file, old, table, q->cluster_size);
	if (ret == 0)
		ret = qcow2_alloc_meta(q, q->cluster_size, &off);
	if (ret == 0)
		ret = fill_table(q, table, first, nr, guest << q->cluster_bits, done);
	if (ret == 0)
		ret = io_pwrite(q->node->file, off, table, q->cluster_size);
	if (ret == 0) {
		metacache_drop(q->l2_cache, off, q->cluster_size);
		ret = qcow2_gate(q, NULL) < 0 ? -EIO : 0;
	}
	if (ret == 0) {
		qcow2_l1_set(q, idx, off | QCOW2_OFLAG_COPIED);
		if (old)
			qcow2_free_meta(q, old, q->cluster_size);
	}
	free(table);
	return ret;
}

int qcow2_preallocate(struct qcow2 *q, uint64_t off, uint64_t len, struct qcow2_prealloc *done,
		      struct bd_error *err)
{
	uint64_t pos = off >> q->cluster_bits;
	uint64_t end = div_up(off + len, q->cluster_size);
	int ret = 0;

	while (pos < end && ret == 0) {
		uint64_t idx = pos >> q->l2_bits;
		uint64_t first = pos & ((UINT64_C(1) << q->l2_bits) - 1);
		uint64_t nr = min_u64(end - pos, (UINT64_C(1) << q->l2_bits) - first);

		ret = preallocate_table(q, idx, first, nr, done);
		pos += nr;
	}
	q->node->wrote = true;
	if (ret == 0)
		ret = qcow2_flush_all(q);
	return ret < 0 ? bd_fail_errno(err, ret, "Preallocation failed") : 0;
}
