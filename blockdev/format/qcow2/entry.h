/* SPDX-License-Identifier: MIT */
/* L1 and L2 entries: what they mean.  Pure functions over host-order values. */
#ifndef QCOW2_ENTRY_H
#define QCOW2_ENTRY_H

#include "blockdev/base/be.h"
#include "blockdev/format/qcow2/qcow2.h"

/* Spec: cluster-mapping, extended-l2. */
enum qcow2_type {
	QCOW2_UNALLOCATED,        /* shows the backing file */
	QCOW2_UNALLOCATED_ALLOC,  /* subcluster without data in a cluster that has a host cluster */
	QCOW2_ZERO_PLAIN,
	QCOW2_ZERO_ALLOC,         /* zeros, with a host cluster kept */
	QCOW2_NORMAL,
	QCOW2_COMPRESSED,
	QCOW2_INVALID,
};

/* One L2 entry. */
struct qcow2_entry {
	uint64_t l2;      /* the standard entry */
	uint64_t bitmap;  /* extended L2; else 0 */
};

static inline uint8_t *qcow2_entry_at(const struct qcow2 *q, const struct meta_slot *slice,
				      unsigned idx)
{
	return slice->buf + (size_t)idx * q->l2_entry_size;
}

static inline struct qcow2_entry qcow2_entry_get(const struct qcow2 *q,
						 const struct meta_slot *slice, unsigned idx)
{
	const be64 *at = (const be64 *)qcow2_entry_at(q, slice, idx);

	return (struct qcow2_entry){be64_get(at[0]), q->extended_l2 ? be64_get(at[1]) : 0};
}

static inline void qcow2_entry_set(const struct qcow2 *q, struct meta_slot *slice, unsigned idx,
				   struct qcow2_entry entry)
{
	be64 *at = (be64 *)qcow2_entry_at(q, slice, idx);

	at[0] = be64_make(entry.l2);
	if (q->extended_l2)
		at[1] = be64_make(entry.bitmap);
}

static inline uint64_t qcow2_entry_host(struct qcow2_entry entry)
{
	return entry.l2 & QCOW2_OFFSET_MASK;
}

/* Type of subcluster @sc (0 without extended L2). */
enum qcow2_type qcow2_entry_type(const struct qcow2 *q, struct qcow2_entry entry, unsigned sc);
/* Has the entry a host cluster (not compressed)? */
bool qcow2_entry_has_host(const struct qcow2 *q, struct qcow2_entry entry);
/* Host range of a compressed entry: *off, *len bytes (upper bound of the payload). */
void qcow2_entry_compressed(const struct qcow2 *q, uint64_t l2, uint64_t *off, uint32_t *len);
/*
 * In an external data file @host must be where the guest has its cluster, @off or before it.
 * 0, also without such a file; -EIO: it is elsewhere, and the image is marked as corrupt.
 */
int qcow2_entry_external(const struct qcow2 *q, uint64_t host, uint64_t off);
uint64_t qcow2_entry_make_compressed(const struct qcow2 *q, uint64_t off, uint32_t len);

/* Bits of subclusters first..last. */
static inline uint64_t qcow2_sc_mask(unsigned first, unsigned last)
{
	return (UINT64_C(0xffffffff) >> (31 - last)) & (UINT64_C(0xffffffff) << first);
}

/* Where a guest offset is mapped. */
static inline uint64_t qcow2_l1_idx(const struct qcow2 *q, uint64_t off)
{
	return off >> (q->cluster_bits + q->l2_bits);
}

static inline unsigned qcow2_slice_idx(const struct qcow2 *q, uint64_t off)
{
	return (unsigned)(off >> q->cluster_bits) & ((1u << q->slice_bits) - 1);
}

/* Host offset of the slice of @table that maps guest @off. */
static inline uint64_t qcow2_slice_off(const struct qcow2 *q, uint64_t table, uint64_t off)
{
	uint64_t idx = (off >> q->cluster_bits) & ((UINT64_C(1) << q->l2_bits) - 1);

	return table + (idx >> q->slice_bits) * q->l2_slice_size;
}

#endif
