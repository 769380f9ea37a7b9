/* SPDX-License-Identifier: MIT */
/* The life of a virtio device: features, status, start and reset. */
#include "vkvm/virtio/virtio.h"

#include <linux/virtio_config.h>
#include <string.h>

static void kicked(void *user)
{
	const struct virtio_kick *kick = user;

	kick->dev->kind->kick(kick->dev, kick->queue);
}

int virtio_init(struct virtio_device *dev, const struct memory *mem, struct bd_queue *io,
		unsigned nr_queues, uint16_t size)
{
	for (; dev->nr_queues < nr_queues; dev->nr_queues++) {
		struct virtqueue *vq = &dev->queues[dev->nr_queues];
		struct virtio_kick *kick = &dev->kicks[dev->nr_queues];
		int ret = bd_notifier_new(io, kicked, kick, &kick->notifier);

		if (ret < 0) {
			virtio_clear(dev);
			return ret;
		}
		kick->dev = dev;
		kick->queue = dev->nr_queues;
		vq->mem = mem;
		vq->max_size = size;
		virtqueue_reset(vq);
	}
	return 0;
}

void virtio_clear(struct virtio_device *dev)
{
	for (unsigned i = 0; i < dev->nr_queues; i++)
		bd_notifier_free(dev->kicks[i].notifier);
	dev->nr_queues = 0;
}

uint8_t virtio_status(const struct virtio_device *dev)
{
	return __atomic_load_n(&dev->status, __ATOMIC_ACQUIRE);
}

static void add_status(struct virtio_device *dev, uint8_t bits)
{
	__atomic_fetch_or(&dev->status, bits, __ATOMIC_ACQ_REL);
}

/* On the device's thread. */
static void start(void *arg)
{
	struct virtio_device *dev = arg;
	bool event_idx = virtio_has(dev, VIRTIO_RING_F_EVENT_IDX);

	for (unsigned i = 0; i < dev->nr_queues; i++) {
		if (dev->queues[i].enabled && virtqueue_start(&dev->queues[i], event_idx) < 0) {
			virtio_broken(dev);
			return;
		}
	}
	dev->started = true;
	dev->kind->start(dev);
}

/* On the device's thread. */
static void stop(void *arg)
{
	struct virtio_device *dev = arg;

	if (dev->started)
		dev->kind->stop(dev);
	dev->started = false;
	for (unsigned i = 0; i < dev->nr_queues; i++)
		virtqueue_reset(&dev->queues[i]);
}

void virtio_reset(struct virtio_device *dev)
{
	dev->thread->call(dev->thread, stop, dev);
	dev->acked = 0;
	dev->features_sel = dev->acked_sel = dev->queue_sel = 0;
	__atomic_store_n(&dev->status, 0, __ATOMIC_RELEASE);
	if (dev->irq->reset)
		dev->irq->reset(dev->irq);
}

void virtio_set_status(struct virtio_device *dev, uint8_t status)
{
	uint8_t old = virtio_status(dev), added = status & ~old;

	if (!status) {
		virtio_reset(dev);
		return;
	}
	if (added & VIRTIO_CONFIG_S_FEATURES_OK) {
		bool fits = !(dev->acked & ~dev->offered) && virtio_has(dev, VIRTIO_F_VERSION_1);

		if (!fits)
			added &= (uint8_t)~VIRTIO_CONFIG_S_FEATURES_OK;
	}
	if (!((old | added) & VIRTIO_CONFIG_S_FEATURES_OK))
		added &= (uint8_t)~VIRTIO_CONFIG_S_DRIVER_OK;
	/* Only the device says that it needs a reset. */
	added &= (uint8_t)~VIRTIO_CONFIG_S_NEEDS_RESET;
	add_status(dev, added);
	if (added & VIRTIO_CONFIG_S_DRIVER_OK)
		dev->thread->call(dev->thread, start, dev);
}

void virtio_ack(struct virtio_device *dev, uint32_t word, uint32_t bits)
{
	if (word >= 2 || (virtio_status(dev) & VIRTIO_CONFIG_S_FEATURES_OK))
		return;
	dev->acked &= ~(0xffffffffull << 32 * word);
	dev->acked |= (uint64_t)bits << 32 * word;
}

void virtio_doorbell(const struct virtio_device *dev, unsigned queue)
{
	if (queue < dev->nr_queues)
		bd_notifier_signal(dev->kicks[queue].notifier);
}

int virtio_kick_fd(const struct virtio_device *dev, unsigned queue)
{
	return bd_notifier_fd(dev->kicks[queue].notifier);
}

/* --- registers --------------------------------------------------------------------------- */

static uint32_t word_of(uint64_t bits, uint32_t word)
{
	return word < 2 ? (uint32_t)(bits >> 32 * word) : 0;
}

