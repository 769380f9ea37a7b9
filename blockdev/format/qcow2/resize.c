/* SPDX-License-Identifier: MIT */
/* Growing and shrinking the guest disk: plain blocking code on a drained image. */
#include "blockdev/format/qcow2/resize.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/base/cleanup.h"
#include "blockdev/format/qcow2/alloc.h"
#include "blockdev/format/qcow2/bitmap.h"
#include "blockdev/format/qcow2/header.h"
#include "blockdev/format/qcow2/overlap.h"

static int write_size(struct qcow2 *q, uint64_t size)
{
	be64 field = be64_make(size);

	return io_pwrite(q->node->file, offsetof(struct qcow2_disk_header, size), &field,
			 sizeof(field));
}

static int write_l1(struct qcow2 *q, const uint64_t *table, uint64_t entries, uint64_t off)
{
	size_t len = round_up(entries * 8, q->cluster_size);
	__cleanup(free) be64 *disk = calloc(1, len);
	int ret;

	if (!disk)
		return -ENOMEM;
	for (uint64_t i = 0; i < entries; i++)
		disk[i] = be64_make(table[i]);
	io_event(q->node->file, "l1_grow_write_table");
	ret = io_pwrite(q->node->file, off, disk, len);
	return ret < 0 ? ret : io_pflush(q->node->file);
}

/* Size and offset in one write. */
static int name_l1(struct qcow2 *q, uint64_t entries, uint64_t off)
{
	struct { be32 size; be64 off; } field = { be32_make((uint32_t)entries), be64_make(off) };
	int ret;

	_Static_assert(sizeof(field) == 12, "l1_size and l1_off are neighbours");
	ret = io_pwrite(q->node->file, offsetof(struct qcow2_disk_header, l1_size), &field,
			sizeof(field));
	return ret < 0 ? ret : io_pflush(q->node->file);
}

/* Only if the header is sure to name the old table may the new one be given back. */
static int switch_l1(struct qcow2 *q, uint64_t entries, uint64_t off)
{
	int ret;

	io_event(q->node->file, "l1_grow_activate_table");
	ret = name_l1(q, entries, off);
	if (ret < 0 && name_l1(q, q->l1_size, q->l1_off) == 0)
		qcow2_free_meta(q, off, entries * 8);
	return ret;
}

/* A table of @entries, with its counts, whose content is on disk; nothing refers to it yet. */
static int new_l1(struct qcow2 *q, const uint64_t *table, uint64_t entries, uint64_t *off)
{
	int ret;

	io_event(q->node->file, "l1_grow_alloc_table");
	ret = qcow2_alloc_meta(q, entries * 8, off);
	if (ret < 0)
		return ret;
	/* The counts must be durable before the header names it. */
	ret = qcow2_flush_all(q);
	if (ret == 0)
		ret = write_l1(q, table, entries, *off);
	if (ret < 0)
		qcow2_free_meta(q, *off, entries * 8);
	return ret;
}

int qcow2_l1_reserve(struct qcow2 *q, uint64_t entries)
{
	uint64_t off, old_off = q->l1_off, old_size = q->l1_size;
	uint64_t *table;
	uint8_t *dirty;
	int ret;

	if (entries <= q->l1_size)
		return 0;
	if (entries > QCOW2_LIMIT_L1_BYTES / 8)
		return -EFBIG;
	table = calloc(entries, 8);
	dirty = calloc(1, entries / 64 + 1);
	ret = table && dirty ? qcow2_flush_all(q) : -ENOMEM;
	if (ret == 0) {
		memcpy(table, q->l1, (size_t)old_size * 8);
		ret = new_l1(q, table, entries, &off);
	}
	if (ret == 0)
		ret = switch_l1(q, entries, off);
	if (ret < 0) {
		free(table);
		free(dirty);
		return ret;
	}
	free(q->l1);
	free(q->l1_dirty);
	q->l1 = table;
	q->l1_dirty = dirty;
	q->l1_size = (uint32_t)entries;
	q->l1_off = off;
	qcow2_overlap_free(q); /* the old table's clusters are as good as others now */
	ret = old_size ? qcow2_free_meta(q, old_off, old_size * 8) : 0;
	/* The old table's clusters are the next to be taken. */
	return ret < 0 ? ret : qcow2_flush_once(q);
}

