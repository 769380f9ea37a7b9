/* SPDX-License-Identifier: MIT */
/* The window of registers of virtio over PCI. */
#ifndef VKVM_VIRTIO_PCI_REGS_H
#define VKVM_VIRTIO_PCI_REGS_H

#include "vkvm/transport/virtio_pci.h"

/* Its four parts. */
enum {
	VIRTIO_PCI_PART = 0x1000,
	VIRTIO_PCI_COMMON = 0x0000,
	VIRTIO_PCI_ISR_STATUS = 0x1000,
	VIRTIO_PCI_DEVICE = 0x2000,
	VIRTIO_PCI_NOTIFY = 0x3000,
	VIRTIO_PCI_WINDOW = 0x4000,
	VIRTIO_PCI_NOTIFY_STEP = 4,  /* bytes between the doorbells of two queues */
};

/* An access to the window; under the machine's lock. */
void virtio_pci_access(struct virtio_pci *vp, struct bus_access *access);
/* The transport's share of a reset. */
void virtio_pci_reset_vectors(struct virtio_pci *vp);

#endif
