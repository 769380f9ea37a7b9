/* SPDX-License-Identifier: MIT */
/* Start of a kernel without firmware: bzImage and ELF by their 64-bit entry, or by PVH. */
#ifndef VKVM_KERNEL_H
#define VKVM_KERNEL_H

#include <stddef.h>

#include "vkvm/machine/machine.h"
#include "vkvm/pci/pci.h"

/* Where things lie in the guest's first 640 KiB. */
enum {
	KERNEL_GDT = 0x500,
	KERNEL_START_INFO = 0x6000,  /* PVH: start_info, its modules and memory map */
	KERNEL_ZERO_PAGE = 0x7000,   /* Linux: boot_params */
	KERNEL_PAGE_TABLES = 0x9000, /* 6 pages */
	KERNEL_STACK = 0x1f000,      /* grows down; for programs that bring none */
	KERNEL_CMDLINE = 0x20000,
	KERNEL_CMDLINE_MAX = 4096,
	KERNEL_LOW_END = 0x9fc00,
};

/* A file in memory. */
struct kernel_file {
	const uint8_t *data;         /* a mapping */
	size_t len;
};

/* What a loader has found out about an image. */
struct kernel_image {
	uint64_t entry;              /* guest address */
	uint64_t end;                /* of the memory it needs */
	uint64_t initrd_max;         /* last address the initrd may use */
	uint64_t cmdline_max;        /* bytes, without the final zero */
	bool pvh;                    /* 32-bit entry with a start_info */
	const uint8_t *setup_header; /* Linux's, in the image; NULL: none */
	size_t setup_len;
};

struct kernel {
	struct machine *machine;
	struct pci_bus *bus;
	struct kernel_file file, initrd;
	const char *append;          /* borrowed; never NULL */
	uint64_t rsdp;               /* guest address of the ACPI tables; 0: none */
	uint64_t initrd_at;
	struct kernel_image image;
};

/* Load now, so that errors are found, and again at each reset. */
int kernel_load(struct kernel *kernel, const char *path, const char *initrd, struct bd_error *err);
void kernel_clear(struct kernel *kernel);

/* bzimage.c, elf.c: copy the image into memory.  -ENOEXEC: not of this kind, @err not set. */
int bzimage_load(const struct kernel_file *file, const struct vm *vm, struct kernel_image *image,
		 struct bd_error *err);
int elf_load(const struct kernel_file *file, const struct vm *vm, struct kernel_image *image,
	     struct bd_error *err);

/* kernel_entry.c: write what the entry needs and set the first processor's registers. */
int kernel_enter_long(const struct kernel *kernel);
int kernel_enter_pvh(const struct kernel *kernel);

#endif
