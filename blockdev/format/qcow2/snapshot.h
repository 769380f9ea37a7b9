/* SPDX-License-Identifier: MIT */
/* Writing the snapshot table, and the verbs that change it.  Spec: snapshots. */
#ifndef QCOW2_SNAPSHOT_H
#define QCOW2_SNAPSHOT_H

#include "blockdev/format/qcow2/qcow2.h"

/*
 * The table of @nr snapshots as bytes on disk: *out is the caller's to free, *len bytes of it are
 * used.  -EFBIG: more or longer than the format allows.
 */
int qcow2_snapshots_encode(const struct qcow2_snapshot *list, uint32_t nr, uint8_t **out,
			   size_t *len);
void qcow2_snapshot_clear(struct qcow2_snapshot *sn);
/* The L1 table of a snapshot, host order, with room for @entries; the caller frees *l1. */
int qcow2_snapshot_l1(struct qcow2 *q, const struct qcow2_snapshot *sn, uint64_t entries,
		      uint64_t **l1, struct bd_error *err);
struct qcow2_rewrite;
/* Part of a rewrite: the table of @nr snapshots in clusters of its own; the old one goes. */
int qcow2_snapshots_write(struct qcow2_rewrite *rw, const struct qcow2_snapshot *list, uint32_t nr,
			  size_t *len);
/* Part of a rewrite: an L1 table of @entries without marks in clusters of its own at *off. */
int qcow2_snapshot_write_l1(struct qcow2_rewrite *rw, const uint64_t *l1, uint32_t entries,
			    uint64_t *off);
extern const struct bd_snapshot_ops qcow2_snapshot_ops;

/* As bd_vmstate_read() and bd_vmstate_write().  Blocks; drained. */
int qcow2_vmstate(struct bd_node *node, uint64_t off, void *buf, size_t len, bool write);

#endif
