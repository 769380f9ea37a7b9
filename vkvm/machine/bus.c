/* SPDX-License-Identifier: MIT */
/* Dispatch of ports and memory-mapped registers. */
#include "vkvm/machine/bus.h"

#include <assert.h>
#include <string.h>

void bus_add(struct bus *bus, uint64_t base, uint64_t len, bus_handler *handler, void *device)
{
	assert(bus->nr < BUS_MAX_RANGES);
	bus->ranges[bus->nr++] = (struct bus_range){ base, len, handler, device };
}

void bus_access(const struct bus *bus, uint64_t address, void *data, unsigned len, bool write)
{
	struct bus_access access = { .len = len, .write = write };

	if (write)
		memcpy(&access.value, data, len);
	else
		memset(&access.value, 0xff, len);
	for (unsigned i = 0; i < bus->nr; i++) {
		const struct bus_range *range = &bus->ranges[i];

		if (address < range->base || address - range->base >= range->len)
			continue;
		access.off = address - range->base;
		range->handler(range->device, &access);
		break;
	}
	if (!write)
		memcpy(data, &access.value, len);
}
