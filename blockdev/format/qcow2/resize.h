/* SPDX-License-Identifier: MIT */
/* Growing and shrinking the guest disk. */
#ifndef QCOW2_RESIZE_H
#define QCOW2_RESIZE_H

#include "blockdev/format/qcow2/qcow2.h"

/* As bd_resize().  Blocks; drained. */
int qcow2_resize(struct bd_node *node, uint64_t size, const char *prealloc, bool shrink,
		 struct bd_error *err);
/* Make the L1 table that long at least.  Blocks; drained. */
int qcow2_l1_reserve(struct qcow2 *q, uint64_t entries);
/* Preallocate guest range [off, +len): "off", "metadata", "falloc", "full".  Blocks; drained. */
int qcow2_prealloc_range(struct qcow2 *q, uint64_t off, uint64_t len, const char *mode,
			 struct bd_error *err);

#endif
