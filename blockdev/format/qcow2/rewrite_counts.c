/* SPDX-License-Identifier: MIT */
/* A rewrite's refcounts: blocks with gains and losses applied, in new clusters. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/be.h"
#include "blockdev/base/bits.h"
#include "blockdev/format/qcow2/alloc.h"
#include "blockdev/format/qcow2/rewrite.h"

static unsigned block_bits(const struct qcow2 *q)
{
	return q->cluster_bits + 3 - q->refcount_order;
}

static uint64_t count_max(const struct qcow2 *q)
{
	return q->refcount_order == 6 ? UINT64_MAX
				      : (UINT64_C(1) << (1u << q->refcount_order)) - 1;
}

/* -EINVAL: more than the width holds; -EIO: less than none. */
static int changed_count(const struct qcow2_rewrite *rw, uint64_t cluster, uint64_t old,
			 uint64_t *count)
{
	uint64_t loss = qcow2_counts_get(&rw->loss, cluster), sum;

	if (!checked_add(old, qcow2_counts_get(&rw->gain, cluster), &sum))
		return -EINVAL;
	if (sum < loss || !old)
		return bd_corrupt(rw->q->node, "Refcount of cluster %#llx is too low",
				  (unsigned long long)(cluster << rw->q->cluster_bits));
	*count = sum - loss;
	return *count > count_max(rw->q) ? -EINVAL : 0;
}

static int block_of(struct qcow2_rewrite *rw, uint64_t cluster, struct meta_slot **slot)
{
	int ret = qcow2_refblock_get(rw->q, cluster, false, NULL, slot);

	return ret < 0 ? ret : 0;
}

int qcow2_rewrite_after(struct qcow2_rewrite *rw, uint64_t cluster, uint64_t *count)
{
	uint64_t in_block = cluster & ((UINT64_C(1) << block_bits(rw->q)) - 1);
	struct meta_slot *slot;
	int ret = block_of(rw, cluster, &slot);

	if (ret < 0)
		return ret;
	return changed_count(rw, cluster,
			     qcow2_refcount_get(slot->buf, in_block, rw->q->refcount_order),
			     count);
}

/* The first of clusters [first, end) that gains or loses; @end: none. */
static uint64_t next_touched(const struct qcow2_rewrite *rw, uint64_t first, uint64_t end)
{
	while (first < end) {
		const struct qcow2_chunk *gain = qcow2_counts_chunk(&rw->gain, first);
		const struct qcow2_chunk *loss = qcow2_counts_chunk(&rw->loss, first);
		unsigned word = first % QCOW2_CHUNK_CLUSTERS / 64;
		uint64_t used = (gain ? gain->used[word] : 0) | (loss ? loss->used[word] : 0);
		uint64_t step = gain || loss ? 64 : QCOW2_CHUNK_CLUSTERS;

		used >>= first % 64;
		if (used)
			return min_u64(first + (unsigned)__builtin_ctzll(used), end);
		first = round_down(first, step) + step;
	}
	return end;
}

/* The first block from @idx on with a change; reftable_size: none. */
static uint64_t next_block(const struct qcow2_rewrite *rw, uint64_t idx)
{
	unsigned bits = block_bits(rw->q);
	uint64_t end = (uint64_t)rw->q->reftable_size << bits;
	uint64_t last = max_u64(rw->gain.nr_chunks, rw->loss.nr_chunks) << QCOW2_CHUNK_BITS;
	uint64_t cluster = next_touched(rw, idx << bits, min_u64(end, last));

	return cluster < min_u64(end, last) ? cluster >> bits : rw->q->reftable_size;
}

/* Block @idx with its new counts into rw->table. */
static int change_block(struct qcow2_rewrite *rw, uint64_t idx)
{
	struct qcow2 *q = rw->q;
	uint64_t first = idx << block_bits(q), end = (idx + 1) << block_bits(q), count;
	struct meta_slot *slot;
	int ret = block_of(rw, first, &slot);

	if (ret < 0)
		return ret;
	memcpy(rw->table, slot->buf, q->cluster_size);
	for (uint64_t c = next_touched(rw, first, end); c < end; c = next_touched(rw, c + 1, end)) {
		uint64_t old = qcow2_refcount_get(rw->table, c - first, q->refcount_order);

		ret = changed_count(rw, c, old, &count);
		if (ret < 0)
			return ret;
		qcow2_refcount_set(rw->table, c - first, q->refcount_order, count);
	}
	return 0;
}

int qcow2_rewrite_fits(struct qcow2_rewrite *rw)
{
	int ret = 0;

	for (uint64_t idx = next_block(rw, 0); idx < rw->q->reftable_size && ret == 0;
	     idx = next_block(rw, idx + 1))
		ret = change_block(rw, idx);
	return ret;
}

static int write_reftable(struct qcow2_rewrite *rw)
{
	size_t len = (size_t)rw->reftable_size * 8;
	be64 *out = malloc(len);
	int ret;

	if (!out)
		return -ENOMEM;
	for (uint32_t i = 0; i < rw->reftable_size; i++)
		out[i] = be64_make(rw->reftable[i]);
	ret = io_pwrite(rw->q->node->file, rw->reftable_off, out, len);
	free(out);
	return ret;
}

