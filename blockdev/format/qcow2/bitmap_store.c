/* SPDX-License-Identifier: MIT */
/* Bits of a bitmap and the directory of all, written beside the old ones.  Spec: bitmaps. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/base/cleanup.h"
#include "blockdev/base/zero.h"
#include "blockdev/format/qcow2/alloc.h"
#include "blockdev/format/qcow2/bitmap.h"
#include "blockdev/format/qcow2/layout.h"
#include "blockdev/format/qcow2/rewrite.h"

struct collector {
	struct qcow2_bitmap *list;
	uint32_t nr, room;
	bool lost;                /* guest data were written without them */
};

static int collect(const struct qcow2_bitmap *bitmap, void *user)
{
	struct collector *c = user;

	if (c->nr == c->room)
		return -EINVAL;
	c->list[c->nr] = *bitmap;
	if (c->lost)
		c->list[c->nr].flags |= QCOW2_BITMAP_FLAG_IN_USE;
	c->nr++;
	return 0;
}

int qcow2_bitmaps_read(struct qcow2 *q, struct qcow2_bitmap **list, uint32_t *nr,
		       struct bd_error *err)
{
	struct collector c = {
		.room = q->bitmaps.nr,
		.lost = !(q->autoclear & QCOW2_AUTOCLEAR_BITMAPS),
	};
	int ret;

	*list = NULL;
	*nr = 0;
	c.list = calloc((size_t)c.room + 1, sizeof(*c.list));
	if (!c.list)
		return bd_fail(err, -ENOMEM, "Out of memory");
	ret = qcow2_bitmaps_each(q, collect, &c, err);
	if (ret < 0) {
		free(c.list);
		return ret;
	}
	*list = c.list;
	*nr = c.nr;
	return 0;
}

/* Bytes [off, +cluster) of the bits, padded with zeros; false: all of them are zero. */
static bool piece(const struct qcow2 *q, const struct bd_bits *bits, uint64_t idx, uint8_t *out)
{
	uint64_t off = idx << q->cluster_bits;
	uint64_t len = bits && off < bits->bytes ? min_u64(bits->bytes - off, q->cluster_size) : 0;

	if (!len || bd_is_zero(bits->bits + off, len))
		return false;
	memset(out, 0, q->cluster_size);
	memcpy(out, bits->bits + off, len);
	return true;
}

int qcow2_bitmap_write(struct qcow2_rewrite *rw, struct qcow2_bitmap *bitmap,
		       const struct bd_bits *bits)
{
	struct qcow2 *q = rw->q;
	uint64_t nr_bits = div_up(q->node->size, UINT64_C(1) << bitmap->granularity_bits);
	uint64_t entries = div_up(div_up(nr_bits, 8), q->cluster_size);
	size_t len = round_up(max_u64(entries, 1) * 8, q->cluster_size);
	__cleanup(free) be64 *table = calloc(1, len);
	int ret = table ? 0 : -ENOMEM;

	for (uint64_t i = 0; i < entries && ret == 0; i++) {
		uint64_t off;

		if (!piece(q, bits, i, rw->table))
			continue;
		ret = qcow2_rewrite_alloc(rw, q->cluster_size, &off);
		if (ret == 0)
			ret = io_pwrite(q->node->file, off, rw->table, q->cluster_size);
		if (ret == 0)
			table[i] = be64_make(off);
	}
	if (ret == 0)
		ret = qcow2_rewrite_alloc(rw, len, &bitmap->table_off);
	bitmap->table_size = (uint32_t)entries;
	return ret < 0 ? ret : io_pwrite(q->node->file, bitmap->table_off, table, len);
}

int qcow2_bitmap_stale(struct qcow2_rewrite *rw, const struct qcow2_bitmap *bitmap)
{
	struct qcow2 *q = rw->q;
	size_t len = (size_t)bitmap->table_size * 8;
	__cleanup(free) be64 *table = malloc(len + 8);
	int ret = table ? io_pread(q->node->file, bitmap->table_off, table, len) : -ENOMEM;

	for (uint32_t i = 0; i < bitmap->table_size && ret == 0; i++) {
		uint64_t off = be64_get(table[i]) & QCOW2_BITMAP_ENTRY_OFFSET;

		if (off & (q->cluster_size - 1))
			return -EINVAL;
		if (off)
			ret = qcow2_rewrite_stale(rw, off, q->cluster_size);
	}
	return ret < 0 ? ret : qcow2_rewrite_stale(rw, bitmap->table_off, len);
}

