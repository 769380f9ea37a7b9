/* SPDX-License-Identifier: MIT */
/* Temporary overlays: -snapshot. */
#ifndef VKVM_OVERLAY_H
#define VKVM_OVERLAY_H

#include "blockdev/include/blockdev.h"

/*
 * Open a new qcow2 overlay over the image of @args, in $TMPDIR or /var/tmp; it has no name any more
 * and goes with the program.  The image itself is opened read-only.  On the queue's thread.
 */
int overlay_open(struct bd_queue *queue, const struct bd_open_args *args, struct bd_node **node,
		 struct bd_error *err);

#endif
