/* SPDX-License-Identifier: MIT */
/* A disk on virtio-blk, without KVM, and what its driver does; images come from image_fixture.h. */
#ifndef UNIT_BLK_FIXTURE_H
#define UNIT_BLK_FIXTURE_H

#include "tests/unit/virtio_fixture.h"
#include "vkvm/virtio/blk.h"

enum {
	DISK_SIZE = 8 << 20,
	HEADER = DATA_GPA,           /* room for headers, 16 bytes each */
	STATUS = DATA_GPA + 0x1000,  /* status bytes */
	BUFFER = DATA_GPA + 0x2000,
	QUEUE_SIZE = 64,
};

extern struct virtio_blk blk;
extern struct disk disk;
extern struct driver driver;
/* How often the device did these. */
extern unsigned interrupts, config_interrupts, stops;

/* A qcow2 image "disk" on a device whose driver is ready, with FLUSH and CONFIG_WCE. */
void blk_set_up(void);
/* Also checks the image. */
void blk_tear_down(void);
/* Open the image with BD_O_* @flags and make a device of it; fields of disk stay as they are. */
void blk_plug(unsigned flags);
/* The same, and one write of guest data fails with @error, once. */
void blk_plug_faulty(int error);
void blk_unplug(void);
/* From reset to DRIVER_OK, with @features besides VERSION_1. */
void blk_negotiate(uint64_t features);
/* Offer a request with header and status number @slot and @nr data parts; no kick. */
void blk_offer(unsigned slot, uint32_t type, uint64_t sector, const struct part *data,
	       unsigned nr);
/* One turn of the queue, and what follows it. */
void blk_turn(bool wait);
/* Kick and wait for one answer; returns its length. */
uint32_t blk_run(void);
int blk_status(unsigned slot);
/* One request with @len bytes at @gpa; its status. */
int blk_io_at(uint32_t type, uint64_t sector, uint64_t gpa, uint32_t len, uint32_t *used);
/* The same at BUFFER. */
int blk_io(uint32_t type, uint64_t sector, uint32_t len);
bool all_bytes(const uint8_t *at, uint8_t value, size_t len);

#endif
