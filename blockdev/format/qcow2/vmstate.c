/* SPDX-License-Identifier: MIT */
/*
 * The state of a machine beside its disk: guest clusters behind the end, from the first L2 table on
 * that maps nothing of the disk.  Spec: snapshots.
 */
#include <errno.h>

#include "blockdev/base/bits.h"
#include "blockdev/format/qcow2/alloc.h"
#include "blockdev/format/qcow2/resize.h"
#include "blockdev/format/qcow2/snapshot.h"

/* Guest byte where the state starts. */
static uint64_t area(const struct qcow2 *q)
{
	return qcow2_l1_needed(q, q->node->size) << (q->cluster_bits + q->l2_bits);
}

static int prepare_write(struct qcow2 *q, uint64_t end)
{
	int ret = 0;

	if (!(q->node->flags & BD_O_RDWR))
		return -EROFS;
	if (!q->node->wrote) {
		ret = qcow2_first_write(q->node, NULL);
		q->node->wrote = ret == 0;
	}
	return ret < 0 ? ret : qcow2_l1_reserve(q, qcow2_l1_needed(q, end));
}

int qcow2_vmstate(struct bd_node *node, uint64_t off, void *buf, size_t len, bool write)
{
	struct qcow2 *q = qcow2_of(node);
	struct qcow2_track *track;
	uint64_t size = node->size, end;
	int ret;

	/* An external data file has the disk's bytes and no others. */
	if (q->incompatible & QCOW2_INCOMPAT_DATA_FILE)
		return -ENOTSUP;
	if (!checked_add(area(q), off, &off) || !checked_add(off, len, &end) ||
	    end > (uint64_t)INT64_MAX - q->cluster_size)
		return -EFBIG;
	io_event(node->file, write ? "vmstate_save" : "vmstate_load");
	ret = write ? prepare_write(q, end) : 0;
	if (ret < 0)
		return ret;
	/* For these bytes the disk is longer; bitmaps are about the disk alone. */
	track = q->track;
	q->track = NULL;
	node->size = round_up(end, q->cluster_size);
	ret = write ? bd_pwrite(node, off, buf, len) : bd_pread(node, off, buf, len);
	node->size = size;
	q->track = track;
	return ret;
}
