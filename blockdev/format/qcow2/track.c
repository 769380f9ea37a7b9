/* SPDX-License-Identifier: MIT */
/*
 * Keeping bitmaps up to date.  Before the first write the enabled ones are read and marked as in
 * use on disk; writes set bits in memory; closing saves them and takes the mark off.  After a crash
 * the mark tells that bits are missing.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/format/qcow2/alloc.h"
#include "blockdev/format/qcow2/bitmap.h"
#include "blockdev/format/qcow2/layout.h"
#include "blockdev/format/qcow2/rewrite.h"

struct tracked {
	struct bd_bits bits;      /* bits.bits NULL: not read */
	bool useless;             /* it was in use already, by somebody who did not save it */
};

struct qcow2_track {
	struct qcow2_bitmap *list; /* as on disk, but for the marks; owned */
	struct tracked *one;       /* beside @list */
	uint32_t nr;
};

void qcow2_track_free(struct qcow2 *q)
{
	struct qcow2_track *track = q->track;

	if (!track)
		return;
	for (uint32_t i = 0; i < track->nr; i++)
		free(track->one[i].bits.bits);
	free(track->one);
	free(track->list);
	free(track);
	q->track = NULL;
}

static int track_new(struct qcow2 *q)
{
	struct qcow2_track *track = calloc(1, sizeof(*track));
	int ret;

	if (!track)
		return -ENOMEM;
	ret = qcow2_bitmaps_read(q, &track->list, &track->nr, NULL);
	if (ret == 0) {
		track->one = calloc((size_t)track->nr + 1, sizeof(*track->one));
		ret = track->one ? 0 : -ENOMEM;
	}
	if (ret < 0) {
		free(track->list);
		free(track);
		return ret;
	}
	for (uint32_t i = 0; i < track->nr; i++)
		track->one[i].useless = track->list[i].flags & QCOW2_BITMAP_FLAG_IN_USE;
	q->track = track;
	return 0;
}

/* Bytes of a directory entry; there is no extra data in any. */
static uint64_t entry_len(const struct qcow2_bitmap *bitmap)
{
	return round_up(sizeof(struct qcow2_disk_bitmap) + strlen(bitmap->name), 8);
}

/* The flags of entry @idx in their place on disk. */
static int write_flags(struct qcow2 *q, uint32_t idx)
{
	uint64_t off = q->bitmaps.dir_off + offsetof(struct qcow2_disk_bitmap, flags);
	be32 flags = be32_make(q->track->list[idx].flags);

	for (uint32_t i = 0; i < idx; i++)
		off += entry_len(&q->track->list[i]);
	return io_pwrite(q->node->file, off, &flags, sizeof(flags));
}

int qcow2_track_start(struct qcow2 *q, bool all)
{
	bool marked = false;
	int ret = 0;

	if (!q->bitmaps.nr || !(q->autoclear & QCOW2_AUTOCLEAR_BITMAPS))
		return 0;
	if (!q->track)
		ret = track_new(q);
	for (uint32_t i = 0; ret == 0 && i < q->track->nr; i++) {
		struct qcow2_bitmap *bitmap = &q->track->list[i];
		struct tracked *one = &q->track->one[i];

		if (one->useless || one->bits.bits ||
		    !(all || bitmap->flags & QCOW2_BITMAP_FLAG_AUTO))
			continue;
		ret = qcow2_bitmap_load(q, bitmap, q->node->size, &one->bits);
		if (ret < 0)
			break;
		bitmap->flags |= QCOW2_BITMAP_FLAG_IN_USE;
		marked = true;
		ret = write_flags(q, i);
	}
	/* The marks must be there before any data are. */
	return ret == 0 && marked ? io_pflush(q->node->file) : ret;
}

/* What was read is written anew; the others keep their tables. */
static int save(struct qcow2 *q, struct qcow2_rewrite *rw)
{
	struct qcow2_track *track = q->track;
	int ret = 0;

	for (uint32_t i = 0; i < track->nr && ret == 0; i++) {
		if (!track->one[i].bits.bits)
			continue;
		ret = qcow2_bitmap_stale(rw, &track->list[i]);
		if (ret == 0)
			ret = qcow2_bitmap_write(rw, &track->list[i], &track->one[i].bits);
		track->list[i].flags &= ~(uint32_t)QCOW2_BITMAP_FLAG_IN_USE;
	}
	return ret < 0 ? ret : qcow2_bitmaps_switch(rw, track->list, track->nr);
}

