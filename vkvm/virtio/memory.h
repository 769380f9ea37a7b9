/* SPDX-License-Identifier: MIT */
/* The guest's memory: the one place where a guest address becomes a pointer. */
#ifndef VIRTIO_MEMORY_H
#define VIRTIO_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

enum { MEMORY_MAX_REGIONS = 6 };

/* A run of guest addresses backed by host memory. */
struct memory_region {
	uint64_t gpa, size;     /* bytes */
	uint8_t *host;
};

/* All of it; does not change while the guest runs, so it needs no lock. */
struct memory {
	struct memory_region regions[MEMORY_MAX_REGIONS];
	unsigned nr_regions;
};

/* Add a region of @host memory, which the caller owns.  -ENOSPC: too many. */
int memory_add(struct memory *mem, uint64_t gpa, uint8_t *host, uint64_t size);
/*
 * The host address of guest bytes [@gpa, +@len); NULL unless all of them lie in one region.
 * The guest may change what is there at any time: read once, then check.
 */
void *memory_at(const struct memory *mem, uint64_t gpa, uint64_t len);
/* Copy to the guest; false: not all of the range is memory, and nothing was written. */
bool memory_write(const struct memory *mem, uint64_t gpa, const void *data, uint64_t len);

#endif
