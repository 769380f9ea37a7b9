/* SPDX-License-Identifier: MIT */
/* One disk of the machine: an image, how errors are handled, what is counted. */
#ifndef VIRTIO_DISK_H
#define VIRTIO_DISK_H

#include "blockdev/include/blockdev.h"

/* What becomes of a request whose I/O failed (QEMU's werror and rerror). */
enum disk_policy { DISK_REPORT, DISK_IGNORE, DISK_STOP, DISK_ENOSPC };

enum disk_op { DISK_READ, DISK_WRITE, DISK_FLUSH, DISK_UNMAP, DISK_NR_OPS };

/* Counters of one kind of request. */
struct disk_op_stats {
	uint64_t bytes, operations, failed, invalid;
	uint64_t total_time_ns;
};

struct disk_stats {
	struct disk_op_stats op[DISK_NR_OPS];
	uint64_t wr_highest_offset;  /* bytes */
	uint64_t kicks;              /* doorbells taken, several rings may be one */
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
	enum disk_policy read_error, write_error;
	struct disk_stats stats;
	/* A request failed and the machine must stop; from inside bd_queue_poll(). */
	void (*stopped)(void *user, const struct disk *disk, enum disk_op op, int error);
	void *user;
};

/* What to do about @error (negative errno) of an @op. */
enum disk_policy disk_action(const struct disk *disk, enum disk_op op, int error);
uint64_t disk_clock_ns(void);

#endif
