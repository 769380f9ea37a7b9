/* SPDX-License-Identifier: MIT */
/*
 * Split virtqueues: take chains of descriptors from the guest, give them back.
 *
 * Everything in the rings is the guest's and hostile: a descriptor is read once, checked, and
 * never looked at again.  A queue that runs belongs to the device's thread.
 */
#ifndef VIRTIO_VIRTQUEUE_H
#define VIRTIO_VIRTQUEUE_H

#include <linux/virtio_ring.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "vkvm/virtio/memory.h"

enum {
	VQ_MAX_SIZE = 1024,     /* descriptors of a ring */
	VQ_MAX_CHAIN = 1024,    /* descriptors of a chain, counting those of an indirect table */
};

struct virtqueue {
	const struct memory *mem;
	uint16_t max_size;      /* what the device offers */

	/* set by the driver through the transport, before the queue runs */
	uint16_t size;
	uint64_t desc_gpa, avail_gpa, used_gpa;
	bool enabled;

	/* while it runs */
	bool running;
	bool event_idx;
	const struct vring_desc *desc;
	struct vring_avail *avail;
	struct vring_used *used;
	uint16_t last_avail;    /* chains taken so far, modulo 2^16 */
	uint16_t used_idx;      /* chains given back so far */
	uint16_t published;     /* of these, those the guest has been shown */
	unsigned in_flight;     /* taken and not given back */
	uint64_t busy[VQ_MAX_SIZE / 64]; /* heads in flight */
};

/* One chain of the guest: what the device may read, then what it may write. */
struct vq_chain {
	struct iovec *iov;      /* heap, kept from chain to chain; free with vq_chain_clear() */
	unsigned room;          /* entries allocated */
	unsigned nr_out, nr_in; /* readable entries, then writable ones; none of them empty */
	uint64_t out_len, in_len; /* bytes */
	uint16_t head;
	bool malformed;         /* not a chain: give the head back with length 0 */
	bool unmapped;          /* some address is no memory: that entry's iov_base is NULL */
};

/* Begin to run with the driver's settings.  -EINVAL: size, alignment or addresses are bad. */
int virtqueue_start(struct virtqueue *vq, bool event_idx);
/* Forget everything the driver set.  Nothing may be in flight. */
void virtqueue_reset(struct virtqueue *vq);
/*
 * Take the next chain into @chain.  1: taken, 0: there is none.
 * -EPROTO: the ring is broken (index ran away, head out of range or in flight): the device needs a
 * reset and the queue must not be looked at again.  -ENOMEM.
 */
int virtqueue_pop(struct virtqueue *vq, struct vq_chain *chain);
/* Give a head back, with the number of bytes written.  The guest sees it at the next publish. */
void virtqueue_push(struct virtqueue *vq, uint16_t head, uint32_t written);
/* Show the guest all that was pushed.  true: it wants an interrupt for that. */
bool virtqueue_publish(struct virtqueue *vq);
/* The guest has put chains into the ring that were not taken. */
bool virtqueue_waiting(const struct virtqueue *vq);
/*
 * Say whether kicks are wanted.  After switching on, true: chains came in meanwhile for which
 * there will be no kick.
 */
bool virtqueue_want_kicks(struct virtqueue *vq, bool on);

void vq_chain_clear(struct vq_chain *chain);

#endif
