/* SPDX-License-Identifier: MIT */
/* The virtual machine: direct use of KVM's ioctls. */
#include "vkvm/machine/vm.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

/* Pages KVM needs for itself, between the IOAPIC's and the firmware's addresses. */
#define IDENTITY_MAP 0xfffbc000ull
#define TSS_PAGES 0xfffbd000ull
#define HUGE_PAGE (2ull << 20)

static const struct {
	int cap;
	const char *name;
} needed[] = {
	{ KVM_CAP_USER_MEMORY, "user memory" }, { KVM_CAP_IRQCHIP, "interrupt controllers" },
	{ KVM_CAP_PIT2, "interval timer" },     { KVM_CAP_IRQFD, "irqfd" },
	{ KVM_CAP_IOEVENTFD, "ioeventfd" },     { KVM_CAP_IRQ_ROUTING, "interrupt routing" },
	{ KVM_CAP_SIGNAL_MSI, "message-signalled interrupts" },
	{ KVM_CAP_IMMEDIATE_EXIT, "immediate exit" },
	{ KVM_CAP_READONLY_MEM, "read-only memory" },
	{ KVM_CAP_IOEVENTFD_ANY_LENGTH, "ioeventfd of any length" },
};

static int open_kvm(struct vm *vm, struct bd_error *err)
{
	vm->kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	if (vm->kvm < 0)
		return bd_fail_errno(err, -errno, "Could not access KVM kernel module (/dev/kvm)");
	if (ioctl(vm->kvm, KVM_GET_API_VERSION, 0) != KVM_API_VERSION)
		return bd_fail(err, -ENOTSUP, "/dev/kvm speaks another version of its interface");
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		if (ioctl(vm->kvm, KVM_CHECK_EXTENSION, needed[i].cap) <= 0)
			return bd_fail(err, -ENOTSUP, "This kernel's KVM has no %s",
				       needed[i].name);
	}
	return 0;
}

static int create_machine(struct vm *vm, struct bd_error *err)
{
	struct kvm_pit_config pit = { .flags = KVM_PIT_SPEAKER_DUMMY };
	uint64_t identity = IDENTITY_MAP;

	vm->fd = ioctl(vm->kvm, KVM_CREATE_VM, 0);
	if (vm->fd < 0)
		return bd_fail_errno(err, -errno, "Could not create a virtual machine");
	if (ioctl(vm->fd, KVM_SET_IDENTITY_MAP_ADDR, &identity) < 0 ||
	    ioctl(vm->fd, KVM_SET_TSS_ADDR, TSS_PAGES) < 0)
		return bd_fail_errno(err, -errno, "Could not place KVM's own pages");
	if (ioctl(vm->fd, KVM_CREATE_IRQCHIP, 0) < 0)
		return bd_fail_errno(err, -errno, "Could not create the interrupt controllers");
	if (ioctl(vm->fd, KVM_CREATE_PIT2, &pit) < 0)
		return bd_fail_errno(err, -errno, "Could not create the interval timer");
	return 0;
}

/* --- memory ------------------------------------------------------------------------------ */

int vm_add_slot(struct vm *vm, uint64_t gpa, void *host, uint64_t size, bool read_only,
		struct bd_error *err)
{
	struct kvm_userspace_memory_region region = {
		.slot = vm->nr_slots, .flags = read_only ? KVM_MEM_READONLY : 0,
		.guest_phys_addr = gpa, .memory_size = size, .userspace_addr = (uintptr_t)host,
	};

	if (ioctl(vm->fd, KVM_SET_USER_MEMORY_REGION, &region) < 0)
		return bd_fail_errno(err, -errno, "Could not give the guest its memory");
	vm->nr_slots++;
	/* Devices do not write to read-only memory, nor does anybody ask them to read it. */
	return read_only ? 0 : memory_add(&vm->mem, gpa, host, size);
}

uint64_t vm_low_ram(const struct vm *vm)
{
	return vm->ram_size < VM_LOW_END ? vm->ram_size : VM_LOW_END;
}

/* KVM gives the guest huge pages only where its addresses and ours have the same place in one. */
static uint8_t *map_ram(uint64_t size)
{
	uint8_t *all = mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t head = HUGE_PAGE - ((uintptr_t)all & (HUGE_PAGE - 1));

	if (all == MAP_FAILED)
		return NULL;
	munmap(all, head);
	if (head < HUGE_PAGE)
		munmap(all + head + size, HUGE_PAGE - head);
	return all + head;
}

static int add_ram(struct vm *vm, struct bd_error *err)
{
	uint64_t low = vm_low_ram(vm);
	int ret;

	vm->ram = map_ram(vm->ram_size);
	if (!vm->ram)
		return bd_fail(err, -ENOMEM, "Cannot set up guest memory of %llu MiB",
			       (unsigned long long)vm->ram_size >> 20);
	madvise(vm->ram, vm->ram_size, MADV_HUGEPAGE);
	ret = vm_add_slot(vm, 0, vm->ram, VM_VGA_BASE, false, err);
	if (ret == 0)
		ret = vm_add_slot(vm, VM_VGA_END, vm->ram + VM_VGA_END, low - VM_VGA_END, false,
				  err);
	if (ret == 0 && vm->ram_size > low)
		ret = vm_add_slot(vm, VM_HIGH_BASE, vm->ram + low, vm->ram_size - low, false, err);
	return ret;
}

