/* SPDX-License-Identifier: MIT */
/* The bitmap directory, read entry by entry.  Spec: bitmaps. */
#ifndef QCOW2_BITMAP_H
#define QCOW2_BITMAP_H

#include "blockdev/format/qcow2/qcow2.h"

/* One entry of the directory. */
struct qcow2_bitmap {
	uint64_t table_off;
	uint32_t table_size;       /* entries */
	uint32_t flags;            /* QCOW2_BITMAP_FLAG_* */
	unsigned granularity_bits;
	char name[1024];
};

/*
 * Call @found for each bitmap until it returns a negative errno.  @err gets QEMU's text for a bad
 * directory.  Blocks.
 */
int qcow2_bitmaps_each(struct qcow2 *q,
		       int (*found)(const struct qcow2_bitmap *bitmap, void *user), void *user,
		       struct bd_error *err);

#endif
