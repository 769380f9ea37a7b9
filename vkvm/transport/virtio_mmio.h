/* SPDX-License-Identifier: MIT */
/* virtio over memory-mapped registers, version 2: four fixed places that ACPI names. */
#ifndef VKVM_VIRTIO_MMIO_H
#define VKVM_VIRTIO_MMIO_H

#include "vkvm/machine/machine.h"
#include "vkvm/virtio/virtio.h"

/* Known to boot/dsdt.asl, too. */
#define VIRTIO_MMIO_BASE 0xd0000000ull
enum { VIRTIO_MMIO_SIZE = 0x1000, VIRTIO_MMIO_SLOTS = 4 };

struct virtio_mmio {
	struct virtio_irq irq;       /* first member */
	struct virtio_device *dev;   /* NULL: an empty place */
	uint32_t isr;                /* atomic */
	int irq_fd;
};

/* All places, empty; before anything else that answers there. */
void virtio_mmio_init(struct virtio_mmio slots[VIRTIO_MMIO_SLOTS], struct machine *m);
/* Put @dev into the first empty one.  -ENOSPC. */
int virtio_mmio_add(struct virtio_mmio slots[VIRTIO_MMIO_SLOTS], struct machine *m,
		    struct virtio_device *dev);

#endif
