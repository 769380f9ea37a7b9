/* SPDX-License-Identifier: MIT */
/* Counts on disk against references found.  Spec: refcounts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/base/cleanup.h"
#include "blockdev/format/qcow2/check.h"

/* Is table entry @i that of a neighbour again?  That takes no data along. */
static bool is_repeated(const struct qcow2 *q, uint32_t i)
{
	uint32_t from = i > 64 ? i - 64 : 0;

	while (from < i && q->reftable[from] != q->reftable[i])
		from++;
	return from < i;
}

int qcow2_check_refblocks(struct qcow2_checker *ck)
{
	struct qcow2 *q = ck->q;

	for (uint32_t i = 0; i < q->reftable_size; i++) {
		uint64_t entry = q->reftable[i], cluster = entry >> q->cluster_bits, count;
		int ret;

		if (entry & QCOW2_REFTABLE_ENTRY_RESERVED) {
			ck->res->corruptions++;
			ck->rebuild = true;
			qcow2_check_say(ck, "ERROR refcount table entry %u has reserved bits set",
					i);
			continue;
		}
		if (entry & (q->cluster_size - 1)) {
			ck->res->corruptions++;
			ck->rebuild = true;
			qcow2_check_say(ck, "ERROR refcount block %u is not cluster aligned; "
					"refcount table entry corrupted", i);
			continue;
		}
		if (cluster >= ck->nr_clusters) {
			ck->res->corruptions++;
			ck->rebuild = true;
			qcow2_check_say(ck, "ERROR refcount block %u is outside image", i);
			continue;
		}
		if (!entry)
			continue;
		if (!is_repeated(q, i))
			qcow2_doubts_exclusive(ck, entry, q->cluster_size);
		ret = qcow2_check_count(ck, entry, q->cluster_size, true);
		if (ret < 0)
			return ret;
		count = qcow2_counts_get(&ck->counts, cluster);
		if (count != 1) {
			ck->res->corruptions++;
			ck->rebuild = true;
			qcow2_check_say(ck, "ERROR refcount block %u refcount=%llu", i,
					(unsigned long long)count);
		}
	}
	return 0;
}

struct compare {
	struct qcow2_checker *ck;
	unsigned fix;
	uint64_t per_block;       /* clusters a block counts */
	uint64_t nr_blocks;       /* that count clusters of the file */
	uint64_t ahead_idx;
	uint8_t *edit;            /* copy of the current block, when fixing */
	bool edited;
};

static bool readable(const struct qcow2 *q, uint64_t idx)
{
	uint64_t off;

	if (idx >= q->reftable_size)
		return false;
	off = q->reftable[idx] & QCOW2_REFTABLE_ENTRY_OFFSET;
	return off && !(off & (q->cluster_size - 1));
}

static uint64_t next_block(void *user)
{
	struct compare *cmp = user;
	const struct qcow2 *q = cmp->ck->q;

	while (cmp->ahead_idx < cmp->nr_blocks) {
		uint64_t idx = cmp->ahead_idx++;

		if (readable(q, idx))
			return q->reftable[idx] & QCOW2_REFTABLE_ENTRY_OFFSET;
	}
	return UINT64_MAX;
}

/* One cluster whose counts differ. */
static void mismatch(struct compare *cmp, uint64_t cluster, uint64_t disk, uint64_t found)
{
	struct qcow2_checker *ck = cmp->ck;
	uint64_t *fixed = NULL;

	if (disk == 0)
		ck->rebuild = true;
	else if (disk > found && cmp->fix & BD_FIX_LEAKS)
		fixed = &ck->res->leaks_fixed;
	else if (disk < found && cmp->fix & BD_FIX_ERRORS)
		fixed = &ck->res->corruptions_fixed;
	qcow2_check_say(ck, "%s cluster %llu refcount=%llu reference=%llu",
			fixed ? "Repairing" : disk < found ? "ERROR" : "Leaked",
			(unsigned long long)cluster, (unsigned long long)disk,
			(unsigned long long)found);
	if (fixed) {
		qcow2_refcount_set(cmp->edit, cluster % cmp->per_block, ck->q->refcount_order,
				   found);
		cmp->edited = true;
		(*fixed)++;
	} else if (disk < found) {
		ck->res->corruptions++;
	} else {
		ck->res->leaks++;
		if (!found && !cmp->fix)
			qcow2_doubts_orphan(ck, cluster);
	}
}

/* Does a COPIED mark fit the count?  Only a guess: see qcow2_check_copied(). */
static bool is_single(const struct qcow2_checker *ck, uint64_t cluster)
{
	const struct qcow2_chunk *chunk = qcow2_counts_chunk(&ck->counts, cluster);
	unsigned at = cluster % QCOW2_CHUNK_CLUSTERS;

	return chunk && chunk->single[at / 64] >> at % 64 & 1;
}

