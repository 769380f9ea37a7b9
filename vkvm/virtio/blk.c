/* SPDX-License-Identifier: MIT */
/* The virtio-blk device: configuration, rings, draining. */
#include "vkvm/virtio/blk.h"

#include <errno.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ids.h>
#include <string.h>

static struct virtio_blk *blk_of(struct virtio_device *dev)
{
	return (struct virtio_blk *)dev;
}

/* --- configuration ----------------------------------------------------------------------- */

enum { CONFIG_LEN = offsetof(struct virtio_blk_config, write_zeroes_may_unmap) + 4 };

static void read_config(struct virtio_device *dev, unsigned off, void *buf, unsigned len)
{
	struct virtio_blk *blk = blk_of(dev);
	struct virtio_blk_config config = blk->config;

	config.capacity = __atomic_load_n(&blk->config.capacity, __ATOMIC_ACQUIRE);
	config.wce = __atomic_load_n(&blk->config.wce, __ATOMIC_ACQUIRE);
	memcpy(buf, (const char *)&config + off, len);
}

/* Only the write cache can be switched, and only if that was negotiated. */
static void write_config(struct virtio_device *dev, unsigned off, const void *buf, unsigned len)
{
	struct virtio_blk *blk = blk_of(dev);
	uint8_t wce = *(const uint8_t *)buf;

	if (off == offsetof(struct virtio_blk_config, wce) && len == 1 && wce <= 1 &&
	    virtio_has(dev, VIRTIO_BLK_F_CONFIG_WCE))
		__atomic_store_n(&blk->config.wce, wce, __ATOMIC_RELEASE);
}

/* Clusters are what a discard can give back; a file's blocks otherwise. */
static uint32_t granularity(const struct disk *disk)
{
	uint32_t cluster = bd_cluster_size(disk->node);

	return cluster ? cluster : 4096;
}

static void fill_config(struct virtio_blk *blk)
{
	const struct disk *disk = blk->disk;
	struct virtio_blk_config *config = &blk->config;
	uint32_t max_sectors = INT32_MAX / 512;

	config->capacity = bd_size(disk->node) / 512;
	config->seg_max = BLK_SEG_MAX;
	config->blk_size = disk->block_size;
	config->opt_io_size = granularity(disk) / disk->block_size;
	config->min_io_size = 1;
	config->wce = disk->write_back;
	config->num_queues = (uint16_t)blk->dev.nr_queues;
	config->max_discard_sectors = max_sectors;
	config->max_discard_seg = BLK_MAX_RANGES;
	config->discard_sector_alignment = granularity(disk) / 512;
	config->max_write_zeroes_sectors = max_sectors;
	config->max_write_zeroes_seg = BLK_MAX_RANGES;
	config->write_zeroes_may_unmap = 1;
}

static uint64_t features(const struct virtio_blk *blk)
{
	uint64_t bits = 1ull << VIRTIO_F_VERSION_1 | 1ull << VIRTIO_RING_F_EVENT_IDX |
			1ull << VIRTIO_RING_F_INDIRECT_DESC | 1ull << VIRTIO_BLK_F_SEG_MAX |
			1ull << VIRTIO_BLK_F_BLK_SIZE | 1ull << VIRTIO_BLK_F_TOPOLOGY |
			1ull << VIRTIO_BLK_F_FLUSH | 1ull << VIRTIO_BLK_F_CONFIG_WCE |
			1ull << VIRTIO_BLK_F_MQ;

	if (blk->disk->read_only)
		return bits | 1ull << VIRTIO_BLK_F_RO;
	return bits | 1ull << VIRTIO_BLK_F_DISCARD | 1ull << VIRTIO_BLK_F_WRITE_ZEROES;
}

void virtio_blk_resized(struct virtio_blk *blk)
{
	__atomic_store_n(&blk->config.capacity, bd_size(blk->disk->node) / 512, __ATOMIC_RELEASE);
	virtio_config_changed(&blk->dev);
}

/* --- rings ------------------------------------------------------------------------------- */

/*
 * Take all that is in a ring: it becomes one submission, with the queue's next turn.  No more
 * than the ring holds at once, so that one guest cannot keep the thread for itself.
 */
