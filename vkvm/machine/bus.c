/* SPDX-License-Identifier: MIT */
/* Dispatch of ports and memory-mapped registers. */
#include "vkvm/machine/bus.h"

#include <assert.h>
#include <string.h>

void bus_add(struct bus *bus, uint64_t base, uint64_t len,
	     void (*handler)(void *device, struct bus_access *access), void *device)
{
	assert(bus->nr < BUS_MAX_RANGES);
	bus->ranges[bus->nr++] = (struct bus_range){ base, len, handler, device };
}

void bus_access(const struct bus *bus, uint64_t address, void *data, unsigned len, bool write)
{
	const struct bus_range *range = &bus->rest;
	struct bus_access access = { .len = len, .write = write };

	if (write)
		memcpy(&access.value, data, len);
	else
		memset(&access.value, 0xff, len);
	for (unsigned i = 0; i < bus->nr && range == &bus->rest; i++) {
		if (address >= bus->ranges[i].base &&
		    address - bus->ranges[i].base < bus->ranges[i].len)
			range = &bus->ranges[i];
	}
	access.off = address - range->base;
	if (range->handler)
		range->handler(range->device, &access);
	if (!write)
		memcpy(data, &access.value, len);
}
