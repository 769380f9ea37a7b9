/* SPDX-License-Identifier: MIT */
/* Snapshots: create, apply, delete, and show one.  Each is one rewrite.  Spec: snapshots. */
#include "blockdev/format/qcow2/snapshot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/base/cleanup.h"
#include "blockdev/format/qcow2/alloc.h"
#include "blockdev/format/qcow2/bitmap.h"
#include "blockdev/format/qcow2/header.h"
#include "blockdev/format/qcow2/rewrite.h"

static bool can(const struct bd_node *node)
{
	return !(qcow2_of(node)->incompatible & QCOW2_INCOMPAT_DATA_FILE);
}

int qcow2_snapshots_write(struct qcow2_rewrite *rw, const struct qcow2_snapshot *list, uint32_t nr,
			  size_t *len)
{
	__cleanup(free) uint8_t *bytes = NULL;
	struct qcow2 *q = rw->q;
	int ret = qcow2_snapshots_encode(list, nr, &bytes, len);

	rw->nb_snapshots = nr;
	rw->snapshots_off = 0;
	if (ret == 0 && *len)
		ret = qcow2_rewrite_alloc(rw, *len, &rw->snapshots_off);
	if (ret == 0 && *len)
		ret = io_pwrite(q->node->file, rw->snapshots_off, bytes, *len);
	if (ret == 0 && q->nb_snapshots)
		ret = qcow2_rewrite_stale(rw, q->snapshots_off, q->snapshots_size);
	return ret;
}

/* --- create ------------------------------------------------------------------------------ */

static int choose_id(const struct qcow2 *q, char **id)
{
	unsigned long highest = 0;

	for (uint32_t i = 0; i < q->nb_snapshots; i++) {
		unsigned long number = strtoul(q->snapshots[i].id, NULL, 10);

		if (number > highest)
			highest = number;
	}
	return asprintf(id, "%lu", highest + 1) < 0 ? -ENOMEM : 0;
}

static int fill(const struct qcow2 *q, const struct bd_snapshot_info *info,
		struct qcow2_snapshot *sn)
{
	*sn = (struct qcow2_snapshot){
		.l1_size = q->l1_size,
		.date_sec = info->date_sec,
		.date_nsec = info->date_nsec,
		.vm_clock_ns = info->vm_clock_ns,
		.vm_state_size = info->vm_state_size,
		.disk_size = q->node->size,
		.icount = info->icount,
		.extra_len = sizeof(struct qcow2_disk_snapshot_extra),
		.name = strdup(info->name),
	};
	return sn->name ? choose_id(q, &sn->id) : -ENOMEM;
}

int qcow2_snapshot_write_l1(struct qcow2_rewrite *rw, const uint64_t *l1, uint32_t entries,
			    uint64_t *off)
{
	struct qcow2 *q = rw->q;
	size_t len = round_up(max_u64((uint64_t)entries * 8, 1), q->cluster_size);
	__cleanup(free) be64 *out = calloc(1, len);
	int ret = qcow2_rewrite_alloc(rw, len, off);

	if (!out || ret < 0)
		return ret < 0 ? ret : -ENOMEM;
	for (uint32_t i = 0; i < entries; i++)
		out[i] = be64_make(l1[i] & ~QCOW2_OFLAG_COPIED);
	return io_pwrite(q->node->file, *off, out, len);
}

/* Both L1 tables refer to everything; tables with marks to lose are copied for the active one. */
static int create_steps(struct qcow2_rewrite *rw, struct qcow2_snapshot *list, size_t *len)
{
	struct qcow2 *q = rw->q;
	int ret;

	rw->l1 = calloc((size_t)q->l1_size + 1, 8);
	if (!rw->l1)
		return -ENOMEM;
	memcpy(rw->l1, q->l1, (size_t)q->l1_size * 8);
	if ((ret = qcow2_rewrite_count(rw, &rw->gain, q->l1, q->l1_size, false)) < 0 ||
	    (ret = qcow2_rewrite_fits(rw)) < 0 ||
	    (ret = qcow2_rewrite_marks(rw, true)) < 0 ||
	    (ret = qcow2_snapshot_write_l1(rw, q->l1, q->l1_size,
					   &list[q->nb_snapshots].l1_off)) < 0 ||
	    (ret = qcow2_snapshots_write(rw, list, q->nb_snapshots + 1, len)) < 0)
		return ret;
	return qcow2_rewrite_commit(rw);
}

