/* SPDX-License-Identifier: MIT */
/* Ports and memory-mapped registers: which device answers an access. */
#ifndef VKVM_BUS_H
#define VKVM_BUS_H

#include <stdbool.h>
#include <stdint.h>

enum { BUS_MAX_RANGES = 48 };

/* One access, of 1, 2, 4 or 8 bytes. */
struct bus_access {
	uint64_t off;           /* from the start of the range */
	unsigned len;
	bool write;
	uint64_t value;         /* written, or to be set by a read; bytes above len are zero */
};

struct bus_range {
	uint64_t base, len;
	void (*handler)(void *device, struct bus_access *access); /* NULL: nobody */
	void *device;
};

struct bus {
	struct bus_range ranges[BUS_MAX_RANGES];
	unsigned nr;
	struct bus_range rest;       /* asked where no other answers */
};

/* @len addresses from @base are @device's; an earlier range wins where two overlap. */
void bus_add(struct bus *bus, uint64_t base, uint64_t len,
	     void (*handler)(void *device, struct bus_access *access), void *device);
/* Carry out an access; nobody there: reads as ones. */
void bus_access(const struct bus *bus, uint64_t address, void *data, unsigned len, bool write);

#endif
