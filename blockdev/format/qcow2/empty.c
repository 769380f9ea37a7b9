/* SPDX-License-Identifier: MIT */
/*
 * Dropping all contents, after a commit say.  An image that is nothing but clusters starts over, as
 * QEMU's: the refcount table, one refcount block and the L1 table behind the header, and the file
 * ends there.  Others get an empty L1 table, and their clusters are freed.
 *
 * Starting over writes over what the old tables name, so counts mean nothing meanwhile:
 *
 *   dirty mark -> L1 zeroed -> new places zeroed -> header -> refcount table -> counts -> mark off
 *
 * with a barrier at each arrow.  Until the end whoever opens the image counts anew.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/base/cleanup.h"
#include "blockdev/format/qcow2/alloc.h"
#include "blockdev/format/qcow2/chain.h"
#include "blockdev/format/qcow2/entry.h"
#include "blockdev/format/qcow2/layout.h"
#include "blockdev/format/qcow2/rewrite.h"

/* Where things are afterwards, in clusters. */
enum { TABLE_AT = 1, BLOCK_AT, L1_AT };

static uint64_t l1_clusters(const struct qcow2 *q)
{
	return div_up(q->l1_size * UINT64_C(8), q->cluster_size);
}

static bool can_start_over(const struct qcow2 *q)
{
	uint64_t per_block = (uint64_t)q->cluster_size * 8 >> q->refcount_order;

	return q->version >= 3 && !q->nb_snapshots && !(q->autoclear & QCOW2_AUTOCLEAR_BITMAPS) &&
	       q->crypt_method <= 1 && /* LUKS keeps a header in clusters */
	       !(q->incompatible & QCOW2_INCOMPAT_DATA_FILE) && q->l1_off >= q->cluster_size &&
	       L1_AT + l1_clusters(q) <= per_block;
}

static int mark(struct qcow2 *q, bool dirty)
{
	int ret;

	if (dirty)
		q->incompatible |= QCOW2_INCOMPAT_DIRTY;
	else
		q->incompatible &= ~(uint64_t)QCOW2_INCOMPAT_DIRTY;
	ret = qcow2_header_write_features(q);
	return ret < 0 ? ret : io_pflush(q->node->file);
}

/* Nothing is mapped any more. */
static int drop_mapping(struct qcow2 *q)
{
	uint64_t len = l1_clusters(q) << q->cluster_bits;
	int ret;

	io_event(q->node->file, "l1_update");
	ret = len ? io_pzero(q->node->file, q->l1_off, len, 0) : 0;
	if (ret < 0)
		return ret;
	memset(q->l1, 0, q->l1_size * sizeof(*q->l1));
	metacache_empty(q->l2_cache);
	metacache_empty(q->refcount_cache);
	return io_pflush(q->node->file);
}

/* Empty tables at their new places, and the header that names them in one write. */
static int move_tables(struct qcow2 *q)
{
	struct { be64 l1_off, reftable_off; be32 reftable_clusters; } field = {
		be64_make((uint64_t)L1_AT << q->cluster_bits),
		be64_make((uint64_t)TABLE_AT << q->cluster_bits), be32_make(1),
	};
	int ret;

	io_event(q->node->file, "empty_image_prepare");
	ret = io_pzero(q->node->file, q->cluster_size,
		       (L1_AT - TABLE_AT + l1_clusters(q)) << q->cluster_bits, 0);
	if (ret == 0)
		ret = io_pflush(q->node->file);
	io_event(q->node->file, "reftable_update");
	if (ret == 0)
		ret = io_pwrite(q->node->file, offsetof(struct qcow2_disk_header, l1_off), &field,
				20);
	return ret < 0 ? ret : io_pflush(q->node->file);
}

