/* SPDX-License-Identifier: MIT */
/* Compressed clusters: payloads both ways, and room for them, packed behind one another. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "config.h"
#include "blockdev/format/qcow2/alloc.h"
#include "blockdev/format/qcow2/codec.h"
#include "blockdev/format/qcow2/entry.h"
#include "blockdev/format/qcow2/overlap.h"

bool qcow2_same_packing(const struct bd_node *a, const struct bd_node *b)
{
	return qcow2_of(a)->compression_type == qcow2_of(b)->compression_type &&
	       a->cluster_size == b->cluster_size;
}

int qcow2_inflate(struct bd_node *node, const void *in, size_t in_len, void *out, size_t out_len)
{
	if (qcow2_of(node)->compression_type)
		return qcow2_unzstd(in, in_len, out, out_len);
	return qcow2_undeflate(in, in_len, out, out_len);
}

size_t qcow2_deflate(struct bd_node *node, const void *in, size_t len, void *out)
{
	if (qcow2_of(node)->compression_type)
		return qcow2_zstd(in, len, out, len - 1, node->pack_level);
	if (node->pack_small_window)
		return qcow2_deflate_4k(in, len, out, len - 1, node->pack_level);
	return qcow2_deflate_raw(in, len, out, len - 1, node->pack_level);
}

int qcow2_check_packing(const struct bd_node *node, unsigned level, bool small_window,
			struct bd_error *err)
{
	bool zstd = qcow2_of(node)->compression_type;
	unsigned most = zstd ? 22 : small_window ? 9 : 12;

	if (small_window && zstd)
		return bd_fail(err, -EINVAL, "A compression window is for zlib only");
	if (small_window && !CONFIG_ZLIB)
		return bd_fail(err, -ENOTSUP, "Compression windows are not in this build");
	if (level > most)
		return bd_fail(err, -EINVAL, "Invalid compression level specified: 1 to %u are "
			       "there", most);
	return 0;
}

/* Behind the last payload, if it fits there without or with the next host cluster.  1, 0, -errno;
 * -ERANGE: it does not. */
static int append(struct qcow2 *q, uint32_t len, struct bd_wait *wait, uint64_t *off)
{
	struct qcow2_alloc *a = q->alloc;
	uint64_t end = round_up(a->packed_off, q->cluster_size);
	struct meta_slot *slot;
	int ret;

	if (!a->packed_off)
		return -ERANGE;
	/* Both blocks must be at hand before anything is counted. */
	ret = qcow2_refblock_get(q, a->packed_off >> q->cluster_bits, false, wait, &slot);
	if (ret <= 0)
		return ret;
	if (a->packed_off + len > end) {
		ret = qcow2_refcount_raise(q, end, true, wait);
		if (ret <= 0)
			return ret;
		a->hint = max_u64(a->hint, (end >> q->cluster_bits) + 1);
	}
	ret = qcow2_refcount_raise(q, a->packed_off, false, wait);
	if (ret <= 0) {
		/* The next cluster stays counted: give it back in the usual way. */
		if (a->packed_off + len > end)
			qcow2_free_later(q, end, q->cluster_size, QCOW2_FREE_OTHER);
		return ret;
	}
	*off = a->packed_off;
	return 1;
}

static int place(struct qcow2 *q, uint32_t len, struct bd_wait *wait, uint64_t *off)
{
	uint64_t got;
	int ret = append(q, len, wait, off);

	if (ret == -ERANGE)
		ret = qcow2_alloc_run(q, 1, wait, off, &got);
	if (ret <= 0)
		return ret;
	q->alloc->ragged = true;
	q->alloc->packed_off = *off + len;
	if (!(q->alloc->packed_off & (q->cluster_size - 1)))
		q->alloc->packed_off = 0;
	return 1;
}

int qcow2_plan_compressed(struct bd_node *node, struct bd_plan *plan, uint32_t len,
			  struct bd_wait *wait)
{
	struct qcow2 *q = qcow2_of(node);
	struct qcow2_entry entry;
	struct meta_slot *slice;
	int ret;

	if (!plan->may_alloc)
		return -EBUSY;
	ret = qcow2_slice_own(q, plan->guest_off, wait, &slice);
	if (ret <= 0)
		return ret;
	entry = qcow2_entry_get(q, slice, qcow2_slice_idx(q, plan->guest_off));
	if (entry.l2 & QCOW2_OFLAG_COPIED)
		return -EIO; /* like QEMU: not over a cluster that is allocated */
	ret = place(q, len, wait, &plan->host_off);
	if (ret <= 0)
		return ret;
	ret = qcow2_overlap_check(q, plan->host_off, len, 0);
	if (ret < 0)
		return ret;
	plan->priv[PRIV_KIND] = PLAN_PACKED;
	plan->priv[PRIV_NR] = len;
	plan->publish = true;
	return 1;
}
