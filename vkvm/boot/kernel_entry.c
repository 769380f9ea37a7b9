/* SPDX-License-Identifier: MIT */
/* The two ways into a kernel: Linux's 64-bit entry with boot_params, and PVH. */
#include <asm/bootparam.h>
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include "vkvm/boot/kernel.h"
#include "vkvm/machine/vcpu.h"

enum { SELECTOR_CODE = 0x10, SELECTOR_DATA = 0x18 };
enum { CR0_PE = 1, CR0_ET = 1 << 4, CR0_PG = 1u << 31, CR4_PAE = 1 << 5 };
enum { EFER_LME = 1 << 8, EFER_LMA = 1 << 10 };
enum { PAGE_PRESENT = 1, PAGE_WRITE = 2, PAGE_LARGE = 1 << 7 };

/* Xen's structures, version 1; little endian. */
struct pvh_start_info {
	uint32_t magic, version, flags, nr_modules;
	uint64_t modules, cmdline, rsdp, memmap;
	uint32_t memmap_entries, reserved;
};
struct pvh_module {
	uint64_t addr, size, cmdline, reserved;
};
struct pvh_memmap_entry {
	uint64_t addr, size;
	uint32_t type, reserved;
};

/* The first 4 GiB, each address at itself, in pages of 2 MiB. */
static void write_page_tables(const struct memory *mem)
{
	uint64_t *pml4 = memory_at(mem, KERNEL_PAGE_TABLES, 6 * 4096);
	uint64_t *pdpt = pml4 + 512, *pd = pdpt + 512;

	memset(pml4, 0, 2 * 4096);
	pml4[0] = (KERNEL_PAGE_TABLES + 4096) | PAGE_PRESENT | PAGE_WRITE;
	for (unsigned i = 0; i < 4; i++)
		pdpt[i] = (KERNEL_PAGE_TABLES + (2 + i) * 4096) | PAGE_PRESENT | PAGE_WRITE;
	for (uint64_t i = 0; i < 4 * 512; i++)
		pd[i] = i << 21 | PAGE_PRESENT | PAGE_WRITE | PAGE_LARGE;
}

static struct kvm_segment segment(uint16_t selector, uint8_t type, bool long_mode)
{
	return (struct kvm_segment){
		.limit = 0xffffffff, .selector = selector, .type = type, .present = 1, .s = 1,
		.g = 1, .l = long_mode, .db = !long_mode,
	};
}

/* Flat segments, the same in the table and in the registers. */
static void set_segments(const struct memory *mem, struct kvm_sregs *sregs, bool long_mode)
{
	struct kvm_segment data = segment(SELECTOR_DATA, 3, false);
	uint64_t gdt[] = { 0, 0, long_mode ? 0x00af9b000000ffff : 0x00cf9b000000ffff,
			   0x00cf93000000ffff, 0x00008b0000000067 };

	memory_write(mem, KERNEL_GDT, gdt, sizeof(gdt));
	sregs->gdt.base = KERNEL_GDT;
	sregs->gdt.limit = sizeof(gdt) - 1;
	sregs->cs = segment(SELECTOR_CODE, 11, long_mode);
	sregs->ds = sregs->es = sregs->fs = sregs->gs = sregs->ss = data;
	sregs->tr = (struct kvm_segment){ .limit = 0x67, .selector = 0x20, .type = 11,
					  .present = 1 };
	sregs->cr0 = CR0_PE | CR0_ET;
	if (!long_mode)
		return;
	sregs->cr3 = KERNEL_PAGE_TABLES;
	sregs->cr4 = CR4_PAE;
	sregs->efer = EFER_LME | EFER_LMA;
	sregs->cr0 |= CR0_PG;
}

static int set_registers(const struct kernel *kernel, const struct kvm_regs *regs, bool long_mode)
{
	int fd = kernel->machine->cpus[0].fd;
	struct kvm_sregs sregs;

	if (ioctl(fd, KVM_GET_SREGS, &sregs) < 0)
		return -errno;
	set_segments(&kernel->machine->vm.mem, &sregs, long_mode);
	if (ioctl(fd, KVM_SET_SREGS, &sregs) < 0 || ioctl(fd, KVM_SET_REGS, regs) < 0)
		return -errno;
	return 0;
}

int kernel_enter_long(const struct kernel *kernel)
{
	const struct memory *mem = &kernel->machine->vm.mem;
	struct boot_params *params = memory_at(mem, KERNEL_ZERO_PAGE, sizeof(*params));
	struct e820_entry entries[E820_MAX];
	struct kvm_regs regs = { .rip = kernel->image.entry, .rsi = KERNEL_ZERO_PAGE,
				 .rsp = KERNEL_STACK, .rflags = 2 };

	memset(params, 0, sizeof(*params));
	if (kernel->image.setup_header)
		memcpy(&params->hdr, kernel->image.setup_header, kernel->image.setup_len);
	params->hdr.type_of_loader = 0xff; /* one without a number */
	params->hdr.cmd_line_ptr = KERNEL_CMDLINE;
	params->hdr.ramdisk_image = (uint32_t)kernel->initrd_at;
	params->hdr.ramdisk_size = (uint32_t)kernel->initrd.len;
	params->acpi_rsdp_addr = kernel->rsdp;
	params->e820_entries = (uint8_t)e820_fill(&kernel->machine->vm, false, entries);
	memcpy(params->e820_table, entries, params->e820_entries * sizeof(entries[0]));
	write_page_tables(mem);
	return set_registers(kernel, &regs, true);
}

int kernel_enter_pvh(const struct kernel *kernel)
{
	const struct memory *mem = &kernel->machine->vm.mem;
	struct {
		struct pvh_start_info info;
		struct pvh_module module;
		struct pvh_memmap_entry map[E820_MAX];
	} *start = memory_at(mem, KERNEL_START_INFO, sizeof(*start));
	struct e820_entry entries[E820_MAX];
	unsigned nr = e820_fill(&kernel->machine->vm, false, entries);
	struct kvm_regs regs = { .rip = kernel->image.entry, .rbx = KERNEL_START_INFO,
				 .rflags = 2 };

	memset(start, 0, sizeof(*start));
	start->info = (struct pvh_start_info){
		.magic = 0x336ec578, .version = 1, .nr_modules = kernel->initrd.len != 0,
		.modules = KERNEL_START_INFO + sizeof(start->info), .cmdline = KERNEL_CMDLINE,
		.rsdp = kernel->rsdp, .memmap_entries = nr,
		.memmap = KERNEL_START_INFO + sizeof(start->info) + sizeof(start->module),
	};
	start->module.addr = kernel->initrd_at;
	start->module.size = kernel->initrd.len;
	for (unsigned i = 0; i < nr; i++)
		start->map[i] = (struct pvh_memmap_entry){ entries[i].addr, entries[i].size,
							   entries[i].type, 0 };
	return set_registers(kernel, &regs, false);
}