int qcow2_track_stop(struct qcow2 *q)
{
	struct qcow2_rewrite rw;
	bool any = false;
	int ret = 0;

	for (uint32_t i = 0; q->track && i < q->track->nr; i++)
		any |= q->track->one[i].bits.bits != NULL;
	if (any) {
		ret = qcow2_rewrite_begin(&rw, q);
		if (ret == 0)
			ret = save(q, &rw);
		qcow2_rewrite_end(&rw);
	}
	qcow2_track_free(q);
	return ret;
}

static void set_bits(struct bd_bits *bits, uint64_t off, uint64_t end)
{
	uint64_t first, last;

	end = min_u64(end, bits->disk);
	if (off >= end)
		return;
	first = off / bits->granularity;
	last = (end - 1) / bits->granularity;
	while (first <= last) {
		if (first % 8 == 0 && last - first >= 8) {
			uint64_t whole = (last - first) / 8;

			memset(bits->bits + first / 8, 0xff, whole);
			first += whole * 8;
			continue;
		}
		bits->bits[first / 8] |= (uint8_t)(1 << first % 8);
		first++;
	}
}

void qcow2_track_set(struct qcow2 *q, uint64_t off, uint64_t len)
{
	for (uint32_t i = 0; q->track && i < q->track->nr; i++) {
		struct tracked *one = &q->track->one[i];

		if (one->bits.bits && q->track->list[i].flags & QCOW2_BITMAP_FLAG_AUTO)
			set_bits(&one->bits, off, off + len);
	}
}

/* --- another size -------------------------------------------------------------------------- */

static int usable(const struct qcow2_bitmap *bitmap, void *user)
{
	struct bd_error *err = user;

	if (!(bitmap->flags & QCOW2_BITMAP_FLAG_IN_USE))
		return 0;
	bd_fail(err, -EINVAL, "Bitmap '%s' is inconsistent and cannot be used", bitmap->name);
	bd_hint(err, "Try block-dirty-bitmap-remove to delete this bitmap from disk");
	return -EINVAL;
}

int qcow2_track_may_resize(struct qcow2 *q, struct bd_error *err)
{
	if (!q->track)
		return qcow2_bitmaps_each(q, usable, err, err);
	for (uint32_t i = 0; i < q->track->nr; i++) {
		if (q->track->one[i].useless)
			return usable(&q->track->list[i], err);
	}
	return 0;
}

static int resize_bits(struct bd_bits *bits, uint64_t disk)
{
	uint64_t nr = div_up(disk, bits->granularity), bytes = div_up(nr, 8);
	uint8_t *grown = realloc(bits->bits, bytes + 1);

	if (!grown)
		return -ENOMEM;
	if (bytes > bits->bytes)
		memset(grown + bits->bytes, 0, bytes - bits->bytes);
	if (nr % 8)
		grown[bytes - 1] &= (uint8_t)((1 << nr % 8) - 1);
	bits->bits = grown;
	bits->bytes = bytes;
	bits->disk = disk;
	return 0;
}

int qcow2_track_resize(struct qcow2 *q, uint64_t size)
{
	int ret = 0;

	for (uint32_t i = 0; q->track && i < q->track->nr && ret == 0; i++) {
		if (q->track->one[i].bits.bits)
			ret = resize_bits(&q->track->one[i].bits, size);
	}
	return ret;
}

/* --- hooks --------------------------------------------------------------------------------- */

int qcow2_tracked_plan(struct bd_node *node, struct bd_plan *plan, struct bd_wait *wait)
{
	int ret = qcow2_plan(node, plan, wait);

	if (ret > 0 && qcow2_of(node)->track)
		qcow2_track_set(qcow2_of(node), plan->guest_off, plan->len);
	return ret;
}

int qcow2_tracked_compressed(struct bd_node *node, struct bd_plan *plan, uint32_t len,
			     struct bd_wait *wait)
{
	int ret = qcow2_plan_compressed(node, plan, len, wait);

	if (ret > 0 && qcow2_of(node)->track)
		qcow2_track_set(qcow2_of(node), plan->guest_off, node->cluster_size);
	return ret;
}

int qcow2_tracked_zero(struct bd_node *node, uint64_t *off, uint64_t *len, unsigned req_flags,
		       struct bd_wait *wait)
{
	uint64_t start = *off;
	int ret = qcow2_zero(node, off, len, req_flags, wait);

	if (ret > 0 && qcow2_of(node)->track)
		qcow2_track_set(qcow2_of(node), start, *off - start);
	return ret;
}

int qcow2_tracked_discard(struct bd_node *node, uint64_t *off, uint64_t *len,
			  struct bd_wait *wait)
{
	uint64_t start = *off;
	int ret = qcow2_discard(node, off, len, wait);

	if (ret > 0 && qcow2_of(node)->track)
		qcow2_track_set(qcow2_of(node), start, *off - start);
	return ret;
}