static int create(struct bd_node *node, const struct bd_snapshot_info *info, struct bd_error *err)
{
	struct qcow2 *q = qcow2_of(node);
	uint32_t nr = q->nb_snapshots;
	struct qcow2_snapshot *list;
	struct qcow2_rewrite rw;
	size_t len = 0;
	int ret;

	if (!can(node))
		return bd_fail_errno(err, -ENOTSUP, "Image has an external data file");
	if (nr >= QCOW2_LIMIT_SNAPSHOTS)
		return bd_fail_errno(err, -EFBIG, "Too many snapshots");
	ret = qcow2_verb_begin(q, err);
	if (ret < 0)
		return ret;
	list = calloc((size_t)nr + 1, sizeof(*list));
	if (!list)
		return bd_fail(err, -ENOMEM, "Out of memory");
	if (nr)
		memcpy(list, q->snapshots, nr * sizeof(*list));
	ret = qcow2_rewrite_begin(&rw, q);
	if (ret == 0)
		ret = fill(q, info, &list[nr]);
	if (ret == 0)
		ret = create_steps(&rw, list, &len);
	qcow2_rewrite_end(&rw);
	if (q->nb_snapshots == nr) {
		qcow2_snapshot_clear(&list[nr]);
		free(list);
	} else {
		free(q->snapshots);
		q->snapshots = list;
		q->snapshots_size = len;
	}
	return ret < 0 ? bd_fail_errno(err, ret, "Could not create the snapshot") : 0;
}

/* --- apply ------------------------------------------------------------------------------- */

static int apply_steps(struct qcow2_rewrite *rw, const struct qcow2_snapshot *sn)
{
	struct qcow2 *q = rw->q;
	int ret;

	if ((ret = qcow2_rewrite_count(rw, &rw->loss, q->l1, q->l1_size, true)) < 0 ||
	    (ret = qcow2_rewrite_count(rw, &rw->gain, rw->l1, sn->l1_size, false)) < 0 ||
	    (ret = qcow2_rewrite_fits(rw)) < 0 ||
	    (ret = qcow2_rewrite_marks(rw, true)) < 0)
		return ret;
	return qcow2_rewrite_commit(rw);
}

static int check_size(const struct qcow2 *q, const struct qcow2_snapshot *sn, struct bd_error *err)
{
	if (sn->disk_size == q->node->size)
		return 0;
	if (q->version < 3)
		return bd_fail(err, -ENOTSUP, "Can't resize a v2 image which has snapshots");
	if (sn->disk_size > INT64_MAX ||
	    qcow2_l1_needed(q, sn->disk_size) > QCOW2_LIMIT_L1_BYTES / 8)
		return bd_fail_errno(err, -EFBIG, "Failed to load snapshot");
	return 0;
}

static int apply(struct bd_node *node, size_t idx, struct bd_error *err)
{
	struct qcow2 *q = qcow2_of(node);
	const struct qcow2_snapshot *sn = &q->snapshots[idx];
	struct qcow2_rewrite rw;
	bool resized = sn->disk_size != node->size;
	int ret = check_size(q, sn, err);

	if (ret == 0 && resized)
		ret = qcow2_track_may_resize(q, err);
	/* Guest data change: what only others keep about them is not true any more. */
	if (ret == 0 && !node->wrote)
		ret = qcow2_first_write(node, err);
	if (ret < 0)
		return ret;
	node->wrote = true;
	ret = resized ? qcow2_track_start(q, true) : 0;
	if (ret < 0)
		return bd_fail_errno(err, ret, "Could not read the bitmaps");
	ret = qcow2_rewrite_begin(&rw, q);
	if (ret == 0) {
		rw.size = sn->disk_size;
		rw.l1_size = (uint32_t)max_u64(sn->l1_size, qcow2_l1_needed(q, rw.size));
		ret = qcow2_snapshot_l1(q, sn, rw.l1_size, &rw.l1, NULL);
	}
	if (ret == 0)
		ret = apply_steps(&rw, sn);
	qcow2_rewrite_end(&rw);
	if (resized && qcow2_track_resize(q, node->size) < 0)
		qcow2_track_free(q);
	qcow2_track_set(q, 0, node->size);
	return ret < 0 ? bd_fail_errno(err, ret, "Failed to load snapshot") : 0;
}

