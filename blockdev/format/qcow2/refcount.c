/* SPDX-License-Identifier: MIT */
/* Counts inside a refcount block.  Spec: refcounts. */
#include "blockdev/base/be.h"
#include "blockdev/format/qcow2/qcow2.h"

uint64_t qcow2_refcount_get(const uint8_t *block, uint64_t idx, unsigned order)
{
	unsigned bits = 1u << order;

	switch (order) {
	case 0:
	case 1:
	case 2:
		return block[idx * bits / 8] >> (idx * bits % 8) & ((1u << bits) - 1);
	case 3:
		return block[idx];
	case 4:
		return be16_get(((const be16 *)block)[idx]);
	case 5:
		return be32_get(((const be32 *)block)[idx]);
	default:
		return be64_get(((const be64 *)block)[idx]);
	}
}

void qcow2_refcount_set(uint8_t *block, uint64_t idx, unsigned order, uint64_t value)
{
	unsigned bits = 1u << order;
	unsigned shift, mask;

	switch (order) {
	case 0:
	case 1:
	case 2:
		shift = (unsigned)(idx * bits % 8);
		mask = ((1u << bits) - 1) << shift;
		block[idx * bits / 8] = (uint8_t)((block[idx * bits / 8] & ~mask) |
						  ((unsigned)value << shift & mask));
		return;
	case 3:
		block[idx] = (uint8_t)value;
		return;
	case 4:
		((be16 *)block)[idx] = be16_make((uint16_t)value);
		return;
	case 5:
		((be32 *)block)[idx] = be32_make((uint32_t)value);
		return;
	default:
		((be64 *)block)[idx] = be64_make(value);
	}
}
