/* SPDX-License-Identifier: MIT */
/* Policies of a disk. */
#include "vkvm/virtio/disk.h"

#include <errno.h>
#include <time.h>

enum disk_policy disk_action(const struct disk *disk, enum disk_op op, int error)
{
	enum disk_policy policy = op == DISK_READ ? disk->read_error : disk->write_error;

	/* An image found corrupt at run time is gone for good: nothing to wait for. */
	if (error == -ENOMEDIUM)
		return DISK_REPORT;
	if (policy == DISK_ENOSPC)
		return error == -ENOSPC ? DISK_STOP : DISK_REPORT;
	return policy;
}

uint64_t disk_clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}