static unsigned add_range(struct e820_entry *entries, unsigned nr, uint64_t addr, uint64_t end,
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
		nr = add_range(entries, nr, 0, low, E820_RAM);
	} else {
		nr = add_range(entries, nr, 0, 0x9fc00, E820_RAM);
		nr = add_range(entries, nr, 0x9fc00, 0xa0000, E820_RESERVED);
		nr = add_range(entries, nr, 0xe0000, 0x100000, E820_RESERVED);
		nr = add_range(entries, nr, 0x100000, low, E820_RAM);
	}
	/* KVM's own pages and the firmware's flash. */
	nr = add_range(entries, nr, 0xfffbc000, 0x100000000, E820_RESERVED);
	return add_range(entries, nr, VM_HIGH_BASE, VM_HIGH_BASE + high, E820_RAM);
}

/* --- interrupts -------------------------------------------------------------------------- */

static struct kvm_irq_routing_entry *add_route(struct vm *vm, unsigned gsi, unsigned type)
{
	struct kvm_irq_routing_entry *entry = &vm->routes->entries[vm->routes->nr++];

	*entry = (struct kvm_irq_routing_entry){ .gsi = gsi, .type = type };
	return entry;
}

static void add_pin(struct vm *vm, unsigned gsi, unsigned chip, unsigned pin)
{
	struct kvm_irq_routing_entry *entry = add_route(vm, gsi, KVM_IRQ_ROUTING_IRQCHIP);

	entry->u.irqchip.irqchip = chip;
	entry->u.irqchip.pin = pin;
}

static int set_routes(struct vm *vm)
{
	return ioctl(vm->fd, KVM_SET_GSI_ROUTING, vm->routes) < 0 ? -errno : 0;
}

/* As on a PC: 16 lines to both kinds of controllers, the timer on pin 2 of the newer one. */
static int default_routes(struct vm *vm, struct bd_error *err)
{
	vm->routes = calloc(1, sizeof(*vm->routes) +
			       (VM_FIRST_MSI + 16 + VM_MAX_MSI) * sizeof(vm->routes->entries[0]));
	if (!vm->routes)
		return bd_fail(err, -ENOMEM, "Out of memory");
	for (unsigned i = 0; i < 16; i++)
		add_pin(vm, i, i < 8 ? KVM_IRQCHIP_PIC_MASTER : KVM_IRQCHIP_PIC_SLAVE, i % 8);
	for (unsigned i = 0; i < VM_FIRST_MSI; i++) {
		if (i != 2)
			add_pin(vm, i, KVM_IRQCHIP_IOAPIC, i == 0 ? 2 : i);
	}
	if (set_routes(vm) < 0)
		return bd_fail_errno(err, -errno, "Could not route interrupts");
	return 0;
}

int vm_irqfd(struct vm *vm, unsigned gsi, int fd)
{
	struct kvm_irqfd irqfd = { .fd = (uint32_t)fd, .gsi = gsi };

	return ioctl(vm->fd, KVM_IRQFD, &irqfd) < 0 ? -errno : 0;
}

int vm_msi_alloc(struct vm *vm)
{
	if (vm->nr_msi == VM_MAX_MSI)
		return -ENOSPC;
	return (int)(VM_FIRST_MSI + vm->nr_msi++);
}

int vm_msi_route(struct vm *vm, unsigned gsi, uint64_t address, uint32_t data)
{
	struct kvm_irq_routing_entry *entry = NULL;
	int ret;

	pthread_mutex_lock(&vm->lock);
	for (unsigned i = 0; i < vm->routes->nr && !entry; i++) {
		if (vm->routes->entries[i].gsi == gsi)
			entry = &vm->routes->entries[i];
	}
	if (!entry)
		entry = add_route(vm, gsi, KVM_IRQ_ROUTING_MSI);
	entry->u.msi.address_lo = (uint32_t)address;
	entry->u.msi.address_hi = (uint32_t)(address >> 32);
	entry->u.msi.data = data;
	ret = set_routes(vm);
	pthread_mutex_unlock(&vm->lock);
	return ret;
}

int vm_doorbell(struct vm *vm, uint64_t gpa, int64_t value, int fd, bool on)
{
	struct kvm_ioeventfd event = {
		.addr = gpa, .fd = fd, .flags = on ? 0 : KVM_IOEVENTFD_FLAG_DEASSIGN,
	};

	if (value != VM_ANY_VALUE) {
		event.len = 4;
		event.datamatch = (uint64_t)value;
		event.flags |= KVM_IOEVENTFD_FLAG_DATAMATCH;
	}
	return ioctl(vm->fd, KVM_IOEVENTFD, &event) < 0 ? -errno : 0;
}

/* --- life -------------------------------------------------------------------------------- */

int vm_create(struct vm *vm, uint64_t ram_size, struct bd_error *err)
{
	int ret;

	*vm = (struct vm){ .kvm = -1, .fd = -1, .ram_size = ram_size };
	pthread_mutex_init(&vm->lock, NULL);
	ret = open_kvm(vm, err);
	if (ret == 0)
		ret = create_machine(vm, err);
	if (ret == 0)
		ret = default_routes(vm, err);
	if (ret == 0)
		ret = add_ram(vm, err);
	if (ret < 0)
		vm_destroy(vm);
	return ret;
}

void vm_destroy(struct vm *vm)
{
	if (vm->fd >= 0)
		close(vm->fd);
	if (vm->kvm >= 0)
		close(vm->kvm);
	if (vm->ram)
		munmap(vm->ram, vm->ram_size);
	free(vm->routes);
	pthread_mutex_destroy(&vm->lock);
	*vm = (struct vm){ .kvm = -1, .fd = -1 };
}
