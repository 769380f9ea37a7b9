/* SPDX-License-Identifier: MIT */
/* Write-zeroes and discard: whole clusters by their L2 entries, slice by slice. */
#include <errno.h>

#include "blockdev/base/bits.h"
#include "blockdev/format/qcow2/alloc.h"
#include "blockdev/format/qcow2/entry.h"

/* What becomes of whole clusters. */
enum how {
	ZERO,    /* zeros; a host cluster is kept */
	UNMAP,   /* zeros; the host cluster goes */
	DISCARD, /* as little as still reads as zeros; version 2 has no zero clusters */
};

static enum how zero_how(const struct qcow2 *q, unsigned req_flags)
{
	if (q->version < 3)
		return DISCARD;
	return req_flags & BD_REQ_UNMAP ? UNMAP : ZERO;
}

/* Does the backing file show through anywhere in [off, off+len)? */
static bool backed(const struct bd_node *node, uint64_t off)
{
	return node->backing && off < node->backing->size;
}

/* The slice of @off for editing: table ours, gate open, room for frees.  1, 0, -errno. */
static int edit(struct qcow2 *q, uint64_t off, struct bd_wait *wait, struct meta_slot **slice)
{
	int ret;

	if (!qcow2_free_room(q, wait))
		return 0;
	ret = qcow2_gate(q, wait);
	return ret <= 0 ? ret : qcow2_slice_own(q, off, wait, slice);
}

static const uint64_t zero_bitmap = UINT64_C(0xffffffff) << 32;

/* The entry after write-zeroes.  Like: QEMU keeps the host cluster unless it may unmap. */
static struct qcow2_entry zeroed(struct qcow2 *q, struct qcow2_entry old, bool unmap)
{
	bool host = qcow2_entry_has_host(q, old);
	struct qcow2_entry entry = {0, 0};

	/* Kept clusters do not scatter the image; a compressed one is of no use later. */
	if (q->discard_no_unref)
		unmap = false;
	if (host && !(unmap && !(q->incompatible & QCOW2_INCOMPAT_DATA_FILE)))
		entry.l2 = old.l2 & ~QCOW2_OFLAG_ZERO;
	if (q->extended_l2)
		entry.bitmap = zero_bitmap;
	else
		entry.l2 |= QCOW2_OFLAG_ZERO;
	return entry;
}

/* The entry after discard of a whole cluster. */
static struct qcow2_entry discarded(struct qcow2 *q, struct qcow2_entry old, uint64_t off)
{
	bool used = old.l2 & QCOW2_OFLAG_COMPRESSED || qcow2_entry_has_host(q, old);

	if (q->version < 3 || (!used && !backed(q->node, off)))
		return q->version < 3 ? (struct qcow2_entry){0, 0} : old;
	if (q->discard_no_unref)
		return zeroed(q, old, false);
	if (q->extended_l2)
		return (struct qcow2_entry){0, zero_bitmap};
	return (struct qcow2_entry){QCOW2_OFLAG_ZERO, 0};
}

/* Replace entries of whole clusters from @off on, inside @slice. */
static uint64_t replace(struct qcow2 *q, struct meta_slot *slice, uint64_t off, uint64_t nr,
			enum how how)
{
	unsigned idx = qcow2_slice_idx(q, off);
	uint64_t done = 0;
	bool changed = false;

	nr = min_u64(nr, (1u << q->slice_bits) - idx);
	for (; done < nr; done++, off += q->cluster_size) {
		struct qcow2_entry old = qcow2_entry_get(q, slice, idx + (unsigned)done);
		struct qcow2_entry entry = how == DISCARD ? discarded(q, old, off)
							  : zeroed(q, old, how == UNMAP);

		if (entry.l2 == old.l2 && entry.bitmap == old.bitmap)
			continue;
		if (!qcow2_entry_host(entry))
			qcow2_free_entry(q, old.l2, QCOW2_FREE_REQUEST);
		qcow2_entry_set(q, slice, idx + (unsigned)done, entry);
		changed = true;
	}
	if (changed)
		metacache_dirty(slice);
	return done;
}

static void advance(uint64_t *off, uint64_t *len, uint64_t by)
{
	by = min_u64(by, *len);
	*off += by;
	*len -= by;
}

/* The first of @nr whole clusters at *off: as many as one slice maps.  1, 0, negative errno. */
static int replace_some(struct qcow2 *q, uint64_t *off, uint64_t *len, uint64_t nr, enum how how,
			struct bd_wait *wait)
{
	struct meta_slot *slice;
	int ret = edit(q, *off, wait, &slice);

	if (ret <= 0)
		return ret;
	nr = replace(q, slice, *off, nr, how);
	advance(off, len, nr << q->cluster_bits);
	return 1;
}

/* Without L2 table and backing: nothing to do for so many bytes.  0: there is one. */
static uint64_t untouched(const struct qcow2 *q, uint64_t off, uint64_t len)
{
	uint64_t span = UINT64_C(1) << (q->cluster_bits + q->l2_bits);
	uint64_t idx = qcow2_l1_idx(q, off);

	if (idx >= q->l1_size || q->l1[idx] & QCOW2_OFFSET_MASK || backed(q->node, off))
		return 0;
	return min_u64(len, round_down(off, span) + span - off);
}

