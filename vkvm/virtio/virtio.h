/* SPDX-License-Identifier: MIT */
/*
 * A virtio device: what is common to all of them, between a transport and a kind of device.
 *
 * Transports are called by vCPU threads, one at a time (the machine's lock).  Queues run on the
 * device's own thread; start and stop cross over to it and wait, so that a reset comes back only
 * when nothing is in flight any more.
 */
#ifndef VIRTIO_H
#define VIRTIO_H

#include "blockdev/include/notifier.h"
#include "vkvm/virtio/virtqueue.h"

enum { VIRTIO_MAX_QUEUES = 16 };

struct virtio_device;

/* A kind of device. */
struct virtio_kind {
	uint16_t id;                 /* VIRTIO_ID_* */
	uint32_t config_len;         /* bytes of its configuration space */
	/* On a vCPU's thread: bytes inside config_len; a write may be ignored. */
	void (*read_config)(struct virtio_device *dev, unsigned off, void *buf, unsigned len);
	void (*write_config)(struct virtio_device *dev, unsigned off, const void *buf,
			     unsigned len);
	/* On the device's thread.  The queues run; the first kick may have been made already. */
	void (*start)(struct virtio_device *dev);
	/* On the device's thread: finish what is in flight; nothing is taken afterwards. */
	void (*stop)(struct virtio_device *dev);
	void (*kick)(struct virtio_device *dev, unsigned queue);
};

/* Runs functions on a device's thread. */
struct virtio_thread {
	/* Run @fn(@arg) there, at top level, and wait for its end. */
	void (*call)(struct virtio_thread *thread, void (*fn)(void *arg), void *arg);
};

/* How a transport interrupts the guest; from any thread. */
struct virtio_irq {
	void (*queue)(struct virtio_irq *irq, unsigned queue);
	void (*config)(struct virtio_irq *irq);
	/* The device was reset: so are the transport's registers.  May be NULL. */
	void (*reset)(struct virtio_irq *irq);
};

/* The driver's registers, which each transport has at addresses of its own. */
enum virtio_reg {
	VIRTIO_REG_NONE,
	VIRTIO_REG_FEATURES_SEL, VIRTIO_REG_FEATURES, VIRTIO_REG_ACKED_SEL, VIRTIO_REG_ACKED,
	VIRTIO_REG_STATUS, VIRTIO_REG_GENERATION, VIRTIO_REG_NR_QUEUES,
	/* of the queue that is selected */
	VIRTIO_REG_QUEUE_SEL, VIRTIO_REG_QUEUE_MAX, VIRTIO_REG_QUEUE_SIZE, VIRTIO_REG_QUEUE_ENABLE,
	VIRTIO_REG_DESC, VIRTIO_REG_DESC_HIGH, VIRTIO_REG_AVAIL, VIRTIO_REG_AVAIL_HIGH,
	VIRTIO_REG_USED, VIRTIO_REG_USED_HIGH,
};

struct virtio_device {
	const struct virtio_kind *kind;
	const char *name;            /* for messages; borrowed */
	uint64_t offered, acked;     /* feature bits */
	uint8_t status;              /* VIRTIO_CONFIG_S_*; atomic */
	uint32_t generation;         /* of the configuration; atomic */
	bool started;
	uint32_t features_sel, acked_sel, queue_sel; /* what the driver has selected */
	unsigned nr_queues;
	struct virtqueue queues[VIRTIO_MAX_QUEUES];
	struct virtio_irq *irq;      /* the transport's */
	struct virtio_thread *thread;
	/* each queue's doorbell, which runs kind->kick on the device's thread */
	struct virtio_kick {
		struct bd_notifier *notifier;
		struct virtio_device *dev;
		unsigned queue;
	} kicks[VIRTIO_MAX_QUEUES];
};

/*
 * Prepare @dev's common part: @nr_queues queues of up to @size descriptors, with doorbells on
 * @io.  On the device's thread.  -EMFILE, -ENOMEM.
 */
int virtio_init(struct virtio_device *dev, const struct memory *mem, struct bd_queue *io,
		unsigned nr_queues, uint16_t size);
/* Free the doorbells.  On the device's thread, at top level. */
void virtio_clear(struct virtio_device *dev);

/* --- for transports ---------------------------------------------------------------------- */

uint8_t virtio_status(const struct virtio_device *dev);
/*
 * The driver writes the status register.  0 resets; otherwise bits are only added, and those that
 * are out of turn (features that were not offered, DRIVER_OK without FEATURES_OK) are not taken.
 */
void virtio_set_status(struct virtio_device *dev, uint8_t status);
/* Reset, as by a write of 0. */
void virtio_reset(struct virtio_device *dev);
/* An access to a register.  What is not there reads as 0 and is not written. */
uint32_t virtio_read_reg(const struct virtio_device *dev, enum virtio_reg reg);
void virtio_write_reg(struct virtio_device *dev, enum virtio_reg reg, uint32_t value);
/* Ignored once FEATURES_OK is set. */
void virtio_ack(struct virtio_device *dev, uint32_t word, uint32_t bits);
/* A doorbell that reached a register instead of the eventfd. */
void virtio_doorbell(const struct virtio_device *dev, unsigned queue);
/* The eventfd of a queue's doorbell. */
int virtio_kick_fd(const struct virtio_device *dev, unsigned queue);
/* Any access to the configuration space; what lies outside reads as 0 and is not written. */
void virtio_read_config(struct virtio_device *dev, unsigned off, void *buf, unsigned len);
void virtio_write_config(struct virtio_device *dev, unsigned off, const void *buf, unsigned len);

/* --- for devices, on their thread -------------------------------------------------------- */

static inline bool virtio_has(const struct virtio_device *dev, unsigned feature)
{
	return dev->acked >> feature & 1;
}
/* The queue may be looked at: the driver is there and has done nothing forbidden. */
bool virtio_queue_ready(const struct virtio_device *dev, unsigned queue);
/* The driver broke the rules: no queue runs until it resets the device. */
void virtio_broken(struct virtio_device *dev);
/* The configuration has changed: tell the driver. */
void virtio_config_changed(struct virtio_device *dev);

#endif