/*
 * What lay behind the old end must not appear: the rest of its last cluster, and bytes of a
 * backing file that is longer than the disk was.  Durable, so the header's size may change.
 */
static int hide_old_bytes(struct bd_node *node, uint64_t old)
{
	uint64_t end = min_u64(round_up(old, node->cluster_size), node->size);
	int ret = 0;

	if (node->backing && node->backing->size > old)
		end = max_u64(end, min_u64(node->backing->size, node->size));
	if (end > old)
		ret = bd_pwrite_zeroes(node, old, end - old, 0);
	return ret < 0 ? ret : qcow2_flush_all(qcow2_of(node));
}

/* Give back the L2 tables that map nothing any more. */
static int drop_tables(struct qcow2 *q, uint64_t size)
{
	for (uint64_t i = qcow2_l1_needed(q, size); i < q->l1_size; i++) {
		uint64_t table = q->l1[i] & QCOW2_OFFSET_MASK;
		int ret;

		if (!q->l1[i])
			continue;
		qcow2_l1_set(q, i, 0);
		ret = table ? qcow2_free_meta(q, table, q->cluster_size) : 0;
		if (ret < 0)
			return ret;
	}
	qcow2_overlap_free(q);
	return qcow2_flush_all(q);
}

/* Clusters of the file up to and with the last one that is in use. */
static int used_clusters(struct qcow2 *q, uint64_t *clusters)
{
	uint64_t per_block = (uint64_t)q->cluster_size * 8 >> q->refcount_order;
	__cleanup(free) uint8_t *block = malloc(q->cluster_size);

	if (!block)
		return -ENOMEM;
	*clusters = 0;
	for (uint32_t i = q->reftable_size; i-- > 0 && !*clusters;) {
		uint64_t off = q->reftable[i] & QCOW2_REFTABLE_ENTRY_OFFSET;
		int ret;

		if (!off)
			continue;
		ret = io_pread(q->node->file, off, block, q->cluster_size);
		if (ret < 0)
			return ret;
		for (uint64_t c = per_block; c-- > 0 && !*clusters;)
			if (qcow2_refcount_get(block, c, q->refcount_order))
				*clusters = i * per_block + c + 1;
	}
	return 0;
}

static int cut_file(struct qcow2 *q)
{
	int64_t length = io_length(q->node->file);
	uint64_t clusters;
	int ret = used_clusters(q, &clusters);

	if (ret < 0 || length < 0)
		return ret < 0 ? ret : (int)length;
	if (!clusters || (uint64_t)length <= clusters << q->cluster_bits)
		return 0;
	return io_resize(q->node->file, clusters << q->cluster_bits, "off", NULL);
}

/* Give back all clusters from @first on, whatever the discard modes of the node. */
static int cut(struct bd_node *node, uint64_t first)
{
	struct qcow2 *q = qcow2_of(node);
	bool no_unref = q->discard_no_unref;
	unsigned flags = node->flags;
	int ret;

	node->flags |= BD_O_UNMAP;
	q->discard_no_unref = false;
	ret = bd_pdiscard(node, first, node->size - first);
	q->discard_no_unref = no_unref;
	node->flags = flags;
	return ret;
}

/* Does anything of [off, end), which may be behind the disk, hold data?  1, 0, negative errno. */
static int holds_data(struct bd_node *node, uint64_t off, uint64_t end)
{
	while (off < end) {
		struct bd_extent ext;
		int ret = qcow2_map(node, off, end - off, &ext, 1, NULL);

		if (ret < 0)
			return ret;
		if (ext.kind == BD_DATA || ext.kind == BD_COMPRESSED)
			return 1;
		off += ext.len;
	}
	return 0;
}

/*
 * What lies behind the disk must not appear in a longer one: the state of a machine, and what a
 * resize left that was broken off.
 */
static int drop_state(struct bd_node *node)
{
	struct qcow2 *q = qcow2_of(node);
	unsigned span_bits = q->cluster_bits + q->l2_bits;
	uint64_t size = node->size, first = qcow2_l1_needed(q, size);
	uint64_t start = round_up(size, q->cluster_size), end = first << span_bits;
	int any = start < end && first <= q->l1_size ? holds_data(node, start, end) : 0;

	if (any == 0)
		start = end;
	for (uint64_t i = first; i < q->l1_size && any == 0; i++)
		any = q->l1[i] != 0;
	if (any <= 0)
		return any;
	node->size = max_u64(end, (uint64_t)q->l1_size << span_bits);
	any = cut(node, start);
	node->size = size;
	if (any == 0)
		any = qcow2_flush_all(q);
	return any < 0 ? any : drop_tables(q, size);
}

