/* SPDX-License-Identifier: MIT */
/* Internal snapshots: states of the disk kept inside an image.  Listed by bd_info_get(). */
#ifndef BD_SNAPSHOT_H
#define BD_SNAPSHOT_H

#include "blockdev/include/blockdev.h"

/*
 * Keep the disk's state under @name (names may repeat), with the current time and a new ID.
 * -ENOTSUP: the format has none; -EINVAL: a reference count would not fit.
 * Blocks; no request in flight.  Like: qemu-img snapshot -c.
 */
int bd_snapshot_create(struct bd_node *node, const char *name, struct bd_error *err);
/*
 * Go back to the snapshot with the ID, else the name @which; the disk gets its size back.
 * -ENOENT: there is none.  Blocks; no request in flight.  Like: qemu-img snapshot -a.
 */
int bd_snapshot_apply(struct bd_node *node, const char *which, struct bd_error *err);
/*
 * Drop the first snapshot called @name.  -ENOENT: there is none.
 * Blocks; no request in flight.  Like: qemu-img snapshot -d.
 */
int bd_snapshot_delete(struct bd_node *node, const char *name, struct bd_error *err);
/*
 * Show a snapshot's contents instead of the current ones, until the image is closed.  The size
 * stays.  @node is not writable.  @id, @name: both must match; NULL: any.
 * -ENOENT: there is none; -ENOTSUP: the format cannot.  Blocks.  Like: qemu-img convert -l.
 */
int bd_snapshot_load(struct bd_node *node, const char *id, const char *name, struct bd_error *err);
/* As bd_snapshot_load(), by an ID or else a name. */
int bd_snapshot_load_any(struct bd_node *node, const char *which, struct bd_error *err);

/*
 * Bytes of the state of a machine, kept beside the disk until the next snapshot takes it along.
 * @off: within that state.  What was never written reads as zeros.
 * -ENOTSUP: the format has none.  Blocks; no request in flight.  Like: qemu-io read -b, write -b.
 */
int bd_vmstate_read(struct bd_node *node, uint64_t off, void *buf, size_t len);
int bd_vmstate_write(struct bd_node *node, uint64_t off, const void *buf, size_t len);

#endif