/* Count what is left: the header and the new tables. */
static int count_tables(struct qcow2 *q)
{
	__cleanup(free) uint8_t *block = calloc(1, q->cluster_size);
	uint64_t block_off = (uint64_t)BLOCK_AT << q->cluster_bits;
	be64 entry = be64_make(block_off);
	int ret;

	if (!block)
		return -ENOMEM;
	io_event(q->node->file, "refblock_alloc");
	ret = io_pwrite(q->node->file, (uint64_t)TABLE_AT << q->cluster_bits, &entry,
			sizeof(entry));
	if (ret == 0)
		ret = io_pflush(q->node->file);
	if (ret < 0)
		return ret;
	io_event(q->node->file, "cluster_alloc");
	for (uint64_t i = 0; i < L1_AT + l1_clusters(q); i++)
		qcow2_refcount_set(block, i, q->refcount_order, 1);
	ret = io_pwrite(q->node->file, block_off, block, q->cluster_size);
	return ret < 0 ? ret : io_pflush(q->node->file);
}

/* What is on disk becomes what is in memory. */
static int take_over(struct qcow2 *q)
{
	uint64_t entries = q->cluster_size / 8;
	uint64_t *table = calloc(entries, sizeof(*table));
	uint8_t *dirty = calloc(1, entries / 64 + 1);

	if (!table || !dirty) {
		free(table);
		free(dirty);
		return -ENOMEM;
	}
	free(q->reftable);
	free(q->reftable_dirty);
	q->reftable = table;
	q->reftable[0] = (uint64_t)BLOCK_AT << q->cluster_bits;
	q->reftable_dirty = dirty;
	q->reftable_off = (uint64_t)TABLE_AT << q->cluster_bits;
	q->reftable_clusters = 1;
	q->reftable_size = (uint32_t)entries;
	q->l1_off = (uint64_t)L1_AT << q->cluster_bits;
	q->alloc->packed_off = q->alloc->reserved = 0;
	q->alloc->ragged = false;
	qcow2_alloc_again(q, 0);
	return 0;
}

static int start_over(struct qcow2 *q)
{
	uint64_t end = (L1_AT + l1_clusters(q)) << q->cluster_bits;
	int ret;

	qcow2_fresh_stop(q);
	ret = mark(q, true);
	if (ret == 0)
		ret = drop_mapping(q);
	if (ret == 0)
		ret = move_tables(q);
	if (ret == 0)
		ret = count_tables(q);
	if (ret == 0)
		ret = take_over(q);
	/* Half-way nothing may be allocated here, and the mark stays for the next one to open. */
	if (ret < 0) {
		q->node->flags &= ~BD_O_RDWR;
		return ret;
	}
	ret = mark(q, false);
	return ret < 0 ? ret : io_resize(q->node->file, end, "off", NULL);
}

/* An empty L1 table takes the place of the old one. */
static int replace_l1(struct qcow2 *q)
{
	struct qcow2_rewrite rw;
	int ret = qcow2_rewrite_begin(&rw, q);

	if (ret == 0) {
		rw.l1 = calloc((size_t)q->l1_size + 1, 8);
		ret = rw.l1 ? 0 : -ENOMEM;
	}
	if (ret == 0)
		ret = qcow2_rewrite_count(&rw, &rw.loss, q->l1, q->l1_size, true);
	if (ret == 0)
		ret = qcow2_rewrite_commit(&rw);
	qcow2_rewrite_end(&rw);
	if (ret == 0 && q->incompatible & QCOW2_INCOMPAT_DATA_FILE && q->node->data->can_unmap)
		io_pdiscard(q->node->data, 0, q->node->size);
	return ret;
}

int qcow2_make_empty(struct bd_node *node, struct bd_error *err)
{
	struct qcow2 *q = qcow2_of(node);
	int ret = qcow2_verb_begin(q, err);

	if (ret < 0)
		return ret;
	ret = can_start_over(q) ? start_over(q) : replace_l1(q);
	return ret < 0 ? bd_fail_errno(err, ret, "Failed to empty %s", node->filename) : 0;
}
