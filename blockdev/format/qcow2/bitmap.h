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

/* All of them in memory, for a change; the caller frees *list, with room for one more. */
int qcow2_bitmaps_read(struct qcow2 *q, struct qcow2_bitmap **list, uint32_t *nr,
		       struct bd_error *err);

struct qcow2_rewrite;
/*
 * Part of a rewrite: a table of bits for @bitmap, in clusters of its own; @bits NULL: all zero.
 * Sets its table_off and table_size.
 */
int qcow2_bitmap_write(struct qcow2_rewrite *rw, struct qcow2_bitmap *bitmap,
		       const struct bd_bits *bits);
/* Part of a rewrite: what @bitmap's table refers to, and the table, are no longer used. */
int qcow2_bitmap_stale(struct qcow2_rewrite *rw, const struct qcow2_bitmap *bitmap);
/* The end of a rewrite: a directory of @nr bitmaps takes the place of the old one. */
int qcow2_bitmaps_switch(struct qcow2_rewrite *rw, const struct qcow2_bitmap *list, uint32_t nr);
/* Remove all bitmaps.  Blocks; drained. */
int qcow2_bitmaps_drop(struct qcow2 *q, struct bd_error *err);
/*
 * track.c: from the first write on, enabled bitmaps live in memory, marked as in use on disk.
 * @all: the others, too, for a change of size.  0, also if there is none.  Blocks; drained.
 */
int qcow2_track_start(struct qcow2 *q, bool all);
/* Save them and mark them as good again.  Blocks; drained. */
int qcow2_track_stop(struct qcow2 *q);
/* Forget them: they stay marked as in use, which means of no use. */
void qcow2_track_free(struct qcow2 *q);
/* Guest range [off, +len) changes. */
void qcow2_track_set(struct qcow2 *q, uint64_t off, uint64_t len);
/* May the size change?  -EINVAL: a bitmap cannot follow.  Then: it is @size now. */
int qcow2_track_may_resize(struct qcow2 *q, struct bd_error *err);
int qcow2_track_resize(struct qcow2 *q, uint64_t size);
/* Read the bits of @bitmap for a disk of @disk bytes; bits->bits is the caller's to free. */
int qcow2_bitmap_load(struct qcow2 *q, const struct qcow2_bitmap *bitmap, uint64_t disk,
		      struct bd_bits *bits);

/* The hooks of qcow2_write_ops with the bitmaps kept up to date. */
int qcow2_tracked_plan(struct bd_node *node, struct bd_plan *plan, struct bd_wait *wait);
int qcow2_tracked_compressed(struct bd_node *node, struct bd_plan *plan, uint32_t len,
			     struct bd_wait *wait);
int qcow2_tracked_zero(struct bd_node *node, uint64_t *off, uint64_t *len, unsigned req_flags,
		       struct bd_wait *wait);
int qcow2_tracked_discard(struct bd_node *node, uint64_t *off, uint64_t *len,
			  struct bd_wait *wait);

extern const struct bd_bitmap_ops qcow2_bitmap_ops;

#endif
