/* SPDX-License-Identifier: MIT */
/* Guest range to extents, across the backing chain. */
#ifndef BD_RESOLVE_H
#define BD_RESOLVE_H

#include "blockdev/core/format.h"

/*
 * Extents of [off, +len) as seen through @node's chain, down to but not including @base (NULL:
 * all).  Stops early rather than mix layers.  UNALLOCATED in the answer: no layer defines it, so
 * it reads as zeros; depth is the layer where the search ended.
 * >= 1: number; 0: @wait will be resumed; negative errno.  @wait == NULL: blocks.
 */
int bd_resolve(struct bd_node *node, struct bd_node *base, uint64_t off, uint64_t len,
	       struct bd_extent *ext, unsigned max, struct bd_wait *wait);

#endif
