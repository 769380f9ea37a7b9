/* SPDX-License-Identifier: MIT */
/* Guest range to extents, across the backing chain: a loop, no recursion. */
#include "blockdev/core/resolve.h"

#include <errno.h>

#include "blockdev/base/bits.h"

/* Number of leading extents that are (not) unallocated, all marked with @depth. */
static int same_layer(struct bd_node *node, struct bd_extent *ext, int nr, unsigned depth)
{
	bool hole = ext[0].kind == BD_UNALLOCATED;
	int i;

	for (i = 0; i < nr && (ext[i].kind == BD_UNALLOCATED) == hole; i++) {
		ext[i].depth = (uint16_t)depth;
		ext[i].node = node;
	}
	return hole ? 1 : i;
}

int bd_resolve(struct bd_node *node, struct bd_node *base, uint64_t off, uint64_t len,
	       struct bd_extent *ext, unsigned max, struct bd_wait *wait)
{
	unsigned depth = 0;

	for (;;) {
		struct bd_node *next = node->backing;
		int nr = node->fmt->map(node, off, len, ext, max, wait);

		if (nr <= 0)
			return nr;
		nr = same_layer(node, ext, nr, depth);
		if (ext[0].kind != BD_UNALLOCATED)
			return nr;
		if (!next || next == base || off >= next->size)
			return nr;
		len = min_u64(min_u64(len, ext[0].len), next->size - off);
		node = next;
		depth++;
	}
}

/*
 * Data of a preallocated image may be a hole of the file: cut @ext where the answer changes and
 * mark it.
 */
static void mark_hole(struct bd_extent *ext)
{
	struct bd_node *node = ext->node;
	uint64_t len = ext->len;
	int ret;

	if (ext->kind != BD_DATA || !node || node->encrypted || !node->fmt->holes_in_data ||
	    !node->fmt->holes_in_data(node))
		return;
	ret = io_hole(node->data, ext->host_off, &len);
	if (ret < 0)
		return; /* not known: data */
	ext->len = min_u64(ext->len, len);
	if (ret > 0)
		ext->flags |= BD_EXTENT_SPARSE;
}

/*
 * Data of a layer whose file was cut: split @ext before the first cluster that starts behind the
 * end of the file, and mark what lies there.  A short last cluster is no damage.
 */
static void mark_cut(struct bd_extent *ext)
{
	struct bd_node *node = ext->node;
	int64_t length;
	uint64_t end;

	if (ext->kind != BD_DATA || !node || !(node->fmt->caps & BD_CAP_METADATA))
		return;
	length = io_length(node->data);
	if (length < 0 || node->cluster_size == 0)
		return; /* not known: as it was */
	end = round_up((uint64_t)length, node->cluster_size);
	if (ext->host_off >= end)
		ext->flags |= BD_EXTENT_CUT;
	else
		ext->len = min_u64(ext->len, end - ext->host_off);
}

int bd_map_above(struct bd_node *node, struct bd_node *base, uint64_t off, uint64_t len,
		 struct bd_extent *ext, unsigned max)
{
	uint64_t end = off + len;
	unsigned nr = 0;

	if (off >= node->size || len == 0)
		return -EINVAL;
	end = min_u64(end, node->size);
	while (nr < max && off < end) {
		int got = bd_resolve(node, base, off, end - off, ext + nr, max - nr, NULL);

		if (got < 0)
			return nr ? (int)nr : got;
		for (int i = 0; i < got; i++) {
			uint64_t whole = ext[nr].len;

			mark_cut(&ext[nr]);
			mark_hole(&ext[nr++]);
			if (ext[nr - 1].len != whole)
				break;
		}
		off = ext[nr - 1].guest_off + ext[nr - 1].len;
	}
	return (int)nr;
}

int bd_map(struct bd_node *node, uint64_t off, uint64_t len, struct bd_extent *ext, unsigned max)
{
	return bd_map_above(node, NULL, off, len, ext, max);
}
