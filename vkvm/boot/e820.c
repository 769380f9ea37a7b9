/* SPDX-License-Identifier: MIT */
/* Memory ranges. */
#include "vkvm/boot/e820.h"

#include <endian.h>

static unsigned add(struct e820_entry *entries, unsigned nr, uint64_t addr, uint64_t end,
		    uint32_t type)
{
	if (end <= addr)
		return nr;
	entries[nr] = (struct e820_entry){ htole64(addr), htole64(end - addr), htole32(type) };
	return nr + 1;
}

unsigned e820_fill(const struct vm *vm, bool firmware, struct e820_entry *entries)
{
	uint64_t low = vm_low_ram(vm), high = vm->ram_size - low;
	unsigned nr = 0;

	if (firmware) {
		nr = add(entries, nr, 0, low, E820_RAM);
	} else {
		nr = add(entries, nr, 0, 0x9fc00, E820_RAM);
		nr = add(entries, nr, 0x9fc00, 0xa0000, E820_RESERVED);
		nr = add(entries, nr, 0xe0000, 0x100000, E820_RESERVED);
		nr = add(entries, nr, 0x100000, low, E820_RAM);
	}
	/* KVM's own pages and the firmware's flash. */
	nr = add(entries, nr, 0xfffbc000, 0x100000000, E820_RESERVED);
	return add(entries, nr, VM_HIGH_BASE, VM_HIGH_BASE + high, E820_RAM);
}
