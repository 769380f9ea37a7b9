/* SPDX-License-Identifier: MIT */
/* Preallocation: clusters for a guest range, with or without the host's space behind them. */
#include <errno.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/format/qcow2/resize.h"

/* Host bytes behind the last table. */
static uint64_t tables_end(const struct qcow2 *q)
{
	uint64_t last = q->reftable_off + ((uint64_t)(q->reftable_clusters - 1) << q->cluster_bits);

	for (uint32_t i = 0; i < q->l1_size; i++)
		last = max_u64(last, q->l1[i] & QCOW2_OFFSET_MASK);
	for (uint32_t i = 0; i < q->reftable_size; i++)
		last = max_u64(last, q->reftable[i] & ~UINT64_C(0x1ff));
	last += q->cluster_size;
	return max_u64(last, round_up(q->l1_off + (uint64_t)q->l1_size * 8, q->cluster_size));
}

/*
 * Make room at the end of the file, so that the new clusters come to lie in space the host has
 * reserved.  A little too much is cut off afterwards.
 */
static int reserve(struct qcow2 *q, uint64_t len, const char *mode, struct bd_error *err)
{
	uint64_t data = div_up(len, q->cluster_size) + 1;
	uint64_t l2 = (data >> q->l2_bits) + 2;
	uint64_t per_block = (uint64_t)q->cluster_size * 8 >> q->refcount_order;
	uint64_t blocks = (data + l2) / per_block + 2;
	int64_t length = io_length(q->node->file);
	uint64_t end, table;

	if (length < 0)
		return bd_fail_errno(err, (int)length, "Could not get the size of the image file");
	end = round_up((uint64_t)length, q->cluster_size) +
	      ((data + l2 + blocks) << q->cluster_bits);
	/* The refcount table may move, and then is larger than it must be. */
	table = div_up(((end >> q->cluster_bits) / per_block + 1) * 8, q->cluster_size);
	end += (3 * table + 2) << q->cluster_bits;
	return io_resize(q->node->file, end, mode, err);
}

int qcow2_prealloc_range(struct qcow2 *q, uint64_t off, uint64_t len, const char *mode,
			 struct bd_error *err)
{
	bool external = q->incompatible & QCOW2_INCOMPAT_DATA_FILE;
	bool space = !strcmp(mode, "falloc") || !strcmp(mode, "full");
	int64_t before = io_length(q->node->file);
	struct bd_error ignored = {0};
	struct qcow2_prealloc done = { .old_len = (uint64_t)before, .space = space };
	uint64_t end;
	int ret = 0;

	if (!len || !strcmp(mode, "off"))
		return 0;
	if (before < 0)
		return bd_fail_errno(err, (int)before, "Could not get the size of the image file");
	if (space && !external)
		ret = reserve(q, len, mode, err);
	/*
	 * Without space too the file grows first: when all stops half-way, no entry may lead behind
	 * its end.  Where it cannot grow (a block device), there is no such end.
	 */
	if (!space && !external)
		reserve(q, len, "off", &ignored);
	if (ret == 0)
		ret = qcow2_preallocate(q, off, len, &done, err);
	if (ret < 0 || external)
		return ret;
	/* New clusters may lie in old gaps: what the file had before is never cut off. */
	end = max_u64(max_u64(done.end, tables_end(q)), (uint64_t)before);
	return io_resize(q->node->file, round_up(end, q->cluster_size), "off", err);
}
