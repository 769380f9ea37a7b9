/* SPDX-License-Identifier: MIT */
/*
 * What of the file is metadata, so that nothing is written over it.  One look-up per host cluster,
 * independent of the size of the image.  Like: QEMU's overlap-check options.
 */
#ifndef QCOW2_OVERLAP_H
#define QCOW2_OVERLAP_H

#include "blockdev/format/qcow2/qcow2.h"

/* Is all gathered that is to be checked?  If not, the slow lane has to run before a write. */
static inline bool qcow2_overlap_ready(const struct qcow2 *q)
{
	return q->overlap || !q->overlap_check;
}

/* Gather the metadata.  Blocks, on a drained node.  -ENOMEM; -EIO. */
int qcow2_overlap_build(struct qcow2 *q);
/* Forget them: a rare procedure moves tables.  The next write gathers them again. */
void qcow2_overlap_free(struct qcow2 *q);
/* A table of @kind, QCOW2_OL_ACTIVE_L2 or _REFCOUNT_BLOCK, is at @off (0: none), not @old. */
void qcow2_overlap_move(struct qcow2 *q, uint64_t old, uint64_t off, unsigned kind);
/*
 * Host bytes [off, off+len) are to be written; @own: QCOW2_OL_* that they are meant to be.
 * 0, or -EIO: they are other metadata; the image is marked corrupt.
 */
int qcow2_overlap_check(struct qcow2 *q, uint64_t off, uint64_t len, unsigned own);

#endif