/* --- delete ------------------------------------------------------------------------------ */

static int remove_steps(struct qcow2_rewrite *rw, const struct qcow2_snapshot *list,
			const uint64_t *sn_l1, const struct qcow2_snapshot *sn, size_t *len)
{
	struct qcow2 *q = rw->q;
	int ret;

	rw->l1 = calloc((size_t)q->l1_size + 1, 8);
	if (!rw->l1)
		return -ENOMEM;
	memcpy(rw->l1, q->l1, (size_t)q->l1_size * 8);
	if ((ret = qcow2_rewrite_count(rw, &rw->loss, sn_l1, sn->l1_size, true)) < 0 ||
	    (ret = qcow2_rewrite_fits(rw)) < 0 ||
	    (ret = qcow2_rewrite_marks(rw, false)) < 0 ||
	    (ret = qcow2_snapshots_write(rw, list, q->nb_snapshots - 1, len)) < 0 ||
	    (ret = qcow2_rewrite_stale(rw, sn->l1_off, (uint64_t)sn->l1_size * 8)) < 0)
		return ret;
	return qcow2_rewrite_commit(rw);
}

static int remove_one(struct bd_node *node, size_t idx, struct bd_error *err)
{
	struct qcow2 *q = qcow2_of(node);
	__cleanup(free) uint64_t *sn_l1 = NULL;
	struct qcow2_snapshot sn = q->snapshots[idx], *list;
	uint32_t nr = q->nb_snapshots;
	struct qcow2_rewrite rw;
	size_t len = 0;
	int ret = qcow2_snapshot_l1(q, &sn, 0, &sn_l1, err);

	if (ret == 0)
		ret = qcow2_verb_begin(q, err);
	if (ret < 0)
		return ret;
	list = calloc(nr, sizeof(*list));
	if (!list)
		return bd_fail(err, -ENOMEM, "Out of memory");
	memcpy(list, q->snapshots, idx * sizeof(*list));
	memcpy(list + idx, q->snapshots + idx + 1, (nr - idx - 1) * sizeof(*list));
	ret = qcow2_rewrite_begin(&rw, q);
	if (ret == 0)
		ret = remove_steps(&rw, list, sn_l1, &sn, &len);
	qcow2_rewrite_end(&rw);
	if (q->nb_snapshots == nr) {
		free(list);
	} else {
		qcow2_snapshot_clear(&sn);
		free(q->snapshots);
		q->snapshots = list;
		q->snapshots_size = len;
	}
	if (ret < 0)
		bd_fail_errno(err, ret, "Failed to remove snapshot from snapshot list");
	return ret;
}

/* --- show -------------------------------------------------------------------------------- */

static int load(struct bd_node *node, size_t idx, struct bd_error *err)
{
	struct qcow2 *q = qcow2_of(node);
	const struct qcow2_snapshot *sn = &q->snapshots[idx];
	uint64_t *l1;
	int ret = qcow2_snapshot_l1(q, sn, 0, &l1, err);

	if (ret < 0)
		return ret;
	free(q->l1);
	q->l1 = l1;
	q->l1_size = sn->l1_size;
	return 0;
}

const struct bd_snapshot_ops qcow2_snapshot_ops = {
	.can = can,
	.create = create,
	.apply = apply,
	.remove = remove_one,
	.load = load,
	.vmstate = qcow2_vmstate,
};