/* The directory into clusters of its own.  *dir: as the header will name it. */
static int write_directory(struct qcow2_rewrite *rw, const struct qcow2_bitmap *list, uint32_t nr,
			   struct qcow2_bitmap_ext *dir)
{
	__cleanup(free) uint8_t *bytes = NULL;
	uint64_t pos = 0;
	int ret;

	*dir = (struct qcow2_bitmap_ext){ .nr = nr };
	for (uint32_t i = 0; i < nr; i++)
		dir->dir_size += round_up(sizeof(struct qcow2_disk_bitmap) + strlen(list[i].name),
					  8);
	if (!nr)
		return 0;
	if (dir->dir_size > QCOW2_LIMIT_BITMAP_DIR_BYTES)
		return -EFBIG;
	bytes = calloc(1, dir->dir_size);
	if (!bytes)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++) {
		size_t name_len = strlen(list[i].name);
		struct qcow2_disk_bitmap disk = {
			.table_off = be64_make(list[i].table_off),
			.table_size = be32_make(list[i].table_size),
			.flags = be32_make(list[i].flags),
			.type = 1,
			.granularity_bits = (uint8_t)list[i].granularity_bits,
			.name_len = be16_make((uint16_t)name_len),
		};

		memcpy(bytes + pos, &disk, sizeof(disk));
		memcpy(bytes + pos + sizeof(disk), list[i].name, name_len);
		pos += round_up(sizeof(disk) + name_len, 8);
	}
	ret = qcow2_rewrite_alloc(rw, dir->dir_size, &dir->dir_off);
	return ret < 0 ? ret : io_pwrite(rw->q->node->file, dir->dir_off, bytes, dir->dir_size);
}

/* Write feature bits with the mark that the bitmaps extension is valid, or without. */
static int mark(struct qcow2 *q, bool valid)
{
	uint64_t old = q->autoclear;
	int ret;

	q->autoclear &= ~(uint64_t)QCOW2_AUTOCLEAR_BITMAPS;
	if (valid)
		q->autoclear |= QCOW2_AUTOCLEAR_BITMAPS;
	if (q->autoclear == old)
		return 0;
	ret = qcow2_header_write_features(q);
	return ret < 0 ? ret : io_pflush(q->node->file);
}

/*
 * From one directory to another only the extension changes, inside one sector.  Where it comes or
 * goes the header is another one: meanwhile the mark is off.
 */
static int switch_header(struct qcow2 *q, const struct qcow2_bitmap_ext *dir)
{
	struct qcow2_bitmap_ext old = q->bitmaps;
	int ret = !dir->nr || !old.nr ? mark(q, false) : 0;

	if (ret < 0)
		return ret;
	q->bitmaps = *dir;
	ret = qcow2_header_write(q);
	if (ret == 0)
		ret = io_pflush(q->node->file);
	if (ret == 0)
		ret = mark(q, dir->nr != 0);
	if (ret < 0)
		q->bitmaps = old;
	return ret;
}

int qcow2_bitmaps_switch(struct qcow2_rewrite *rw, const struct qcow2_bitmap *list, uint32_t nr)
{
	struct qcow2 *q = rw->q;
	struct qcow2_bitmap_ext dir;
	int ret = write_directory(rw, list, nr, &dir);

	if (ret == 0 && q->bitmaps.nr)
		ret = qcow2_rewrite_stale(rw, q->bitmaps.dir_off, q->bitmaps.dir_size);
	/* What the header will name must be counted and written before. */
	if (ret == 0)
		ret = qcow2_flush_all(q);
	if (ret < 0)
		return ret;
	ret = switch_header(q, &dir);
	if (ret < 0) {
		/* No room is found out before anything is written; else the header may be new. */
		if (ret != -ENOSPC)
			rw->fresh.nr = 0;
		return ret;
	}
	qcow2_rewrite_done(rw);
	return qcow2_flush_all(q);
}
