/* SPDX-License-Identifier: MIT */
/* The virtual machine of /dev/kvm: memory slots, interrupt routes, doorbells. */
#ifndef VKVM_VM_H
#define VKVM_VM_H

#include <linux/kvm.h>
#include <pthread.h>
#include <stdint.h>

#include "blockdev/include/error.h"
#include "vkvm/virtio/memory.h"

enum {
	VM_FIRST_MSI = 24,           /* interrupts below are the IOAPIC's */
	VM_MAX_MSI = 512,
};

/* Guest addresses that are given. */
#define VM_LOW_END 0xc0000000ull     /* RAM below 4 GiB ends here at the latest */
#define VM_HIGH_BASE 0x100000000ull  /* the rest of it */
#define VM_VGA_BASE 0xa0000ull       /* no memory: reads as ones */
#define VM_VGA_END 0xc0000ull
#define VM_PCI_BASE VM_LOW_END       /* window for PCI devices */
#define VM_PCI_END 0xfec00000ull

struct vm {
	int kvm, fd;                 /* /dev/kvm, the machine */
	struct memory mem;
	uint8_t *ram;                /* one mapping; low RAM first */
	uint64_t ram_size;           /* bytes, a multiple of 4 KiB */
	unsigned nr_slots;
	pthread_mutex_t lock;        /* of the routes */
	struct kvm_irq_routing *routes;
	unsigned nr_msi;
};

/*
 * Open /dev/kvm, make a machine with @ram_size bytes of memory, interrupt controllers and timer.
 * -EACCES, -ENOENT, -ENOTSUP: the text says what is missing.
 */
int vm_create(struct vm *vm, uint64_t ram_size, struct bd_error *err);
void vm_destroy(struct vm *vm);
/* Put @host memory, which the caller owns, at @gpa. */
int vm_add_slot(struct vm *vm, uint64_t gpa, void *host, uint64_t size, bool read_only,
		struct bd_error *err);
/* Bytes of RAM below 4 GiB. */
uint64_t vm_low_ram(const struct vm *vm);

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

/* Writing to @fd raises interrupt @gsi. */
int vm_irqfd(struct vm *vm, unsigned gsi, int fd);
/* A number for a message-signalled interrupt; -ENOSPC. */
int vm_msi_alloc(struct vm *vm);
/* What message @gsi is. */
int vm_msi_route(struct vm *vm, unsigned gsi, uint64_t address, uint32_t data);
/* From now on (or, not @on, no longer) a write of the word @value to @gpa signals @fd. */
int vm_doorbell(struct vm *vm, uint64_t gpa, int64_t value, int fd, bool on);
#define VM_ANY_VALUE (-1) /* of any size, too */

#endif
