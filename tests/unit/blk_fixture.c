/* SPDX-License-Identifier: MIT */
/* A disk on virtio-blk and its driver: see blk_fixture.h. */
#include "tests/unit/blk_fixture.h"

#include <linux/virtio_config.h>
#include <string.h>

#include "tests/unit/image_fixture.h"

struct virtio_blk blk;
struct disk disk;
struct driver driver;
unsigned interrupts, config_interrupts, stops;

static void call(struct virtio_thread *thread, void (*fn)(void *), void *arg)
{
	(void)thread;
	fn(arg);
}

static void queue_irq(struct virtio_irq *irq, unsigned vq)
{
	(void)irq;
	(void)vq;
	interrupts++;
}

static void config_irq(struct virtio_irq *irq)
{
	(void)irq;
	config_interrupts++;
}

static void failed(void *user, const struct disk *which, enum bd_op_kind op, int error,
		   enum bd_policy action)
{
	(void)user;
	(void)which;
	(void)op;
	ck_assert_int_lt(error, 0);
	stops += action == BD_POLICY_STOP;
}

static struct virtio_thread thread = { call };
static struct virtio_irq irq = { .queue = queue_irq, .config = config_irq };

void blk_negotiate(uint64_t features)
{
	struct virtio_device *dev = &blk.dev;

	features |= 1ull << VIRTIO_F_VERSION_1;
	virtio_set_status(dev, VIRTIO_CONFIG_S_ACKNOWLEDGE | VIRTIO_CONFIG_S_DRIVER);
	virtio_ack(dev, 0, (uint32_t)features);
	virtio_ack(dev, 1, (uint32_t)(features >> 32));
	virtio_set_status(dev, virtio_status(dev) | VIRTIO_CONFIG_S_FEATURES_OK);
	ck_assert(virtio_status(dev) & VIRTIO_CONFIG_S_FEATURES_OK);
	driver_init(&driver, &dev->queues[0], QUEUE_SIZE);
	dev->queues[0].enabled = true;
	virtio_set_status(dev, virtio_status(dev) | VIRTIO_CONFIG_S_DRIVER_OK);
}

static void blk_plug_node(struct bd_node *node)
{
	disk.node = node;
	disk.queue = queue;
	disk.id = "virtio0";
	disk.serial = "0123456789";
	disk.write_back = true;
	disk.block_size = 512;
	disk.write_error = BD_POLICY_ENOSPC;
	disk.failed = failed;
	ck_assert_int_eq(virtio_blk_open(&blk, &disk, &memory, 1, QUEUE_SIZE), 0);
	blk.dev.irq = &irq;
	blk.dev.thread = &thread;
}

void blk_plug(unsigned flags)
{
	blk_plug_node(image_open("disk", "", flags));
}

void blk_plug_faulty(int error)
{
	struct bd_opts *opts = bd_opts_new();
	struct bd_open_args args = { .format = "qcow2", .opts = opts, .flags = BD_O_RDWR };
	struct bd_error err = {0};
	struct bd_node *node;
	char text[256];

	snprintf(text, sizeof(text), "file.driver=blkdebug,file.image.filename=%s,"
		 "file.inject-error.0.event=write_aio,file.inject-error.0.errno=%d,"
		 "file.inject-error.0.once=on", image_path("disk"), error);
	ck_assert_int_eq(bd_opts_parse(opts, text, NULL, &err), 0);
	ck_assert_msg(bd_open(queue, &args, &node, &err) == 0, "%s", err.msg);
	bd_opts_free(opts);
	blk_plug_node(node);
}

void blk_set_up(void)
{
	image_set_up();
	ram_set_up();
	image_create("disk", "", DISK_SIZE, NULL);
	blk_plug(BD_O_RDWR | BD_O_UNMAP);
	blk_negotiate(1ull << VIRTIO_BLK_F_FLUSH | 1ull << VIRTIO_BLK_F_CONFIG_WCE);
}

void blk_unplug(void)
{
	virtio_reset(&blk.dev);
	virtio_blk_close(&blk);
	image_close(disk.node);
	memset(&blk, 0, sizeof(blk));
	memset(&disk, 0, sizeof(disk));
}

void blk_tear_down(void)
{
	blk_unplug();
	image_check("disk");
	ram_tear_down();
	image_tear_down();
}

void blk_offer(unsigned slot, uint32_t type, uint64_t sector, const struct part *data,
		  unsigned nr)
{
	struct part parts[32] = { { HEADER + 16 * slot, 16, 0 } };

	*(struct virtio_blk_outhdr *)ram(HEADER + 16 * slot) = (struct virtio_blk_outhdr){
		.type = type, .sector = sector,
	};
	*(uint8_t *)ram(STATUS + slot) = 0xee;
	memcpy(&parts[1], data, nr * sizeof(*data));
	parts[nr + 1] = (struct part){ STATUS + slot, 1, VRING_DESC_F_WRITE };
	driver_offer(&driver, driver_chain(&driver, parts, nr + 2));
}

void blk_turn(bool wait)
{
	ck_assert_int_ge(bd_queue_poll(queue, wait), 0);
	virtio_blk_publish(&blk);
}

uint32_t blk_run(void)
{
	uint32_t head, len;

	virtio_doorbell(&blk.dev, 0);
	while (!driver_used(&driver, &head, &len))
		blk_turn(true);
	return len;
}

int blk_status(unsigned slot)
{
	return *(uint8_t *)ram(STATUS + slot);
}

int blk_io_at(uint32_t type, uint64_t sector, uint64_t gpa, uint32_t len, uint32_t *used)
{
	struct part data = { gpa, len, type == VIRTIO_BLK_T_IN || type == VIRTIO_BLK_T_GET_ID ?
				       VRING_DESC_F_WRITE : 0 };

	blk_offer(0, type, sector, &data, len ? 1 : 0);
	*used = blk_run();
	return blk_status(0);
}

int blk_io(uint32_t type, uint64_t sector, uint32_t len)
{
	uint32_t used;

	return blk_io_at(type, sector, BUFFER, len, &used);
}

bool all_bytes(const uint8_t *at, uint8_t value, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (at[i] != value)
			return false;
	}
	return true;
}
