/* SPDX-License-Identifier: MIT */
/* Guest memory: bounded translation of addresses. */
#include "vkvm/virtio/memory.h"

#include <errno.h>
#include <string.h>

int memory_add(struct memory *mem, uint64_t gpa, uint8_t *host, uint64_t size)
{
	if (mem->nr_regions == MEMORY_MAX_REGIONS)
		return -ENOSPC;
	mem->regions[mem->nr_regions++] = (struct memory_region){ gpa, size, host };
	return 0;
}

void *memory_at(const struct memory *mem, uint64_t gpa, uint64_t len)
{
	for (unsigned i = 0; i < mem->nr_regions; i++) {
		const struct memory_region *region = &mem->regions[i];

		if (gpa < region->gpa || gpa - region->gpa >= region->size)
			continue;
		if (len > region->size - (gpa - region->gpa))
			return NULL;
		return region->host + (gpa - region->gpa);
	}
	return NULL;
}

bool memory_write(const struct memory *mem, uint64_t gpa, const void *data, uint64_t len)
{
	void *to = memory_at(mem, gpa, len);

	if (!to)
		return false;
	memcpy(to, data, len);
	return true;
}
