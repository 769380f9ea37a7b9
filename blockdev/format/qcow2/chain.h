/* SPDX-License-Identifier: MIT */
/* What an image does as a layer of a backing chain. */
#ifndef QCOW2_CHAIN_H
#define QCOW2_CHAIN_H

#include "blockdev/format/qcow2/qcow2.h"

extern const struct bd_chain_ops qcow2_chain_ops;

/* empty.c: nothing is mapped any more.  Blocks; drained.  Spec: refcounts, cluster-mapping. */
int qcow2_make_empty(struct bd_node *node, struct bd_error *err);

#endif
