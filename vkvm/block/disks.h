/* SPDX-License-Identifier: MIT */
/* All virtio devices of the machine, with the disks' images, on the I/O thread. */
#ifndef VKVM_DISKS_H
#define VKVM_DISKS_H

#include <jansson.h>
#include <pthread.h>

#include "blockdev/include/thread.h"
#include "vkvm/block/drive.h"
#include "vkvm/virtio/blk.h"
#include "vkvm/transport/virtio_mmio.h"
#include "vkvm/transport/virtio_pci.h"
#include "vkvm/virtio/rng.h"

struct disk_unit {
	struct disk disk;
	struct virtio_blk blk;
	struct virtio_pci pci;
	struct drive *drive;         /* what was asked for; borrowed */
	bool open, plugged;
};

struct disks {
	struct virtio_thread calls;  /* first member: the I/O thread, for devices */
	struct bd_thread *thread;
	struct machine *machine;
	struct disk_unit *units;
	unsigned nr;
	struct virtio_mmio mmio[VIRTIO_MMIO_SLOTS];
	pthread_mutex_t lock;        /* of what follows; never the machine's, which waits for us */
	json_t *events;              /* for monitors, [name, data]... */
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
/* What has happened since the last call, for monitors; NULL: nothing.  From any thread. */
json_t *disks_take_events(struct disks *disks);
/* The machine stops: nothing is in flight afterwards, and data that were written are flushed. */
void disks_pause(struct disks *disks);
/* It goes on: requests that failed are tried again. */
void disks_resume(struct disks *disks);

/*
 * On the I/O thread, with the disk drained: go on in a new qcow2 overlay @name over the present
 * image (@existing: it is there already), or reopen the image with more options.  On failure the
 * disk stays what it is.
 */
int disks_overlay(struct disks *disks, struct disk_unit *unit, const char *name, bool existing,
		  struct bd_error *err);
int disks_reopen(struct disks *disks, struct disk_unit *unit, const struct bd_opts *opts,
		 struct bd_error *err);

#endif