/* Does [off, end) read as zero by this layer?  1: yes; 0: waits; -ENOTSUP: no; other -errno. */
static int reads_zero(struct qcow2 *q, uint64_t off, uint64_t end, struct bd_wait *wait)
{
	end = min_u64(end, q->node->size);
	while (off < end) {
		struct bd_extent ext;
		int ret = qcow2_map(q->node, off, end - off, &ext, 1, wait);

		if (ret <= 0)
			return ret;
		if (ext.kind != BD_ZERO && (ext.kind != BD_UNALLOCATED || backed(q->node, off)))
			return -ENOTSUP;
		off += ext.len;
	}
	return 1;
}

/* Whole subclusters of the cluster at @off (extended L2): their zero bits. */
static int zero_bits(struct qcow2 *q, uint64_t off, uint64_t end, struct bd_wait *wait)
{
	uint64_t start = round_down(off, q->cluster_size), bits;
	struct qcow2_entry entry;
	struct meta_slot *slice;
	int ret = edit(q, off, wait, &slice);

	if (ret <= 0)
		return ret;
	entry = qcow2_entry_get(q, slice, qcow2_slice_idx(q, off));
	if (entry.l2 & QCOW2_OFLAG_COMPRESSED)
		return -ENOTSUP;
	bits = qcow2_sc_mask((unsigned)((off - start) >> q->subcluster_bits),
			     (unsigned)((end - 1 - start) >> q->subcluster_bits));
	entry.bitmap = (entry.bitmap & ~bits) | bits << 32;
	qcow2_entry_set(q, slice, qcow2_slice_idx(q, off), entry);
	metacache_dirty(slice);
	return 1;
}

/*
 * Part of one (sub)cluster: the whole of it becomes zero if the rest reads as zero already, else
 * the caller writes bytes.
 */
static int zero_part(struct qcow2 *q, uint64_t *off, uint64_t *len, unsigned req_flags,
		     struct bd_wait *wait)
{
	uint64_t unit = UINT64_C(1) << q->subcluster_bits;
	uint64_t start = round_down(*off, unit), stop = start + unit;
	uint64_t part = min_u64(*len, stop - *off);
	struct meta_slot *slice;
	int ret = q->version < 3 ? -ENOTSUP : reads_zero(q, start, *off, wait);

	if (ret > 0)
		ret = reads_zero(q, *off + part, stop, wait);
	if (ret == -ENOTSUP)
		*len = part;
	if (ret <= 0)
		return ret;
	if (q->extended_l2)
		ret = zero_bits(q, start, stop, wait);
	else
		ret = edit(q, start, wait, &slice);
	if (ret == -ENOTSUP)
		*len = part;
	if (ret <= 0)
		return ret;
	if (!q->extended_l2)
		replace(q, slice, start, 1, zero_how(q, req_flags));
	advance(off, len, part);
	return 1;
}

/* Whole subclusters that are less than a cluster.  As qcow2_zero(). */
static int zero_subclusters(struct qcow2 *q, uint64_t *off, uint64_t *len, struct bd_wait *wait)
{
	uint64_t unit = UINT64_C(1) << q->subcluster_bits;
	uint64_t stop = round_down(*off, q->cluster_size) + q->cluster_size;
	uint64_t end = *off + *len;
	int ret;

	end = end == q->node->size ? end : round_down(end, unit);
	end = min_u64(end, stop);
	ret = zero_bits(q, *off, end, wait);
	if (ret == -ENOTSUP)
		*len = end - *off;
	if (ret > 0)
		advance(off, len, end - *off);
	return ret;
}

/* Whole clusters at the start of the range; the disk's last cluster counts as whole. */
static uint64_t whole(const struct qcow2 *q, uint64_t off, uint64_t len)
{
	if (off & (q->cluster_size - 1))
		return 0;
	if (off + len == q->node->size)
		return div_up(len, q->cluster_size);
	return len >> q->cluster_bits;
}

int qcow2_zero(struct bd_node *node, uint64_t *off, uint64_t *len, unsigned req_flags,
	       struct bd_wait *wait)
{
	struct qcow2 *q = qcow2_of(node);
	uint64_t nr = whole(q, *off, *len), unit = UINT64_C(1) << q->subcluster_bits, skip;

	if (!nr && q->extended_l2 && !(*off & (unit - 1)) &&
	    (*len >= unit || *off + *len == node->size))
		return zero_subclusters(q, off, len, wait);
	if (!nr)
		return zero_part(q, off, len, req_flags, wait);
	if (q->version < 3) {
		if (backed(node, *off)) {
			*len = min_u64(*len, nr << q->cluster_bits);
			return -ENOTSUP;
		}
		skip = untouched(q, *off, *len);
		if (skip) {
			advance(off, len, skip);
			return 1;
		}
	}
	return replace_some(q, off, len, nr, zero_how(q, req_flags), wait);
}

int qcow2_discard(struct bd_node *node, uint64_t *off, uint64_t *len, struct bd_wait *wait)
{
	struct qcow2 *q = qcow2_of(node);
	uint64_t nr, skip = *off & (q->cluster_size - 1);

	if (q->version < 3 && node->backing)
		return -ENOTSUP;
	if (skip) {
		advance(off, len, q->cluster_size - skip);
		return 1;
	}
	nr = whole(q, *off, *len);
	skip = nr ? untouched(q, *off, *len) : *len;
	if (skip) {
		advance(off, len, skip);
		return 1;
	}
	return replace_some(q, off, len, nr, DISCARD, wait);
}
