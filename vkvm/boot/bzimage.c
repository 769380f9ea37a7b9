/* SPDX-License-Identifier: MIT */
/* Linux's compressed image, started behind its real-mode part by the 64-bit entry. */
#include <asm/bootparam.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "vkvm/boot/kernel.h"

enum {
	HEADER = 0x1f1,          /* of the setup header in the file */
	MAGIC = 0x53726448,      /* "HdrS" */
	ENTRY_64 = 0x200,        /* from the start of the loaded part */
	ALIGN = 2 << 20,
};

static int check(const struct setup_header *header, const struct kernel_file *file, size_t setup,
		 struct bd_error *err)
{
	if (header->version < 0x20c || !(header->xloadflags & XLF_KERNEL_64))
		return bd_fail(err, -ENOTSUP, "the kernel is too old: it has no 64-bit entry");
	if (setup >= file->len)
		return bd_fail(err, -EINVAL, "the kernel file is cut short");
	return 0;
}

int bzimage_load(const struct kernel_file *file, const struct vm *vm, struct kernel_image *image,
		 struct bd_error *err)
{
	struct setup_header header;
	uint64_t at, need;
	size_t setup;
	int ret;

	if (file->len < HEADER + sizeof(header))
		return -ENOEXEC;
	memcpy(&header, file->data + HEADER, sizeof(header));
	if (header.header != MAGIC || header.boot_flag != 0xaa55)
		return -ENOEXEC;
	setup = ((header.setup_sects ? header.setup_sects : 4) + 1u) * 512u;
	ret = check(&header, file, setup, err);
	if (ret < 0)
		return ret;
	at = header.pref_address ? header.pref_address : 16 << 20;
	need = header.init_size > file->len - setup ? header.init_size : file->len - setup;
	/* It can run elsewhere, but where it wants to be is memory on all but tiny machines. */
	if (at % 4096 || at < 1 << 20 || at > vm_low_ram(vm) || need > vm_low_ram(vm) - at)
		return bd_fail(err, -ENOMEM, "the kernel needs %llu MiB of memory",
			       (unsigned long long)(at + need + (1 << 20) - 1) >> 20);
	if (!memory_write(&vm->mem, at, file->data + setup, file->len - setup))
		return bd_fail(err, -ENOMEM, "the kernel does not fit into memory");
	image->entry = at + ENTRY_64;
	image->end = (at + need + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
	image->initrd_max = header.initrd_addr_max;
	image->cmdline_max = header.cmdline_size;
	image->setup_header = file->data + HEADER;
	/* As long as the jump over it says. */
	image->setup_len = (size_t)(file->data[0x201] + 0x202 - HEADER);
	if (image->setup_len > sizeof(header))
		image->setup_len = sizeof(header);
	return 0;
}
