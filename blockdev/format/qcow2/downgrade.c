/* SPDX-License-Identifier: MIT */
/* From version 3 to 2 and back.  Version 2 knows no zero clusters: they become something else. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/base/cleanup.h"
#include "blockdev/format/qcow2/alloc.h"
#include "blockdev/format/qcow2/amend.h"
#include "blockdev/format/qcow2/bitmap.h"
#include "blockdev/format/qcow2/header.h"
#include "blockdev/format/qcow2/rewrite.h"
#include "blockdev/format/qcow2/snapshot.h"

/* Clusters taken at once, one behind the other. */
enum { BATCH = 1024 };

/*
 * Without a backing file, zero clusters become unallocated.  With one each gets a host cluster of
 * zeros.
 */
struct expand {
	bool backed;
	uint64_t found, used;     /* zero clusters: counted first, then replaced in that order */
	uint64_t *places;         /* host offsets: for each BATCH of them */
	const struct bd_amend_args *args;
	uint64_t done, total;     /* entries of all L1 tables, a step each.  Like: QEMU */
};

static void advance(struct expand *ex, uint64_t steps)
{
	while (steps-- && ex->args->progress)
		ex->args->progress(++ex->done, ex->total, ex->args->user);
}

static bool is_zero(struct qcow2_entry entry)
{
	return !(entry.l2 & QCOW2_OFLAG_COMPRESSED) && entry.l2 & QCOW2_OFLAG_ZERO;
}

static int look_at(struct qcow2_rewrite *rw, struct qcow2_entry entry, void *user)
{
	struct expand *ex = user;

	if (entry.l2 & QCOW2_OFLAG_COMPRESSED && rw->q->compression_type)
		return -ENOTSUP;
	if (!is_zero(entry))
		return 0;
	ex->found++;
	return qcow2_rewrite_count_entry(rw, &rw->loss, entry);
}

static void replace(struct qcow2_rewrite *rw, struct qcow2_entry *entry)
{
	struct expand *ex = rw->user;

	if (!is_zero(*entry))
		return;
	entry->l2 = 0;
	if (ex->backed)
		entry->l2 = ex->places[ex->used / BATCH] +
			    (ex->used % BATCH << rw->q->cluster_bits);
	ex->used++;
}

/* What reads as zeros, encrypted if the image is. */
static int write_zeros(struct qcow2 *q, uint64_t off, uint64_t len)
{
	const struct bd_sectors *cipher = q->node->cipher;
	__cleanup(free) uint8_t *buf = NULL;
	int ret = 0;

	if (!cipher)
		return io_pzero(q->node->file, off, len, 0);
	buf = malloc(q->cluster_size);
	if (!buf)
		return -ENOMEM;
	for (uint64_t end = off + len; off < end && ret == 0; off += q->cluster_size) {
		memset(buf, 0, q->cluster_size);
		bd_sectors_encrypt(cipher, off, buf, q->cluster_size);
		ret = io_pwrite(q->node->file, off, buf, q->cluster_size);
	}
	return ret;
}

static int make_zeros(struct qcow2_rewrite *rw, struct expand *ex)
{
	uint64_t nr = div_up(ex->found, BATCH);
	int ret = 0;

	if (!ex->backed)
		return 0;
	/* Its zeros differ with the guest's position, which is not known here. */
	if (rw->q->node->iv_by_guest)
		return -EPERM;
	ex->places = calloc(nr + 1, sizeof(*ex->places));
	if (!ex->places)
		return -ENOMEM;
	for (uint64_t i = 0; i < nr && ret == 0; i++) {
		uint64_t len = min_u64(ex->found - i * BATCH, BATCH) << rw->q->cluster_bits;

		ret = qcow2_rewrite_alloc(rw, len, &ex->places[i]);
		if (ret == 0)
			ret = write_zeros(rw->q, ex->places[i], len);
	}
	return ret;
}

