/* SPDX-License-Identifier: MIT */
/* Bitmaps: list, add, remove, enable, load and store.  Each change is a new directory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/base/cleanup.h"
#include "blockdev/format/qcow2/bitmap.h"
#include "blockdev/format/qcow2/layout.h"
#include "blockdev/format/qcow2/rewrite.h"

#define MAX_BITMAP_BYTES UINT64_C(0x20000000)

static bool can(const struct bd_node *node)
{
	return qcow2_of(node)->version >= 3;
}

/*
 * Directory and tables on disk are read and changed while nothing is tracked; then it goes on, with
 * what there is now.
 */
static int pause_tracking(struct qcow2 *q)
{
	return qcow2_track_stop(q);
}

static void resume_tracking(struct qcow2 *q)
{
	if (q->node->wrote && qcow2_track_start(q, false) < 0)
		qcow2_track_free(q);
}

static int list_all(struct bd_node *node, struct bd_bitmap_info **out, size_t *nr,
		    struct bd_error *err)
{
	__cleanup(free) struct qcow2_bitmap *list = NULL;
	struct qcow2 *q = qcow2_of(node);
	uint32_t count;
	int ret = pause_tracking(q);

	if (ret == 0)
		ret = qcow2_bitmaps_read(q, &list, &count, err);
	resume_tracking(q);
	if (ret < 0 || !count)
		return ret;
	*out = calloc(count, sizeof(**out));
	if (!*out)
		return bd_fail(err, -ENOMEM, "Out of memory");
	for (; *nr < count; ++*nr) {
		const struct qcow2_bitmap *bitmap = &list[*nr];

		(*out)[*nr] = (struct bd_bitmap_info){
			.name = strdup(bitmap->name),
			.granularity = UINT32_C(1) << bitmap->granularity_bits,
			.enabled = bitmap->flags & QCOW2_BITMAP_FLAG_AUTO,
			.inconsistent = bitmap->flags & QCOW2_BITMAP_FLAG_IN_USE,
		};
		if (!(*out)[*nr].name)
			return bd_fail(err, -ENOMEM, "Out of memory");
	}
	return 0;
}

/* --- one change ---------------------------------------------------------------------------- */

struct change {
	struct qcow2 *q;
	struct qcow2_rewrite rw;
	struct qcow2_bitmap *list; /* of all bitmaps, to be changed; room for one more */
	uint32_t nr;
	struct qcow2_bitmap *one;  /* the one that is meant; NULL: none of that name */
};

static int begin(struct change *c, struct qcow2 *q, const char *name, struct bd_error *err)
{
	int ret = qcow2_verb_begin(q, err);

	memset(c, 0, sizeof(*c));
	c->q = q;
	if (ret == 0)
		ret = pause_tracking(q);
	if (ret == 0)
		ret = qcow2_bitmaps_read(q, &c->list, &c->nr, err);
	if (ret < 0)
		return ret;
	ret = qcow2_rewrite_begin(&c->rw, q);
	for (uint32_t i = 0; i < c->nr; i++) {
		if (!strcmp(c->list[i].name, name))
			c->one = &c->list[i];
	}
	return ret < 0 ? bd_fail_errno(err, ret, "Could not change the bitmaps") : 0;
}

/* @ret: of what has been done so far; if that is 0, make it so. */
static int finish(struct change *c, int ret, struct bd_error *err)
{
	if (ret == 0)
		ret = qcow2_bitmaps_switch(&c->rw, c->list, c->nr);
	if (c->rw.q)
		qcow2_rewrite_end(&c->rw);
	resume_tracking(c->q);
	free(c->list);
	if (ret < 0 && !(err && err->msg[0]))
		bd_fail_errno(err, ret, "Could not change the bitmaps");
	return ret;
}

static int may_add(const struct qcow2 *q, const struct bd_bitmap_info *info, struct bd_error *err)
{
	uint64_t bytes = div_up(div_up(q->node->size, info->granularity), 8);
	int ret = -EINVAL;

	if (q->version < 3)
		bd_fail(err, ret, "Cannot store dirty bitmaps in qcow2 v2 files");
	else if (q->bitmaps.nr >= QCOW2_LIMIT_BITMAPS)
		bd_fail(err, ret, "Maximum number of persistent bitmaps is already reached");
	else if (info->granularity > UINT32_C(1) << 31)
		bd_fail(err, ret, "Granularity exceeds maximum (%u bytes)", UINT32_C(1) << 31);
	else if (bytes > MAX_BITMAP_BYTES ||
		 div_up(bytes, q->cluster_size) > QCOW2_LIMIT_BITMAP_TABLE_ENTRIES)
		bd_fail(err, ret, "Too much space will be occupied by the bitmap. Use larger "
				  "granularity");
	else if (!bytes)
		bd_fail(err, ret, "The disk is empty");
	else if (strlen(info->name) > QCOW2_LIMIT_BITMAP_NAME)
		bd_fail(err, ret, "Name length exceeds maximum (%u characters)",
			QCOW2_LIMIT_BITMAP_NAME);
	else
		return 0;
	bd_prefix(err, "Can't make bitmap '%.255s' persistent in '%.255s': ", info->name,
		  q->node->filename);
	return ret;
}

