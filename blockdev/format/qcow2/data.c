/* SPDX-License-Identifier: MIT */
/* Life of the data plane: caches and allocator from open to close. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/core/metacache_file.h"
#include "blockdev/core/queue.h"
#include "blockdev/core/report.h"
#include "blockdev/format/qcow2/alloc.h"
#include "blockdev/format/qcow2/bitmap.h"
#include "blockdev/format/qcow2/overlap.h"

const struct bd_write_ops qcow2_write_ops = {
	.plan = qcow2_tracked_plan,
	.publish = qcow2_publish,
	.abort = qcow2_abort,
	.zero = qcow2_tracked_zero,
	.discard = qcow2_tracked_discard,
	.plan_compressed = qcow2_tracked_compressed,
	.flush = qcow2_flush,
	.first_write = qcow2_first_write,
	.slow = qcow2_slow,
};

static int alloc_new(struct qcow2 *q)
{
	struct qcow2_alloc *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	a->q = q;
	list_init(&a->want_free_room);
	list_init(&a->gate);
	list_init(&a->table_gate);
	list_init(&a->now);
	list_init(&a->next);
	list_init(&a->want_l2);
	list_init(&a->wait.link);
	list_init(&a->l2_wait.link);
	q->alloc = a;
	return 0;
}

static int cache_new(struct qcow2 *q, uint32_t table_size, uint64_t bytes, const char *load,
		     const char *write, struct metacache **out)
{
	struct metacache_args args = {
		.queue = q->node->queue, .file = q->node->file, .table_size = table_size,
		.max_slots = (uint32_t)min_u64(max_u64(bytes / table_size, 2), UINT32_MAX / 2),
		.clean_interval = q->cache_clean_interval, .load_event = load,
		.write_event = write, .need_round = qcow2_round_need, .owner = q,
		.edited_in_flight = out == &q->refcount_cache, /* L2 has the gate */
		.no_reuse = out == &q->l2_cache && q->no_l2_cache,
		.second = out == &q->l2_cache ? q->l2_second : NULL,
	};

	return metacache_new(&args, out);
}

/* Without the cache file everything works, only slower: a failure is a warning. */
static void second_open(struct qcow2 *q)
{
	uint64_t l1_span = (uint64_t)q->l1_size << q->l2_bits;
	struct metacache_file_args args = {
		.queue = q->node->queue, .path = q->l2_cache_file, .image = q->node->file,
		.table_size = q->l2_slice_size,
		.tables = l1_span * q->l2_entry_size / q->l2_slice_size,
		.trust = !(q->node->flags & BD_O_FORCE_SHARE),
	};
	struct bd_error err = {0};

	if (!q->l2_cache_file)
		return;
	if (metacache_file_open(&args, &q->l2_second, &err) < 0)
		bd_report("warning: No L2 cache file: %s", err.msg[0] ? err.msg : "out of memory");
}

static void second_close(struct qcow2 *q, bool seal)
{
	while (q->l2_second && metacache_file_busy(q->l2_second)) {
		if (bd_queue_poll(q->node->queue, true) < 0)
			break;
	}
	metacache_file_close(q->l2_second, seal && !(q->node->flags & BD_O_FORCE_SHARE));
	q->l2_second = NULL;
}

int qcow2_data_start(struct qcow2 *q, struct bd_error *err)
{
	int ret = alloc_new(q);

	second_open(q);
	if (ret == 0)
		ret = cache_new(q, q->l2_slice_size, q->l2_cache_size, "l2_load", "l2_update",
				&q->l2_cache);
	if (ret == 0)
		ret = cache_new(q, q->cluster_size,
				max_u64(q->refcount_cache_size, 4 * (uint64_t)q->cluster_size),
				NULL, "refblock_update_part", &q->refcount_cache);
	q->l1_dirty = calloc(1, q->l1_size / 64 + 1);
	q->reftable_dirty = calloc(1, q->reftable_size / 64 + 1);
	if (ret == 0 && (!q->l1_dirty || !q->reftable_dirty))
		ret = -ENOMEM;
	return ret < 0 ? bd_fail(err, ret, "Could not allocate metadata caches") : 0;
}

/* The last host cluster is complete on disk: no reader meets a short one. */
static int round_file_up(struct qcow2 *q)
{
	int64_t len = io_length(q->node->file);
	uint64_t end;
	int ret = 0;

	if (len < 0)
		return (int)len;
	end = round_up((uint64_t)len, q->cluster_size);
	if (end != (uint64_t)len)
		ret = io_resize(q->node->file, end, "off", NULL);
	/* A truncation to the same length gives back what was reserved behind it. */
	if (ret == 0 && q->alloc->reserved)
		ret = io_resize(q->node->file, end, "off", NULL);
	return ret;
}

/* What is lost with the image closed, as QEMU says it; nothing if nothing was ever changed. */
static void report_loss(const struct qcow2 *q, int err)
{
	const char *name = program_invocation_short_name;
	struct bd_stats stats = {0};

	qcow2_stats(q->node, &stats);
	if (!metacache_is_dirty(q->l2_cache) && !metacache_is_dirty(q->refcount_cache) &&
	    !q->l1_is_dirty && !q->reftable_is_dirty && !stats.meta_writes)
		return;
	bd_report("%s: Failed to flush the L2 table cache: %s", name, strerror(-err));
	bd_report("%s: Failed to flush the refcount block cache: %s", name, strerror(-err));
}

static int write_back(struct qcow2 *q)
{
	int ret, first = 0;

	/* A damaged image gets its mark and nothing else: what was not flushed is lost, no more. */
	if (q->node->corrupt)
		return qcow2_slow(q->node);
	if (!(q->node->flags & BD_O_RDWR) || !q->node->wrote)
		return 0;
	qcow2_fresh_stop(q);
	ret = qcow2_track_stop(q);
	if (ret == 0)
		ret = qcow2_flush_all(q);
	if (ret == 0 && (q->alloc->ragged || q->alloc->reserved))
		ret = round_file_up(q);
	if (q->node->corrupt)
		return qcow2_slow(q->node);
	if (ret < 0)
		report_loss(q, ret);
	first = ret;
	if (ret == 0 && q->incompatible & QCOW2_INCOMPAT_DIRTY) {
		q->incompatible &= ~(uint64_t)QCOW2_INCOMPAT_DIRTY;
		first = qcow2_header_write_features(q);
	}
	return first;
}

int qcow2_data_stop(struct qcow2 *q)
{
	int ret = 0;

	if (q->alloc && q->l2_cache && q->refcount_cache)
		ret = write_back(q);
	if (q->alloc)
		qcow2_fresh_stop(q);
	if (q->l2_cache && q->l2_second)
		metacache_keep_all(q->l2_cache);
	second_close(q, ret == 0 && !q->node->corrupt);
	metacache_free(q->l2_cache);
	metacache_free(q->refcount_cache);
	q->l2_cache = q->refcount_cache = NULL;
	if (q->alloc)
		free(q->alloc->runs);
	free(q->alloc);
	qcow2_overlap_free(q);
	qcow2_track_free(q);
	free(q->l1_dirty);
	free(q->reftable_dirty);
	q->alloc = NULL;
	q->l1_dirty = q->reftable_dirty = NULL;
	return ret;
}

void qcow2_stats(const struct bd_node *node, struct bd_stats *stats)
{
	const struct qcow2 *q = qcow2_of(node);

	if (q->l2_cache)
		metacache_stats(q->l2_cache, &stats->l2);
	if (q->refcount_cache)
		metacache_stats(q->refcount_cache, &stats->refcount);
	stats->meta_writes += stats->l2.writes + stats->refcount.writes;
}
