/* SPDX-License-Identifier: MIT */
/* The list of memory ranges that firmware and kernels are told. */
#ifndef VKVM_E820_H
#define VKVM_E820_H

#include "vkvm/machine/vm.h"

enum { E820_RAM = 1, E820_RESERVED = 2, E820_MAX = 8 };

/* Little endian, as it is passed on. */
struct __attribute__((packed)) e820_entry {
	uint64_t addr, size;
	uint32_t type;
};

/*
 * Fill @entries (room for E820_MAX) with the machine's memory and return their number.
 * @firmware: the areas below 1 MiB are the firmware's business and are not set apart.
 */
unsigned e820_fill(const struct vm *vm, bool firmware, struct e820_entry *entries);

#endif
