/* SPDX-License-Identifier: MIT */
/* What the command line says about a disk: -hda, -drive, -blockdev with -device. */
#ifndef VKVM_DRIVE_H
#define VKVM_DRIVE_H

#include "blockdev/include/throttle.h"
#include "vkvm/virtio/disk.h"

enum { DRIVES_MAX = 24 };

struct drive {
	char *id;                    /* name for -device and messages */
	char *filename;              /* NULL: the options name the file */
	char *format;                /* NULL: guessed */
	char *serial;
	struct bd_opts *opts;        /* for the engine */
	unsigned flags;              /* BD_O_* */
	bool write_back, snapshot;
	bool is_node;                /* a -blockdev, which is no disk by itself */
	bool wants_device;           /* if=none: a -device makes it a disk */
	bool has_device;
	bool mmio;                   /* that device is not on PCI */
	enum bd_policy read_error, write_error;
	struct bd_throttle_limits limits;
	unsigned nr_queues, queue_size; /* 0 queues: one for each processor */
	uint32_t block_size;         /* bytes */
	int boot_index;              /* order among those the firmware tries; -1: not given */
	int index;                   /* position among the disks; -1: next free one */
};

struct drives {
	struct drive list[DRIVES_MAX];
	unsigned nr;
	char engine[16];             /* of aio=; empty: the fastest that works */
	uint64_t poll_max_ns;        /* of bd_thread_set_poll() */
};

/* -hda and its kind: @index 0..3. */
int drives_add_file(struct drives *drives, const char *name, int index, struct bd_error *err);
/* -drive.  Like: QEMU's keys and defaults; what is not known here is the engine's. */
int drives_add(struct drives *drives, const char *text, struct bd_error *err);
/* -blockdev, as key=value or JSON. */
int drives_add_node(struct drives *drives, const char *text, struct bd_error *err);
/* -device virtio-blk-pci,drive=... without its first word; @mmio: virtio-blk-device. */
int drives_add_device(struct drives *drives, const char *keys, bool mmio, struct bd_error *err);
/* After the last option: disks come in order; names and queues for those that have none. */
int drives_finish(struct drives *drives, bool snapshot, unsigned nr_cpus, struct bd_error *err);
void drives_clear(struct drives *drives);

#endif
