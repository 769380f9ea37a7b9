/* SPDX-License-Identifier: MIT */
/* The end of an opened image. */
#ifndef QCOW2_OPEN_H
#define QCOW2_OPEN_H

#include "blockdev/format/qcow2/qcow2.h"

/* Write back, mark as corrupt what was found so, free.  First error.  Blocks. */
int qcow2_close(struct bd_node *node);

#endif
