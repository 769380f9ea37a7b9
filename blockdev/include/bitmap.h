/* SPDX-License-Identifier: MIT */
/* Persistent dirty bitmaps: which parts of a disk have changed since. */
#ifndef BD_BITMAP_H
#define BD_BITMAP_H

#include "blockdev/include/blockdev.h"

struct bd_bitmap_info {
	char *name;
	uint32_t granularity;     /* bytes per bit */
	bool enabled;             /* writers keep it up to date */
	bool inconsistent;        /* it was not saved: of no use but to be removed */
};

/* May this image have persistent bitmaps?  Does not block. */
bool bd_can_bitmaps(const struct bd_node *node);
/* All bitmaps; *list is freed by bd_bitmaps_free().  None: *nr is 0.  Blocks. */
int bd_bitmaps_get(struct bd_node *node, struct bd_bitmap_info **list, size_t *nr,
		   struct bd_error *err);
void bd_bitmaps_free(struct bd_bitmap_info *list, size_t nr);

/*
 * Add a bitmap of zeros; @granularity: bytes per bit, a power of two from 512 on; 0: the
 * cluster size, from 4 KiB to 64 KiB.
 * -EEXIST, -ENOTSUP: the format has none; -EINVAL: bad name or granularity.
 * Blocks; no request in flight.  Like: qemu-img bitmap --add.
 */
int bd_bitmap_add(struct bd_node *node, const char *name, uint64_t granularity, bool enabled,
		  struct bd_error *err);
/* -ENOENT: there is none of that name.  Blocks.  Like: qemu-img bitmap --remove. */
int bd_bitmap_remove(struct bd_node *node, const char *name, struct bd_error *err);
/* Make all bits zero.  Blocks.  Like: qemu-img bitmap --clear. */
int bd_bitmap_clear(struct bd_node *node, const char *name, struct bd_error *err);
/* Shall writers keep it up to date?  Blocks.  Like: qemu-img bitmap --enable, --disable. */
int bd_bitmap_enable(struct bd_node *node, const char *name, bool enabled, struct bd_error *err);
/*
 * Add what is set in bitmap @from of @src (which may be @node) to @name; granularities may
 * differ, sizes not.  Blocks.  Like: qemu-img bitmap --merge.
 */
int bd_bitmap_merge(struct bd_node *node, const char *name, struct bd_node *src, const char *from,
		    struct bd_error *err);

#endif
