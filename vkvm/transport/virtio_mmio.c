/* SPDX-License-Identifier: MIT */
/* virtio over memory-mapped registers. */
#include "vkvm/transport/virtio_mmio.h"

#include <errno.h>
#include <linux/virtio_mmio.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { MAGIC = 0x74726976, VERSION = 2, VENDOR = 0x4d564b56 };

static const unsigned irqs[VIRTIO_MMIO_SLOTS] = { 5, 6, 7, 10 };

static void raise_irq(struct virtio_irq *irq, uint32_t isr)
{
	struct virtio_mmio *slot = (struct virtio_mmio *)irq;
	const uint64_t one = 1;

	__atomic_fetch_or(&slot->isr, isr, __ATOMIC_ACQ_REL);
	if (write(slot->irq_fd, &one, sizeof(one)) < 0)
		return;
}

static void queue_irq(struct virtio_irq *irq, unsigned queue)
{
	(void)queue;
	raise_irq(irq, VIRTIO_MMIO_INT_VRING);
}

static void config_irq(struct virtio_irq *irq)
{
	raise_irq(irq, VIRTIO_MMIO_INT_CONFIG);
}

static void reset_irq(struct virtio_irq *irq)
{
	__atomic_store_n(&((struct virtio_mmio *)irq)->isr, 0, __ATOMIC_RELEASE);
}

static const uint8_t registers[VIRTIO_MMIO_CONFIG] = {
	[VIRTIO_MMIO_DEVICE_FEATURES] = VIRTIO_REG_FEATURES,
	[VIRTIO_MMIO_DEVICE_FEATURES_SEL] = VIRTIO_REG_FEATURES_SEL,
	[VIRTIO_MMIO_DRIVER_FEATURES] = VIRTIO_REG_ACKED,
	[VIRTIO_MMIO_DRIVER_FEATURES_SEL] = VIRTIO_REG_ACKED_SEL,
	[VIRTIO_MMIO_QUEUE_SEL] = VIRTIO_REG_QUEUE_SEL,
	[VIRTIO_MMIO_QUEUE_NUM_MAX] = VIRTIO_REG_QUEUE_MAX,
	[VIRTIO_MMIO_QUEUE_NUM] = VIRTIO_REG_QUEUE_SIZE,
	[VIRTIO_MMIO_QUEUE_READY] = VIRTIO_REG_QUEUE_ENABLE,
	[VIRTIO_MMIO_STATUS] = VIRTIO_REG_STATUS,
	[VIRTIO_MMIO_QUEUE_DESC_LOW] = VIRTIO_REG_DESC,
	[VIRTIO_MMIO_QUEUE_DESC_HIGH] = VIRTIO_REG_DESC_HIGH,
	[VIRTIO_MMIO_QUEUE_AVAIL_LOW] = VIRTIO_REG_AVAIL,
	[VIRTIO_MMIO_QUEUE_AVAIL_HIGH] = VIRTIO_REG_AVAIL_HIGH,
	[VIRTIO_MMIO_QUEUE_USED_LOW] = VIRTIO_REG_USED,
	[VIRTIO_MMIO_QUEUE_USED_HIGH] = VIRTIO_REG_USED_HIGH,
	[VIRTIO_MMIO_CONFIG_GENERATION] = VIRTIO_REG_GENERATION,
};

static void write_register(struct virtio_mmio *slot, uint64_t reg, uint32_t value)
{
	if (reg == VIRTIO_MMIO_QUEUE_NOTIFY)
		virtio_doorbell(slot->dev, value);
	else if (reg == VIRTIO_MMIO_INTERRUPT_ACK)
		__atomic_fetch_and(&slot->isr, ~value, __ATOMIC_ACQ_REL);
	else
		virtio_write_reg(slot->dev, registers[reg], value);
}

static void access_registers(void *device, struct bus_access *access)
{
	struct virtio_mmio *slot = device;

	if (access->off >= VIRTIO_MMIO_CONFIG && slot->dev) {
		unsigned off = (unsigned)access->off - VIRTIO_MMIO_CONFIG;

		if (access->write) {
			virtio_write_config(slot->dev, off, &access->value, access->len);
			return;
		}
		access->value = 0;
		virtio_read_config(slot->dev, off, &access->value, access->len);
	} else if (access->write) {
		if (slot->dev && access->len == 4 && access->off < VIRTIO_MMIO_CONFIG)
			write_register(slot, access->off, (uint32_t)access->value);
	} else if (access->off == VIRTIO_MMIO_MAGIC_VALUE) {
		access->value = MAGIC;
	} else if (access->off == VIRTIO_MMIO_VERSION) {
		access->value = VERSION;
	} else if (access->off == VIRTIO_MMIO_DEVICE_ID) {
		access->value = slot->dev ? slot->dev->kind->id : 0; /* 0: nothing here */
	} else if (access->off == VIRTIO_MMIO_VENDOR_ID) {
		access->value = VENDOR;
	} else if (access->off == VIRTIO_MMIO_INTERRUPT_STATUS) {
		access->value = __atomic_load_n(&slot->isr, __ATOMIC_ACQUIRE);
	} else {
		access->value = slot->dev && access->off < VIRTIO_MMIO_CONFIG ?
				virtio_read_reg(slot->dev, registers[access->off]) : 0;
	}
}

static void reset(void *arg)
{
	virtio_reset(((struct virtio_mmio *)arg)->dev);
}

void virtio_mmio_init(struct virtio_mmio slots[VIRTIO_MMIO_SLOTS], struct machine *m)
{
	for (unsigned i = 0; i < VIRTIO_MMIO_SLOTS; i++)
		bus_add(&m->mmio, VIRTIO_MMIO_BASE + i * VIRTIO_MMIO_SIZE, VIRTIO_MMIO_SIZE,
			access_registers, &slots[i]);
}

int virtio_mmio_add(struct virtio_mmio slots[VIRTIO_MMIO_SLOTS], struct machine *m,
		    struct virtio_device *dev)
{
	unsigned i = 0;
	uint64_t notify;

	while (i < VIRTIO_MMIO_SLOTS && slots[i].dev)
		i++;
	if (i == VIRTIO_MMIO_SLOTS)
		return -ENOSPC;
	slots[i] = (struct virtio_mmio){ .irq = { queue_irq, config_irq, reset_irq }, .dev = dev };
	slots[i].irq_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (slots[i].irq_fd < 0 || vm_irqfd(&m->vm, irqs[i], slots[i].irq_fd) < 0)
		return -ENOSPC;
	dev->irq = &slots[i].irq;
	notify = VIRTIO_MMIO_BASE + i * VIRTIO_MMIO_SIZE + VIRTIO_MMIO_QUEUE_NOTIFY;
	for (unsigned queue = 0; queue < dev->nr_queues; queue++)
		vm_doorbell(&m->vm, notify, queue, virtio_kick_fd(dev, queue), true);
	machine_on_reset(m, reset, &slots[i]);
	return 0;
}