static void compare_one(struct compare *cmp, const uint8_t *block, uint64_t cluster)
{
	struct qcow2_checker *ck = cmp->ck;
	uint64_t found = qcow2_counts_get(&ck->counts, cluster);
	uint64_t disk = block ? qcow2_refcount_get(block, cluster % cmp->per_block,
						   ck->q->refcount_order) : 0;

	if (disk || found)
		ck->highest = max_u64(ck->highest, cluster);
	if ((disk == 1) != is_single(ck, cluster) && (disk || found))
		ck->suspicious = true;
	if (disk == found)
		return;
	ck->suspicious = true;
	mismatch(cmp, cluster, disk, found);
}

/* 64 clusters at once, where all is as it should be: all free, or all used once. */
static bool compare_fast(struct compare *cmp, const uint8_t *block, uint64_t cluster)
{
	struct qcow2_checker *ck = cmp->ck;
	const struct qcow2_chunk *chunk = qcow2_counts_chunk(&ck->counts, cluster);
	static const uint8_t ones[128] = {
#define EIGHT 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1
		EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT,
#undef EIGHT
	}, zeros[128];
	unsigned word = cluster % QCOW2_CHUNK_CLUSTERS / 64;
	const uint8_t *at;

	if (ck->q->refcount_order != 4)
		return false;
	at = block ? block + cluster % cmp->per_block * 2 : zeros;
	if (!chunk || !chunk->used[word])
		return !memcmp(at, zeros, sizeof(zeros));
	if (chunk->more || ~chunk->used[word] || ~chunk->single[word] ||
	    memcmp(at, ones, sizeof(ones)))
		return false;
	ck->highest = max_u64(ck->highest, cluster + 63);
	return true;
}

static void compare_block(struct compare *cmp, const uint8_t *block, uint64_t idx)
{
	uint64_t cluster = idx * cmp->per_block;
	uint64_t end = min_u64(cluster + cmp->per_block, cmp->ck->nr_clusters);

	while (cluster < end) {
		if (cluster % 64 == 0 && end - cluster >= 64 && compare_fast(cmp, block, cluster)) {
			cluster += 64;
			continue;
		}
		compare_one(cmp, block, cluster);
		cluster++;
	}
}

/* A block that cannot be read: nothing is known about its clusters. */
static void unknown_block(struct compare *cmp, uint64_t idx, int err)
{
	uint64_t cluster = idx * cmp->per_block;
	uint64_t end = min_u64(cluster + cmp->per_block, cmp->ck->nr_clusters);

	cmp->ck->suspicious = true;
	for (; cluster < end; cluster++) {
		cmp->ck->res->check_errors++;
		qcow2_check_say(cmp->ck, "Can't get refcount for cluster %llu: %s",
				(unsigned long long)cluster, strerror(-err));
	}
}

static int write_edited(struct compare *cmp, uint64_t off)
{
	struct qcow2 *q = cmp->ck->q;

	if (!cmp->edited)
		return 0;
	cmp->edited = false;
	return io_pwrite(q->node->file, off, cmp->edit, q->cluster_size);
}

static int unaligned_block(struct qcow2 *q, uint64_t idx)
{
	uint64_t off = q->reftable[idx] & QCOW2_REFTABLE_ENTRY_OFFSET;

	return bd_corrupt(q->node, "Refblock offset %#llx unaligned (reftable index: %#llx)",
			  (unsigned long long)off, (unsigned long long)idx);
}

static int compare_all(struct compare *cmp, struct qcow2_ahead *ahead)
{
	struct qcow2 *q = cmp->ck->q;

	for (uint64_t idx = 0; idx < cmp->nr_blocks; idx++) {
		const uint8_t *block = NULL;
		uint64_t off = 0;
		int res = 0;

		if (readable(q, idx)) {
			block = qcow2_ahead_get(ahead, &off, &res);
		} else if (idx < q->reftable_size &&
			   q->reftable[idx] & QCOW2_REFTABLE_ENTRY_OFFSET) {
			res = unaligned_block(q, idx);
		}
		if (res < 0) {
			unknown_block(cmp, idx, res);
			continue;
		}
		if (cmp->fix && block)
			memcpy(cmp->edit, block, q->cluster_size);
		compare_block(cmp, block, idx);
		res = write_edited(cmp, off);
		if (res < 0)
			return res;
	}
	return 0;
}

int qcow2_check_compare(struct qcow2_checker *ck, unsigned fix)
{
	struct qcow2 *q = ck->q;
	__cleanup(free) uint8_t *edit = fix ? malloc(q->cluster_size) : NULL;
	uint64_t per_block = (uint64_t)q->cluster_size * 8 >> q->refcount_order;
	struct compare cmp = {
		.ck = ck,
		.fix = fix,
		.per_block = per_block,
		.nr_blocks = div_up(ck->nr_clusters, per_block),
		.edit = edit,
	};
	struct qcow2_ahead *ahead;
	int ret;

	if (fix && !edit)
		return -ENOMEM;
	ck->highest = 0;
	ret = qcow2_ahead_new(q, next_block, &cmp, &ahead);
	if (ret == 0)
		ret = compare_all(&cmp, ahead);
	qcow2_ahead_free(ahead);
	return ret;
}