static void take_all(struct virtio_blk *blk, unsigned queue)
{
	struct virtqueue *vq = &blk->dev.queues[queue];
	unsigned taken = 0;
	bool more;

	if (blk->paused || !virtio_queue_ready(&blk->dev, queue))
		return;
	do {
		virtqueue_want_kicks(vq, false);
		while (taken < vq->size && blk_take(blk, queue))
			taken++;
		if (!virtio_queue_ready(&blk->dev, queue))
			return;
		more = !blk->watched && virtqueue_want_kicks(vq, true);
	} while (more && taken < vq->size && !blk->starved);
	if (more && !blk->starved)
		virtio_doorbell(&blk->dev, queue);
	if (taken > blk->disk->stats.max_batch)
		blk->disk->stats.max_batch = taken;
}

static void kick(struct virtio_device *dev, unsigned queue)
{
	blk_of(dev)->disk->stats.kicks++;
	take_all(blk_of(dev), queue);
}

static void take_every_ring(struct virtio_blk *blk)
{
	for (unsigned i = 0; i < blk->dev.nr_queues; i++)
		take_all(blk, i);
}

void virtio_blk_publish(struct virtio_blk *blk)
{
	struct virtio_device *dev = &blk->dev;

	if (blk->starved) {
		blk->starved = false;
		take_every_ring(blk);
	}
	for (unsigned i = 0; i < dev->nr_queues; i++) {
		if (!virtio_queue_ready(dev, i) || !virtqueue_publish(&dev->queues[i]))
			continue;
		blk->disk->stats.interrupts++;
		dev->irq->queue(dev->irq, i);
	}
}

static bool can_take(const struct virtio_blk *blk, unsigned queue)
{
	return !blk->paused && !blk->starved && virtio_queue_ready(&blk->dev, queue);
}

bool virtio_blk_look(struct virtio_blk *blk)
{
	bool found = false;

	for (unsigned i = 0; i < blk->dev.nr_queues; i++) {
		if (!can_take(blk, i) || !virtqueue_waiting(&blk->dev.queues[i]))
			continue;
		blk->disk->stats.polls++;
		take_all(blk, i);
		found = true;
	}
	return found;
}

bool virtio_blk_watch(struct virtio_blk *blk, bool on)
{
	bool found = false;

	blk->watched = on;
	for (unsigned i = 0; i < blk->dev.nr_queues; i++)
		found |= can_take(blk, i) && virtqueue_want_kicks(&blk->dev.queues[i], !on);
	return found && virtio_blk_look(blk);
}

/* --- start, stop, drain ------------------------------------------------------------------ */

static void start(struct virtio_device *dev)
{
	struct virtio_blk *blk = blk_of(dev);

	/* A driver that cannot flush must not be left with a volatile cache. */
	blk->write_through = !virtio_has(dev, VIRTIO_BLK_F_FLUSH);
	take_every_ring(blk);
}

void virtio_blk_drain(struct virtio_blk *blk)
{
	blk->paused++;
	while (blk->in_flight && bd_queue_poll(blk->disk->queue, true) >= 0)
		;
}

void virtio_blk_undrain(struct virtio_blk *blk)
{
	if (--blk->paused || !blk->dev.started)
		return;
	blk_release(blk);
	take_every_ring(blk);
}

/* The throttle lets requests pass again. */
static void passable(void *user)
{
	blk_release(user);
}

/* In-flight requests point into the guest's memory: a reset waits for them. */
static void stop(struct virtio_device *dev)
{
	struct virtio_blk *blk = blk_of(dev);

	virtio_blk_drain(blk);
	blk_forget(blk);
	blk->starved = false;
	blk->paused--;
	__atomic_store_n(&blk->config.wce, blk->disk->write_back, __ATOMIC_RELEASE);
}

static const struct virtio_kind blk_kind = {
	.id = VIRTIO_ID_BLOCK,
	.config_len = CONFIG_LEN,
	.read_config = read_config,
	.write_config = write_config,
	.start = start,
	.stop = stop,
	.kick = kick,
};

int virtio_blk_open(struct virtio_blk *blk, struct disk *disk, const struct memory *mem,
		    unsigned nr_queues, uint16_t size)
{
	int ret = virtio_init(&blk->dev, mem, disk->queue, nr_queues, size);

	if (ret < 0)
		return ret;
	blk->disk = disk;
	blk_list_init(&blk->parked);
	blk_list_init(&blk->held);
	ret = bd_throttle_new(disk->queue, passable, blk, &blk->throttle);
	if (ret < 0)
		return ret;
	blk->dev.kind = &blk_kind;
	blk->dev.name = disk->id;
	blk->dev.offered = features(blk);
	fill_config(blk);
	return 0;
}

void virtio_blk_close(struct virtio_blk *blk)
{
	virtio_clear(&blk->dev);
	bd_throttle_free(blk->throttle);
	blk->throttle = NULL;
	blk_free_requests(blk);
}
