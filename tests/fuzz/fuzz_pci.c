/* SPDX-License-Identifier: MIT */
/*
 * Accesses of a guest to a PCI bus with a disk on it, from the input: configuration space, windows,
 * MSI-X table, resets in between.  KVM is replaced by one that agrees to everything.
 */
#include <stdlib.h>
#include <string.h>

#include "vkvm/transport/virtio_pci.h"
#include "vkvm/virtio/blk.h"

enum { RAM = 1 << 16, QUEUE_SIZE = 16, MAX_ACCESSES = 4096 };

static _Alignas(4096) uint8_t ram[RAM];
static struct bd_queue *queue;
static struct bd_node *node;

/* --- KVM --------------------------------------------------------------------------------- */

int vm_create(struct vm *vm, uint64_t ram_size, struct bd_error *err)
{
	(void)vm;
	(void)ram_size;
	(void)err;
	return -1;
}

void vm_destroy(struct vm *vm)
{
	(void)vm;
}

int vm_irqfd(struct vm *vm, unsigned gsi, int fd)
{
	(void)vm;
	(void)gsi;
	(void)fd;
	return 0;
}

int vm_msi_alloc(struct vm *vm)
{
	return (int)(VM_FIRST_MSI + vm->nr_msi++);
}

int vm_msi_route(struct vm *vm, unsigned gsi, uint64_t address, uint32_t data)
{
	(void)address;
	(void)data;
	if (gsi < VM_FIRST_MSI || gsi >= VM_FIRST_MSI + vm->nr_msi)
		abort();
	return 0;
}

int vm_doorbell(struct vm *vm, uint64_t gpa, int64_t value, int fd, bool on)
{
	(void)vm;
	(void)value;
	(void)on;
	if (!gpa || fd < 0)
		abort();
	return 0;
}

/* --- the device -------------------------------------------------------------------------- */

static void call(struct virtio_thread *thread, void (*fn)(void *), void *arg)
{
	(void)thread;
	fn(arg);
}

static struct virtio_thread thread = { call };

static void set_up(void)
{
	struct bd_open_args args = { .filename = "null-co://", .format = "raw",
				     .flags = BD_O_RDWR };
	struct bd_error err = {0};

	if (bd_queue_new("sync", 64, &queue, &err) < 0 || bd_open(queue, &args, &node, &err) < 0)
		abort();
}

/* An access: where and how, offset, value.  Returns the bytes used. */
static size_t access_one(struct machine *m, const struct virtio_pci *vp, const uint8_t *data)
{
	unsigned len = 1u << (data[0] & 3);
	bool write = data[0] & 4;
	uint64_t off = data[1] | data[2] << 8, value = 0;

	memcpy(&value, data + 3, 5);
	switch (data[0] >> 3 & 7) {
	case 0:
	case 1: /* the disk's configuration space */
		value = 1u << 31 | 1u << 11 | (off & 0xfc);
		bus_access(&m->ports, 0xcf8, &value, 4, true);
		memcpy(&value, data + 3, 5);
		bus_access(&m->ports, 0xcfc + (off & 3), &value, len & 7, write);
		break;
	case 2: /* any port of the mechanism */
		bus_access(&m->ports, 0xcf8 + (off & 7), &value, len & 7, write);
		break;
	case 3: /* a window, wherever the guest has put it */
	case 4:
		bus_access(&m->mmio, pci_bar_address(&vp->pci, 0) + off, &value, len, write);
		break;
	case 5:
	case 6:
		bus_access(&m->mmio, pci_bar_address(&vp->pci, 1) + off, &value, len, write);
		break;
	default:
		for (unsigned i = 0; i < m->nr_resets && data[1] == 1; i++)
			m->resets[i].reset(m->resets[i].arg);
	}
	return 8;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct machine machine;
	static struct virtio_pci vp;
	static struct virtio_blk blk;
	static struct pci_bus bus;
	static struct disk disk;
	size_t used = 0;

	if (!queue)
		set_up();
	machine = (struct machine){ .event_fd = -1 };
	memory_add(&machine.vm.mem, 0, ram, RAM);
	memset(ram, 0, RAM);
	memset(&blk, 0, sizeof(blk));
	memset(&bus, 0, sizeof(bus));
	disk = (struct disk){ .queue = queue, .node = node, .id = "fuzz", .write_back = true,
			      .block_size = 512 };
	if (virtio_blk_open(&blk, &disk, &machine.vm.mem, 2, QUEUE_SIZE) < 0)
		abort();
	blk.dev.thread = &thread;
	pci_bus_init(&bus, &machine);
	if (virtio_pci_init(&vp, &bus, &blk.dev) < 0)
		abort();
	if (size && data[0] & 1)
		pci_assign(&bus, VM_PCI_END);
	for (unsigned i = 0; i < MAX_ACCESSES && size - used >= 8; i++) {
		used += access_one(&machine, &vp, data + used);
		if (i % 16 == 0) {
			bd_queue_poll(queue, false);
			virtio_blk_publish(&blk);
		}
	}
	virtio_reset(&blk.dev);
	virtio_pci_clear(&vp);
	virtio_blk_close(&blk);
	return 0;
}
