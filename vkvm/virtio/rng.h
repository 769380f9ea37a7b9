/* SPDX-License-Identifier: MIT */
/* virtio-rng: the host's random numbers. */
#ifndef VIRTIO_RNG_H
#define VIRTIO_RNG_H

#include "vkvm/virtio/virtio.h"

struct virtio_rng {
	struct virtio_device dev;    /* first member */
	struct vq_chain chain;
};

/* As virtio_blk_open(). */
int virtio_rng_open(struct virtio_rng *rng, struct bd_queue *io, const struct memory *mem);
void virtio_rng_close(struct virtio_rng *rng);

#endif
