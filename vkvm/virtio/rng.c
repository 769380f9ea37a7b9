/* SPDX-License-Identifier: MIT */
/* virtio-rng. */
#include "vkvm/virtio/rng.h"

#include <errno.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ids.h>
#include <sys/random.h>

/* Bytes a request gets at most, so that none takes long. */
enum { MOST = 4096, QUEUE_SIZE = 64 };

static uint32_t answer(const struct vq_chain *chain)
{
	const struct iovec *in = chain->iov ? chain->iov + chain->nr_out : NULL;
	ssize_t got;

	if (chain->malformed || chain->unmapped || !chain->nr_in)
		return 0;
	got = getrandom(in->iov_base, in->iov_len < MOST ? in->iov_len : MOST, GRND_NONBLOCK);
	return got < 0 ? 0 : (uint32_t)got;
}

static void kick(struct virtio_device *dev, unsigned queue)
{
	struct virtio_rng *rng = (struct virtio_rng *)dev;
	struct virtqueue *vq = &dev->queues[queue];
	int ret = 0;

	if (!virtio_queue_ready(dev, queue))
		return;
	for (unsigned i = 0; i < vq->size && (ret = virtqueue_pop(vq, &rng->chain)) > 0; i++)
		virtqueue_push(vq, rng->chain.head, answer(&rng->chain));
	if (ret == -EPROTO)
		virtio_broken(dev);
	else if (virtqueue_want_kicks(vq, true))
		virtio_doorbell(dev, queue);
	if (virtqueue_publish(vq))
		dev->irq->queue(dev->irq, queue);
}

static void start(struct virtio_device *dev)
{
	kick(dev, 0);
}

static void stop(struct virtio_device *dev)
{
	(void)dev; /* nothing is ever in flight */
}

static const struct virtio_kind rng_kind = {
	.id = VIRTIO_ID_RNG, .start = start, .stop = stop, .kick = kick,
};

int virtio_rng_open(struct virtio_rng *rng, struct bd_queue *io, const struct memory *mem)
{
	rng->dev.kind = &rng_kind;
	rng->dev.name = "rng";
	rng->dev.offered = 1ull << VIRTIO_F_VERSION_1 | 1ull << VIRTIO_RING_F_EVENT_IDX |
			   1ull << VIRTIO_RING_F_INDIRECT_DESC;
	return virtio_init(&rng->dev, mem, io, 1, QUEUE_SIZE);
}

void virtio_rng_close(struct virtio_rng *rng)
{
	virtio_clear(&rng->dev);
	vq_chain_clear(&rng->chain);
}
