/* SPDX-License-Identifier: MIT */
/*
 * The driver's side of virtio-blk from the input: first accesses to the registers, then memory with
 * rings and requests.  Whatever it is, nothing outside the memory is touched, each head comes back
 * at most once, and a kick is bounded work.
 */
#include <linux/virtio_config.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "vkvm/virtio/blk.h"
#include "vkvm/transport/virtio_mmio.h"

enum { RAM = 1 << 16, GUARD = 1 << 16, QUEUE_SIZE = 16, MAX_ACCESSES = 64 };

static uint8_t *ram;
static struct machine machine;
static struct virtio_mmio slots[VIRTIO_MMIO_SLOTS];
static struct bd_queue *queue;
static struct bd_node *node;

static void call(struct virtio_thread *thread, void (*fn)(void *), void *arg)
{
	(void)thread;
	fn(arg);
}

static void no_queue_irq(struct virtio_irq *irq, unsigned vq)
{
	(void)irq;
	(void)vq;
}

static void no_config_irq(struct virtio_irq *irq)
{
	(void)irq;
}

static struct virtio_thread thread = { call };
static struct virtio_irq irq = { .queue = no_queue_irq, .config = no_config_irq };

static void set_up(void)
{
	struct bd_open_args args = { .filename = "null-co://", .format = "raw",
				     .flags = BD_O_RDWR };
	struct bd_error err = {0};
	uint8_t *mapping = mmap(NULL, RAM + 2 * GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
				0);

	if (mapping == MAP_FAILED || mprotect(mapping + GUARD, RAM, PROT_READ | PROT_WRITE) < 0 ||
	    bd_queue_new("sync", 64, &queue, &err) < 0 || bd_open(queue, &args, &node, &err) < 0)
		abort();
	ram = mapping + GUARD;
	memory_add(&machine.vm.mem, 0, ram, RAM);
	virtio_mmio_init(slots, &machine);
}

/* An access to the registers: offset, size and direction, value.  Returns the bytes used. */
static size_t access_one(const uint8_t *data)
{
	unsigned len = 1u << (data[2] & 3);
	uint64_t off = (data[0] | data[1] << 8) & 0xfff, value = 0;

	memcpy(&value, data + 3, 5);
	bus_access(&machine.mmio, VIRTIO_MMIO_BASE + off, &value, len, data[2] & 4);
	return 8;
}

/* If the registers did not get it so far: a driver that is ready, with rings in the memory. */
static void make_ready(struct virtio_blk *blk, const uint8_t *data)
{
	struct virtqueue *vq = &blk->dev.queues[0];

	virtio_reset(&blk->dev);
	virtio_set_status(&blk->dev, VIRTIO_CONFIG_S_ACKNOWLEDGE | VIRTIO_CONFIG_S_DRIVER);
	virtio_ack(&blk->dev, 0, (uint32_t)data[0] << 24 | data[1] << 8 | data[2]);
	virtio_ack(&blk->dev, 1, 1u << (VIRTIO_F_VERSION_1 - 32));
	blk->dev.acked &= blk->dev.offered;
	virtio_set_status(&blk->dev, VIRTIO_CONFIG_S_FEATURES_OK | 3);
	vq->size = QUEUE_SIZE;
	vq->desc_gpa = (uint64_t)(data[3] & 15) << 12;
	vq->avail_gpa = (uint64_t)(data[4] & 15) << 12 | 0x800;
	vq->used_gpa = (uint64_t)(data[5] & 15) << 12 | 0xc00;
	vq->enabled = true;
	virtio_set_status(&blk->dev, VIRTIO_CONFIG_S_DRIVER_OK | VIRTIO_CONFIG_S_FEATURES_OK | 3);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct virtio_blk blk;
	static struct disk disk;
	size_t used = 0;

	if (!ram)
		set_up();
	if (size < 16)
		return 0;
	memset(&blk, 0, sizeof(blk));
	disk = (struct disk){ .queue = queue, .node = node, .id = "fuzz", .serial = "s",
			      .write_back = true, .block_size = 512 };
	if (virtio_blk_open(&blk, &disk, &machine.vm.mem, 2, QUEUE_SIZE) < 0)
		abort();
	blk.dev.thread = &thread;
	blk.dev.irq = &irq;
	slots[0].dev = &blk.dev;
	memset(ram, 0, RAM);
	for (unsigned i = 0; i < (data[0] & (MAX_ACCESSES - 1)) && size - used >= 24; i++)
		used += access_one(data + 8 + used);
	memcpy(ram, data + used, size - used < RAM ? size - used : RAM);
	make_ready(&blk, data + 1);
	for (int turn = 0; turn < 8; turn++) {
		/* With and without doorbells, as the thread that looks before it sleeps. */
		if (data[6] >> turn & 1)
			virtio_blk_watch(&blk, turn & 1);
		if (data[7] >> turn & 1)
			virtio_blk_look(&blk);
		else
			virtio_doorbell(&blk.dev, (unsigned)turn & 1);
		bd_queue_poll(queue, false);
		virtio_blk_publish(&blk);
	}
	if (blk.dev.queues[0].in_flight > QUEUE_SIZE)
		abort();
	virtio_reset(&blk.dev);
	if (blk.in_flight)
		abort();
	virtio_blk_close(&blk);
	slots[0].dev = NULL;
	return 0;
}
