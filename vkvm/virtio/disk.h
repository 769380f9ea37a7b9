/* SPDX-License-Identifier: MIT */
/* One disk of the machine: an image, how errors are handled, what is counted. */
#ifndef VIRTIO_DISK_H
#define VIRTIO_DISK_H

#include "blockdev/include/backend.h"
#include "blockdev/include/blockdev.h"

struct disk_stats {
	struct bd_account account;   /* what QEMU counts, too */
	uint64_t kicks;              /* doorbells taken, several rings may be one */
	uint64_t polls;              /* times requests were found without one */
	uint64_t interrupts;
	uint64_t max_batch;          /* most requests found at one kick */
};

/* Belongs to the I/O thread. */
struct disk {
	struct bd_queue *queue;
	struct bd_node *node;
	const char *id;              /* "virtio0"; borrowed */
	const char *serial;          /* up to 20 characters, or NULL; borrowed */
	bool read_only;
	bool write_back;             /* the cache mode the guest starts with */
	uint32_t block_size;         /* bytes the guest sees as a sector */
	enum bd_policy read_error, write_error;
	struct disk_stats stats;
	/*
	 * A request failed, with what follows from that: BD_POLICY_STOP (the machine must stop),
	 * IGNORE or REPORT.  From inside bd_queue_poll().  May be NULL.
	 */
	void (*failed)(void *user, const struct disk *disk, enum bd_op_kind op, int error,
		       enum bd_policy action);
	void *user;
};

#endif
