/* SPDX-License-Identifier: MIT */
/* L1 and L2 entries: see entry.h. */
#include "blockdev/format/qcow2/entry.h"

#include "blockdev/base/bits.h"
#include "blockdev/core/node.h"

bool qcow2_entry_has_host(const struct qcow2 *q, struct qcow2_entry entry)
{
	if (entry.l2 & QCOW2_OFLAG_COMPRESSED)
		return false;
	if (q->incompatible & QCOW2_INCOMPAT_DATA_FILE)
		return entry.l2 & QCOW2_OFFSET_MASK || entry.l2 & QCOW2_OFLAG_COPIED;
	return (entry.l2 & QCOW2_OFFSET_MASK) != 0;
}

static enum qcow2_type subcluster_type(bool host, uint64_t bitmap, unsigned sc)
{
	bool alloc = bitmap >> sc & 1, zero = bitmap >> (sc + 32) & 1;

	if (alloc && (zero || !host))
		return QCOW2_INVALID;
	if (alloc)
		return QCOW2_NORMAL;
	if (zero)
		return host ? QCOW2_ZERO_ALLOC : QCOW2_ZERO_PLAIN;
	return host ? QCOW2_UNALLOCATED_ALLOC : QCOW2_UNALLOCATED;
}

enum qcow2_type qcow2_entry_type(const struct qcow2 *q, struct qcow2_entry entry, unsigned sc)
{
	bool host = qcow2_entry_has_host(q, entry);

	if (entry.l2 & QCOW2_OFLAG_COMPRESSED)
		return entry.bitmap ? QCOW2_INVALID : QCOW2_COMPRESSED;
	if (q->extended_l2)
		return subcluster_type(host, entry.bitmap, sc);
	if (entry.l2 & QCOW2_OFLAG_ZERO)
		return host ? QCOW2_ZERO_ALLOC : QCOW2_ZERO_PLAIN;
	return host ? QCOW2_NORMAL : QCOW2_UNALLOCATED;
}

void qcow2_entry_compressed(const struct qcow2 *q, uint64_t l2, uint64_t *off, uint32_t *len)
{
	uint64_t sectors;

	*off = l2 & q->cluster_offset_mask;
	sectors = (l2 >> q->csize_shift & ((UINT64_C(1) << (62 - q->csize_shift)) - 1)) + 1;
	*len = (uint32_t)(sectors * 512 - (*off & 511));
}

int qcow2_entry_external(const struct qcow2 *q, uint64_t host, uint64_t off)
{
	uint64_t start = round_down(off, q->cluster_size);
	uint64_t idx = (off >> q->cluster_bits) & ((UINT64_C(1) << q->l2_bits) - 1);

	if (!(q->incompatible & QCOW2_INCOMPAT_DATA_FILE) || host == start)
		return 0;
	return bd_corrupt(q->node, "External data file host cluster offset %#llx does not match "
			  "guest cluster offset: %#llx, L2 index: %#llx)",
			  (unsigned long long)host, (unsigned long long)start,
			  (unsigned long long)idx);
}

uint64_t qcow2_entry_make_compressed(const struct qcow2 *q, uint64_t off, uint32_t len)
{
	uint64_t sectors = ((off + len - 1) >> 9) - (off >> 9);

	return off | QCOW2_OFLAG_COMPRESSED | sectors << q->csize_shift;
}
