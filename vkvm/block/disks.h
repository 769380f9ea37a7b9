/* SPDX-License-Identifier: MIT */
/* All virtio devices of the machine, with the disks' images, on the I/O thread. */
#ifndef VKVM_DISKS_H
#define VKVM_DISKS_H

#include "vkvm/block/drive.h"
#include "vkvm/block/iothread.h"
#include "vkvm/virtio/virtio_blk.h"
#include "vkvm/virtio/virtio_mmio.h"
#include "vkvm/virtio/virtio_pci.h"
#include "vkvm/virtio/virtio_rng.h"

struct disk_unit {
	struct disk disk;
	struct virtio_blk blk;
	struct virtio_pci pci;
	struct drive *drive;         /* what was asked for; borrowed */
	bool open, plugged;
};

struct disks {
	struct iothread iot;
	struct machine *machine;
	struct disk_unit *units;
	unsigned nr;
	struct virtio_mmio mmio[VIRTIO_MMIO_SLOTS];
	struct virtio_rng rng;
	struct virtio_pci rng_pci;
};

/* Start the I/O thread, open all images and put the devices on @bus. */
int disks_open(struct disks *disks, struct drives *drives, struct pci_bus *bus,
	       struct bd_error *err);
/*
 * Finish what is in flight, write back, close, unlock; vCPUs are stopped.  Returns the first
 * error, which has been reported.
 */
int disks_close(struct disks *disks);
/* The machine stops: nothing is in flight afterwards, and data that were written are flushed. */
void disks_pause(struct disks *disks);
/* It goes on: requests that failed are tried again. */
void disks_resume(struct disks *disks);

#endif