/* All that belongs to the new size, before the header tells it.  node->size is the new one. */
static int fill(struct bd_node *node, uint64_t old, const char *prealloc, struct bd_error *err)
{
	struct qcow2 *q = qcow2_of(node);
	uint64_t first = round_up(old, q->cluster_size);
	int ret = 0;

	if (first < node->size)
		ret = qcow2_prealloc_range(q, first, node->size - first, prealloc, err);
	if (ret < 0)
		return ret;
	ret = hide_old_bytes(node, old);
	if (ret == 0)
		ret = write_size(q, node->size);
	return ret < 0 ? bd_fail_errno(err, ret, "Failed to update the image size") : 0;
}

static int grow(struct bd_node *node, uint64_t size, const char *prealloc, struct bd_error *err)
{
	struct qcow2 *q = qcow2_of(node);
	uint64_t old = node->size;
	int ret = drop_state(node);

	if (ret == 0)
		ret = qcow2_l1_reserve(q, qcow2_l1_needed(q, size));
	if (ret < 0)
		return bd_fail_errno(err, ret, "Failed to grow the L1 table");
	if (q->incompatible & QCOW2_INCOMPAT_DATA_FILE) {
		ret = io_resize(node->data, size, strcmp(prealloc, "metadata") ? prealloc : "off",
				err);
		if (ret < 0)
			return ret;
	}
	node->size = size;
	ret = fill(node, old, prealloc, err);
	if (ret < 0) {
		node->size = old;
		drop_state(node); /* as far as possible; else when the disk grows the next time */
	}
	return ret;
}

static int shrink_disk(struct bd_node *node, uint64_t size, struct bd_error *err)
{
	struct qcow2 *q = qcow2_of(node);
	uint64_t first = round_up(size, q->cluster_size);
	int ret = drop_state(node);

	if (ret == 0 && first < node->size)
		ret = cut(node, first);
	if (ret < 0)
		return bd_fail_errno(err, ret, "Failed to discard cropped clusters");
	ret = qcow2_flush_all(q);
	if (ret == 0)
		ret = drop_tables(q, size);
	if (ret < 0)
		return bd_fail_errno(err, ret, "Failed to reduce the number of L2 tables");
	ret = write_size(q, size);
	if (ret < 0)
		return bd_fail_errno(err, ret, "Failed to update the image size");
	node->size = size;
	/* The image is good already: a longer file is no harm. */
	cut_file(q);
	if (q->incompatible & QCOW2_INCOMPAT_DATA_FILE)
		return io_resize(node->data, size, "off", err);
	return 0;
}

int qcow2_resize(struct bd_node *node, uint64_t size, const char *prealloc, bool shrink,
		 struct bd_error *err)
{
	struct qcow2 *q = qcow2_of(node);
	int ret;

	if (size % 512)
		return bd_fail(err, -EINVAL, "The new size must be a multiple of %d", 512);
	if (q->nb_snapshots && q->version < 3)
		return bd_fail(err, -ENOTSUP, "Can't resize a v2 image which has snapshots");
	ret = qcow2_track_may_resize(q, err);
	if (ret < 0)
		return ret;
	if (size < node->size && !shrink)
		return bd_fail(err, -EINVAL, "Shrinking an image must be asked for");
	if (size < node->size && strcmp(prealloc, "off"))
		return bd_fail(err, -EINVAL, "Preallocation can't be used for shrinking an image");
	if (!node->wrote) {
		ret = qcow2_first_write(node, err);
		if (ret < 0)
			return ret;
		node->wrote = true;
	}
	/* On disk they fit one size only: all of them, until they are saved. */
	ret = qcow2_track_start(q, true);
	if (ret < 0)
		return bd_fail_errno(err, ret, "Could not read the bitmaps");
	ret = size < node->size ? shrink_disk(node, size, err) : grow(node, size, prealloc, err);
	if (qcow2_track_resize(q, node->size) < 0)
		qcow2_track_free(q);
	if (ret < 0)
		return ret;
	ret = qcow2_flush_all(q);
	return ret < 0 ? bd_fail_errno(err, ret, "Could not write the image's metadata") : 0;
}