/* A place for each changed block, in the order of next_block(). */
static int alloc_blocks(struct qcow2_rewrite *rw, uint64_t **places, uint64_t *nr)
{
	struct qcow2 *q = rw->q;
	uint64_t *list = NULL;
	int ret = 0;

	*nr = 0;
	for (uint64_t idx = next_block(rw, 0); idx < q->reftable_size;
	     idx = next_block(rw, idx + 1))
		++*nr;
	list = calloc(*nr + 1, sizeof(*list));
	*places = list;
	if (!list)
		return -ENOMEM;
	for (uint64_t i = 0; i < *nr && ret == 0; i++)
		ret = qcow2_rewrite_alloc(rw, q->cluster_size, &list[i]);
	if (ret == 0 && *nr)
		ret = qcow2_rewrite_alloc(rw, (uint64_t)q->reftable_clusters << q->cluster_bits,
					  &rw->reftable_off);
	return ret;
}

static int write_blocks(struct qcow2_rewrite *rw, const uint64_t *places)
{
	struct qcow2 *q = rw->q;
	int ret = 0;

	for (uint64_t idx = next_block(rw, 0), i = 0; idx < q->reftable_size && ret == 0;
	     idx = next_block(rw, idx + 1), i++) {
		ret = change_block(rw, idx);
		if (ret == 0)
			ret = io_pwrite(q->node->file, places[i], rw->table, q->cluster_size);
		if (ret == 0)
			ret = qcow2_rewrite_stale(rw, rw->reftable[idx] & ~UINT64_C(511),
						  q->cluster_size);
		if (ret == 0)
			rw->reftable[idx] = places[i];
	}
	return ret;
}

/* Places for blocks and table; again if the table in use had to grow for them. */
static int take_places(struct qcow2_rewrite *rw, uint64_t **places, uint64_t *nr)
{
	struct qcow2 *q = rw->q;

	for (;;) {
		uint32_t clusters = q->reftable_clusters;
		int ret = alloc_blocks(rw, places, nr);

		if (ret < 0 || clusters == q->reftable_clusters)
			return ret;
		for (uint64_t i = 0; i < *nr && ret == 0; i++)
			ret = qcow2_rewrite_stale(rw, (*places)[i], q->cluster_size);
		if (ret == 0 && *nr)
			ret = qcow2_rewrite_stale(rw, rw->reftable_off,
						  (uint64_t)clusters << q->cluster_bits);
		if (ret < 0)
			return ret;
		free(*places);
		*places = NULL;
	}
}

static int write_refcounts(struct qcow2_rewrite *rw, const uint64_t *places)
{
	struct qcow2 *q = rw->q;
	int ret;

	rw->reftable_size = q->reftable_size;
	rw->reftable = malloc((size_t)q->reftable_size * 8);
	if (!rw->reftable)
		return -ENOMEM;
	memcpy(rw->reftable, q->reftable, (size_t)q->reftable_size * 8);
	ret = write_blocks(rw, places);
	if (ret == 0)
		ret = qcow2_rewrite_stale(rw, q->reftable_off,
					  (uint64_t)q->reftable_clusters << q->cluster_bits);
	return ret == 0 ? write_reftable(rw) : ret;
}

int qcow2_rewrite_refcounts(struct qcow2_rewrite *rw)
{
	uint64_t *places = NULL, nr;
	int ret = take_places(rw, &places, &nr);

	/* From here on the counts in use do not change any more. */
	if (ret == 0)
		ret = qcow2_flush_all(rw->q);
	if (ret == 0 && nr)
		ret = write_refcounts(rw, places);
	free(places);
	return ret;
}

static void punch(const struct qcow2 *q, uint64_t first, uint64_t nr)
{
	if (nr && q->discard_passthrough[QCOW2_FREE_SNAPSHOT] && q->node->file->can_unmap)
		io_pdiscard(q->node->file, first << q->cluster_bits, nr << q->cluster_bits);
}

void qcow2_rewrite_punch(struct qcow2_rewrite *rw)
{
	struct qcow2 *q = rw->q;
	uint64_t mask = (UINT64_C(1) << block_bits(q)) - 1;
	uint64_t end = rw->loss.nr_chunks << QCOW2_CHUNK_BITS, start = 0, nr = 0;

	for (uint64_t c = next_touched(rw, 0, end); c < end; c = next_touched(rw, c + 1, end)) {
		struct meta_slot *slot;

		if (!qcow2_counts_get(&rw->loss, c) || block_of(rw, c, &slot) < 0 ||
		    qcow2_refcount_get(slot->buf, c & mask, q->refcount_order))
			continue;
		if (c != start + nr) {
			punch(q, start, nr);
			start = c;
			nr = 0;
		}
		nr++;
		qcow2_alloc_again(q, c);
	}
	punch(q, start, nr);
}