/* The L1 tables of all snapshots, then the active one, with the tables below them edited. */
static int edit_all(struct qcow2_rewrite *rw, struct qcow2_snapshot *list, uint64_t **l1s)
{
	struct qcow2 *q = rw->q;
	uint64_t *active = rw->l1;
	int ret = 0;

	rw->edit = replace;
	for (uint32_t i = 0; i < q->nb_snapshots && ret == 0; i++) {
		rw->l1 = l1s[i];
		rw->l1_size = list[i].l1_size;
		ret = qcow2_rewrite_marks(rw, false);
		if (ret == 0)
			ret = qcow2_rewrite_stale(rw, list[i].l1_off,
						  (uint64_t)list[i].l1_size * 8);
		if (ret == 0)
			ret = qcow2_snapshot_write_l1(rw, l1s[i], list[i].l1_size,
						      &list[i].l1_off);
		if (ret == 0)
			advance(rw->user, list[i].l1_size);
	}
	rw->l1 = active;
	rw->l1_size = q->l1_size;
	return ret < 0 ? ret : qcow2_rewrite_marks(rw, false);
}

static int look_at_all(struct qcow2_rewrite *rw, struct expand *ex, uint64_t **l1s)
{
	struct qcow2 *q = rw->q;
	int ret = qcow2_rewrite_each(rw, q->l1, q->l1_size, look_at, ex);

	for (uint32_t i = 0; i < q->nb_snapshots && ret == 0; i++) {
		ret = qcow2_snapshot_l1(q, &q->snapshots[i], 0, &l1s[i], NULL);
		if (ret == 0)
			ret = qcow2_rewrite_each(rw, l1s[i], q->snapshots[i].l1_size, look_at, ex);
	}
	return ret;
}

static int expand_steps(struct qcow2_rewrite *rw, struct expand *ex, struct qcow2_snapshot *list,
			uint64_t **l1s)
{
	struct qcow2 *q = rw->q;
	uint32_t nr = q->nb_snapshots;
	size_t len = 0;
	int ret;

	rw->user = ex;
	ret = look_at_all(rw, ex, l1s);
	if (ret < 0 || !ex->found)
		return ret;
	rw->l1 = calloc((size_t)q->l1_size + 1, 8);
	if (!rw->l1)
		return -ENOMEM;
	memcpy(rw->l1, q->l1, (size_t)q->l1_size * 8);
	if ((ret = make_zeros(rw, ex)) < 0 ||
	    (ret = edit_all(rw, list, l1s)) < 0 ||
	    (ret = qcow2_snapshots_write(rw, list, nr, &len)) < 0 ||
	    (ret = qcow2_rewrite_commit(rw)) < 0)
		return ret;
	for (uint32_t i = 0; i < nr; i++)
		q->snapshots[i].l1_off = list[i].l1_off;
	q->snapshots_size = len;
	return 0;
}

static int expand_zeros(struct qcow2 *q, const struct bd_amend_args *args)
{
	uint32_t nr = q->nb_snapshots;
	struct expand ex = {
		.backed = q->node->backing_name != NULL,
		.args = args,
		.total = q->l1_size,
	};
	__cleanup(free) struct qcow2_snapshot *list = calloc((size_t)nr + 1, sizeof(*list));
	uint64_t **l1s = calloc((size_t)nr + 1, sizeof(*l1s));
	struct qcow2_rewrite rw;
	int ret = qcow2_rewrite_begin(&rw, q);

	if (!list || !l1s)
		ret = -ENOMEM;
	if (ret == 0 && nr)
		memcpy(list, q->snapshots, nr * sizeof(*list));
	for (uint32_t i = 0; i < nr; i++)
		ex.total += q->snapshots[i].l1_size;
	if (ret == 0)
		ret = expand_steps(&rw, &ex, list, l1s);
	if (ret == 0)
		advance(&ex, ex.total - ex.done);
	qcow2_rewrite_end(&rw);
	for (uint32_t i = 0; l1s && i < nr; i++)
		free(l1s[i]);
	free(l1s);
	free(ex.places);
	return ret;
}