/* The queue the driver has selected; NULL: there is no such one. */
static struct virtqueue *selected(const struct virtio_device *dev)
{
	return dev->queue_sel < dev->nr_queues ?
	       (struct virtqueue *)&dev->queues[dev->queue_sel] : NULL;
}

static uint64_t *address_of(struct virtqueue *vq, enum virtio_reg reg)
{
	return reg < VIRTIO_REG_AVAIL ? &vq->desc_gpa :
	       reg < VIRTIO_REG_USED ? &vq->avail_gpa : &vq->used_gpa;
}

uint32_t virtio_read_reg(const struct virtio_device *dev, enum virtio_reg reg)
{
	struct virtqueue *vq = selected(dev);

	switch (reg) {
	case VIRTIO_REG_FEATURES_SEL: return dev->features_sel;
	case VIRTIO_REG_FEATURES: return word_of(dev->offered, dev->features_sel);
	case VIRTIO_REG_ACKED_SEL: return dev->acked_sel;
	case VIRTIO_REG_ACKED: return word_of(dev->acked, dev->acked_sel);
	case VIRTIO_REG_STATUS: return virtio_status(dev);
	case VIRTIO_REG_GENERATION: return __atomic_load_n(&dev->generation, __ATOMIC_ACQUIRE);
	case VIRTIO_REG_NR_QUEUES: return dev->nr_queues;
	case VIRTIO_REG_QUEUE_SEL: return dev->queue_sel;
	default: break;
	}
	if (reg == VIRTIO_REG_NONE || !vq)
		return 0;
	switch (reg) {
	case VIRTIO_REG_QUEUE_MAX: return vq->max_size;
	case VIRTIO_REG_QUEUE_SIZE: return vq->size;
	case VIRTIO_REG_QUEUE_ENABLE: return vq->enabled;
	default: return word_of(*address_of(vq, reg), (reg - VIRTIO_REG_DESC) & 1);
	}
}

/* A queue is set up before it is enabled, and enabled before the driver says that it is ready. */
static void write_queue(struct virtio_device *dev, enum virtio_reg reg, uint32_t value)
{
	struct virtqueue *vq = selected(dev);
	uint64_t *address;

	if (!vq || vq->enabled)
		return;
	if (reg == VIRTIO_REG_QUEUE_SIZE) {
		if (value <= vq->max_size)
			vq->size = (uint16_t)value;
	} else if (reg == VIRTIO_REG_QUEUE_ENABLE) {
		vq->enabled = value == 1 && !dev->started;
	} else if (reg >= VIRTIO_REG_DESC) {
		address = address_of(vq, reg);
		if ((reg - VIRTIO_REG_DESC) & 1)
			*address = (*address & 0xffffffff) | (uint64_t)value << 32;
		else
			*address = (*address & ~0xffffffffull) | value;
	}
}

void virtio_write_reg(struct virtio_device *dev, enum virtio_reg reg, uint32_t value)
{
	switch (reg) {
	case VIRTIO_REG_FEATURES_SEL: dev->features_sel = value; break;
	case VIRTIO_REG_ACKED_SEL: dev->acked_sel = value; break;
	case VIRTIO_REG_ACKED: virtio_ack(dev, dev->acked_sel, value); break;
	case VIRTIO_REG_STATUS: virtio_set_status(dev, (uint8_t)value); break;
	case VIRTIO_REG_QUEUE_SEL: dev->queue_sel = value; break;
	default: write_queue(dev, reg, value);
	}
}

void virtio_read_config(struct virtio_device *dev, unsigned off, void *buf, unsigned len)
{
	unsigned end = dev->kind->config_len, inside;

	memset(buf, 0, len);
	if (off >= end)
		return;
	inside = len < end - off ? len : end - off;
	dev->kind->read_config(dev, off, buf, inside);
}

void virtio_write_config(struct virtio_device *dev, unsigned off, const void *buf, unsigned len)
{
	if (off < dev->kind->config_len && len <= dev->kind->config_len - off)
		dev->kind->write_config(dev, off, buf, len);
}

bool virtio_queue_ready(const struct virtio_device *dev, unsigned queue)
{
	return dev->started && dev->queues[queue].running &&
	       !(virtio_status(dev) & VIRTIO_CONFIG_S_NEEDS_RESET);
}

void virtio_broken(struct virtio_device *dev)
{
	if (virtio_status(dev) & VIRTIO_CONFIG_S_NEEDS_RESET)
		return;
	add_status(dev, VIRTIO_CONFIG_S_NEEDS_RESET);
	if (virtio_status(dev) & VIRTIO_CONFIG_S_DRIVER_OK)
		dev->irq->config(dev->irq);
}

void virtio_config_changed(struct virtio_device *dev)
{
	__atomic_fetch_add(&dev->generation, 1, __ATOMIC_ACQ_REL);
	if (virtio_status(dev) & VIRTIO_CONFIG_S_DRIVER_OK)
		dev->irq->config(dev->irq);
}
