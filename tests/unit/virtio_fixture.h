/* SPDX-License-Identifier: MIT */
/* A driver without a guest: memory, one ring, and what a driver does with them. */
#ifndef UNIT_VIRTIO_FIXTURE_H
#define UNIT_VIRTIO_FIXTURE_H

#include <check.h>

#include "vkvm/virtio/virtqueue.h"

enum {
	RAM_BASE = 0x10000,          /* guest address of the memory */
	RAM_SIZE = 4 << 20,          /* bytes; pages without access lie on both sides */
	DESC_GPA = RAM_BASE,
	AVAIL_GPA = RAM_BASE + 0x4000,
	USED_GPA = RAM_BASE + 0x6000,
	DATA_GPA = RAM_BASE + 0x10000, /* free for buffers from here on */
	HOLE_GPA = 0x9000000,        /* no memory */
};

extern struct memory memory;

/* One descriptor as a driver writes it. */
struct part {
	uint64_t gpa;
	uint32_t len;
	uint16_t flags;              /* VRING_DESC_F_WRITE... */
};

void ram_set_up(void);
void ram_tear_down(void);
/* Host address of a guest byte. */
void *ram(uint64_t gpa);

/* The driver's half of the ring at DESC_GPA, AVAIL_GPA and USED_GPA. */
struct driver {
	uint16_t size;
	uint16_t next_desc;          /* descriptors are handed out round robin */
	uint16_t avail_idx, seen_used;
};

/* Clear the ring; the settings go into @vq. */
void driver_init(struct driver *driver, struct virtqueue *vq, uint16_t size);
/* Write a chain into consecutive descriptors and return its head; not yet available. */
uint16_t driver_chain(struct driver *driver, const struct part *parts, unsigned nr);
/* Make a head available. */
void driver_offer(struct driver *driver, uint16_t head);
/* The next used element; false: there is none. */
bool driver_used(struct driver *driver, uint32_t *head, uint32_t *len);
struct vring_desc *driver_desc(uint16_t idx);
struct vring_avail *driver_avail(void);
struct vring_used *driver_used_ring(void);

#endif