static int may_downgrade(const struct qcow2 *q, struct bd_error *err)
{
	uint64_t others = q->incompatible &
			  ~(uint64_t)(QCOW2_INCOMPAT_DIRTY | QCOW2_INCOMPAT_COMPRESSION);

	if (q->incompatible & QCOW2_INCOMPAT_DATA_FILE)
		return bd_fail(err, -ENOTSUP, "Cannot downgrade an image with a data file");
	if (q->refcount_order != 4)
		return bd_fail(err, -ENOTSUP, "compat=0.10 requires refcount_bits=16");
	for (uint32_t i = 0; i < q->nb_snapshots; i++) {
		if (q->snapshots[i].vm_state_size > UINT32_MAX ||
		    q->snapshots[i].disk_size != q->node->size)
			return bd_fail(err, -ENOTSUP,
				       "Internal snapshots prevent downgrade of image");
	}
	if (others)
		return bd_fail(err, -ENOTSUP, "Cannot downgrade an image with incompatible "
					      "features 0x%llx set", (unsigned long long)others);
	return 0;
}

int qcow2_downgrade(struct qcow2 *q, const struct bd_amend_args *args, struct bd_error *err)
{
	int ret = may_downgrade(q, err);

	if (ret < 0)
		return ret;
	ret = expand_zeros(q, args);
	if (ret == -ENOTSUP)
		return bd_fail(err, ret, "Cannot downgrade an image with zstd compression type "
					 "and existing compressed clusters");
	if (ret < 0)
		return bd_fail_errno(err, ret, "Failed to turn zero into data clusters");
	ret = qcow2_bitmaps_drop(q, err);
	if (ret < 0)
		return ret;
	q->version = 2;
	q->incompatible = q->compatible = q->autoclear = 0;
	q->compression_type = 0;
	q->lazy_refcounts = false;
	ret = qcow2_header_write(q);
	if (ret == 0)
		ret = io_pflush(q->node->file);
	return ret < 0 ? bd_fail_errno(err, ret, "Failed to change the image version") : 0;
}

/* Version 3 wants the disk's size in each entry. */
static int complete_snapshots(struct qcow2 *q)
{
	struct qcow2_rewrite rw;
	size_t len = 0;
	int ret = qcow2_rewrite_begin(&rw, q);

	if (ret == 0) {
		rw.l1 = calloc((size_t)q->l1_size + 1, 8);
		ret = rw.l1 ? 0 : -ENOMEM;
	}
	if (ret == 0) {
		memcpy(rw.l1, q->l1, (size_t)q->l1_size * 8);
		ret = qcow2_snapshots_write(&rw, q->snapshots, q->nb_snapshots, &len);
	}
	if (ret == 0)
		ret = qcow2_rewrite_commit(&rw);
	if (ret == 0)
		q->snapshots_size = len;
	qcow2_rewrite_end(&rw);
	return ret;
}

static void upgrade_step(const struct bd_amend_args *args, uint64_t done)
{
	if (args->progress)
		args->progress(done, 2, args->user);
}

int qcow2_upgrade(struct qcow2 *q, const struct bd_amend_args *args, struct bd_error *err)
{
	bool short_entries = false;
	int ret = 0;

	upgrade_step(args, 0);
	for (uint32_t i = 0; i < q->nb_snapshots; i++)
		short_entries |= q->snapshots[i].extra_len < 16;
	if (short_entries)
		ret = complete_snapshots(q);
	if (ret < 0)
		return bd_fail_errno(err, ret, "Failed to update the snapshot table");
	upgrade_step(args, 1);
	q->version = 3;
	ret = qcow2_header_write(q);
	if (ret == 0)
		ret = io_pflush(q->node->file);
	if (ret < 0) {
		q->version = 2;
		return bd_fail_errno(err, ret, "Failed to change the image version");
	}
	upgrade_step(args, 2);
	return 0;
}