static int add(struct bd_node *node, const struct bd_bitmap_info *info, struct bd_error *err)
{
	struct qcow2 *q = qcow2_of(node);
	struct qcow2_bitmap *fresh;
	struct change c;
	int ret = may_add(q, info, err);

	if (ret < 0)
		return ret;
	ret = begin(&c, q, info->name, err);
	if (ret == 0) {
		fresh = &c.list[c.nr++];
		*fresh = (struct qcow2_bitmap){
			.flags = info->enabled ? QCOW2_BITMAP_FLAG_AUTO : 0,
			.granularity_bits = log2_floor(info->granularity),
		};
		memcpy(fresh->name, info->name, strlen(info->name));
		ret = qcow2_bitmap_write(&c.rw, fresh, NULL);
	}
	return finish(&c, ret, err);
}

static int remove_one(struct bd_node *node, const char *name, struct bd_error *err)
{
	struct change c;
	int ret = begin(&c, qcow2_of(node), name, err);

	if (ret == 0)
		ret = c.one ? qcow2_bitmap_stale(&c.rw, c.one) : -ENOENT;
	if (ret == 0) {
		size_t behind = (size_t)(c.list + c.nr - (c.one + 1));

		memmove(c.one, c.one + 1, behind * sizeof(*c.one));
		c.nr--;
	}
	return finish(&c, ret, err);
}

int qcow2_bitmaps_drop(struct qcow2 *q, struct bd_error *err)
{
	struct change c;
	int ret;

	if (!q->bitmaps.nr)
		return 0;
	ret = begin(&c, q, "", err);
	for (uint32_t i = 0; i < c.nr && ret == 0; i++)
		ret = qcow2_bitmap_stale(&c.rw, &c.list[i]);
	c.nr = 0;
	return finish(&c, ret, err);
}

static int enable(struct bd_node *node, const char *name, bool enabled, struct bd_error *err)
{
	struct change c;
	int ret = begin(&c, qcow2_of(node), name, err);

	if (ret == 0 && !c.one)
		ret = -ENOENT;
	if (ret == 0) {
		c.one->flags &= ~(uint32_t)QCOW2_BITMAP_FLAG_AUTO;
		if (enabled)
			c.one->flags |= QCOW2_BITMAP_FLAG_AUTO;
	}
	return finish(&c, ret, err);
}

static int store(struct bd_node *node, const char *name, const struct bd_bits *bits,
		 struct bd_error *err)
{
	struct change c;
	int ret = begin(&c, qcow2_of(node), name, err);

	if (ret == 0)
		ret = c.one ? qcow2_bitmap_stale(&c.rw, c.one) : -ENOENT;
	if (ret == 0)
		ret = qcow2_bitmap_write(&c.rw, c.one, bits);
	return finish(&c, ret, err);
}

/* --- reading the bits ---------------------------------------------------------------------- */

static int load_piece(struct qcow2 *q, uint64_t entry, uint8_t *to, uint64_t len)
{
	uint64_t off = entry & QCOW2_BITMAP_ENTRY_OFFSET;

	if (entry & QCOW2_BITMAP_ENTRY_RESERVED || off & (q->cluster_size - 1) ||
	    (off && entry & QCOW2_BITMAP_ENTRY_ALL_ONES))
		return -EINVAL;
	if (off)
		return io_pread(q->node->file, off, to, len);
	if (entry & QCOW2_BITMAP_ENTRY_ALL_ONES)
		memset(to, 0xff, len);
	return 0;
}

static int load_table(struct qcow2 *q, const struct qcow2_bitmap *bitmap,
		      const struct bd_bits *bits)
{
	size_t len = (size_t)bitmap->table_size * 8;
	__cleanup(free) be64 *table = malloc(len + 8);
	int ret = table ? io_pread(q->node->file, bitmap->table_off, table, len) : -ENOMEM;

	for (uint64_t i = 0; i << q->cluster_bits < bits->bytes && ret == 0; i++) {
		uint64_t off = i << q->cluster_bits;

		if (i >= bitmap->table_size)
			return -EINVAL;
		ret = load_piece(q, be64_get(table[i]), bits->bits + off,
				 min_u64(bits->bytes - off, q->cluster_size));
	}
	return ret;
}

int qcow2_bitmap_load(struct qcow2 *q, const struct qcow2_bitmap *bitmap, uint64_t disk,
		      struct bd_bits *bits)
{
	*bits = (struct bd_bits){
		.granularity = UINT64_C(1) << bitmap->granularity_bits,
		.disk = disk,
	};
	bits->bytes = div_up(div_up(disk, bits->granularity), 8);
	if (bits->bytes > MAX_BITMAP_BYTES)
		return -EFBIG;
	bits->bits = calloc(1, bits->bytes + 1);
	return bits->bits ? load_table(q, bitmap, bits) : -ENOMEM;
}

static int load(struct bd_node *node, const char *name, struct bd_bits *bits,
		struct bd_error *err)
{
	struct qcow2 *q = qcow2_of(node);
	__cleanup(free) struct qcow2_bitmap *list = NULL;
	uint32_t nr = 0, at = 0;
	int ret = pause_tracking(q);

	if (ret == 0)
		ret = qcow2_bitmaps_read(q, &list, &nr, err);
	resume_tracking(q);
	if (ret < 0)
		return ret;
	while (at < nr && strcmp(list[at].name, name))
		at++;
	if (at == nr)
		return bd_fail(err, -ENOENT, "Dirty bitmap '%s' not found", name);
	ret = qcow2_bitmap_load(q, &list[at], node->size, bits);
	return ret < 0 ? bd_fail_errno(err, ret, "Could not read bitmap '%s'", name) : 0;
}

const struct bd_bitmap_ops qcow2_bitmap_ops = {
	.can = can,
	.list = list_all,
	.add = add,
	.remove = remove_one,
	.enable = enable,
	.load = load,
	.store = store,
};
