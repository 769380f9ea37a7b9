/* SPDX-License-Identifier: MIT */
/* virtio over PCI, modern only: one window of registers, one of MSI-X. */
#ifndef VKVM_VIRTIO_PCI_H
#define VKVM_VIRTIO_PCI_H

#include "vkvm/pci/msix.h"
#include "vkvm/virtio/virtio.h"

struct virtio_pci {
	struct virtio_irq irq;       /* first member: what the device interrupts through */
	struct virtio_device *dev;
	struct machine *machine;
	struct pci_device pci;
	struct msix msix;
	uint8_t isr;                 /* atomic */
	uint16_t config_vector;      /* atomic, as the queues' */
	uint16_t queue_vectors[VIRTIO_MAX_QUEUES];
	unsigned config_cap;         /* offset of the capability that reaches the windows */
	uint64_t doorbells;          /* guest address of those KVM listens to; 0: none */
	int slot;
};

/* The four parts of the window of registers. */
enum {
	VIRTIO_PCI_PART = 0x1000,
	VIRTIO_PCI_COMMON = 0x0000,
	VIRTIO_PCI_ISR_STATUS = 0x1000,
	VIRTIO_PCI_DEVICE = 0x2000,
	VIRTIO_PCI_NOTIFY = 0x3000,
	VIRTIO_PCI_WINDOW = 0x4000,
	VIRTIO_PCI_NOTIFY_STEP = 4,  /* bytes between the doorbells of two queues */
};

/* Put @dev on the bus.  -ENOSPC. */
int virtio_pci_init(struct virtio_pci *vp, struct pci_bus *bus, struct virtio_device *dev);
void virtio_pci_clear(struct virtio_pci *vp);
/* virtio_pci_regs.c: an access to the window of registers; under the machine's lock. */
void virtio_pci_access(struct virtio_pci *vp, struct bus_access *access);

#endif
