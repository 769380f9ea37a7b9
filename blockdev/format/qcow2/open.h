/* SPDX-License-Identifier: MIT */
/* Mending an image when it is opened, and the end of an opened one. */
#ifndef QCOW2_OPEN_H
#define QCOW2_OPEN_H

#include "blockdev/format/qcow2/qcow2.h"

/*
 * Refcounts of an image that was not closed may be stale: mend them before anything is written, and
 * say what was found.  Nothing if the dirty mark is not set.  Blocks.  0 or negative errno.
 */
int qcow2_repair_dirty(struct qcow2 *q, struct bd_error *err);
/* Write back, mark as corrupt what was found so, free.  First error.  Blocks. */
int qcow2_close(struct bd_node *node);

#endif
