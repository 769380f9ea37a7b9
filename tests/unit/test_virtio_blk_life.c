/* SPDX-License-Identifier: MIT */
/* virtio-blk without KVM: negotiation, batches, durability, errors, draining, reset. */
#include <linux/virtio_config.h>
#include <string.h>

#include "tests/unit/blk_fixture.h"
#include "tests/unit/image_fixture.h"
#include "tests/unit/suite.h"

/* A batch is one kick and one interrupt. */
START_TEST(batches)
{
	struct part data = { BUFFER, 4096, 0 };
	uint32_t head, len;
	unsigned done = 0, turns = 0;
	struct bd_stats stats;
	uint64_t syscalls;

	ck_assert_int_eq(blk_io(VIRTIO_BLK_T_OUT, 0, 512), VIRTIO_BLK_S_OK);
	interrupts = 0;
	for (unsigned i = 0; i < 20; i++)
		blk_offer(i, VIRTIO_BLK_T_OUT, i * 8, &data, 1);
	bd_stats_get(disk.node, &stats);
	syscalls = stats.syscalls;
	virtio_doorbell(&blk.dev, 0);
	for (; done < 20; turns++) {
		blk_turn(true);
		while (driver_used(&driver, &head, &len))
			done++;
	}
	bd_stats_get(disk.node, &stats);
	ck_assert_uint_eq(disk.stats.max_batch, 20);
	ck_assert_uint_le(interrupts, turns);
	/* A turn enters the kernel to hand over all there is and to wait, however many requests. */
	if (!strcmp(bd_queue_engine(queue), "io_uring"))
		ck_assert_uint_le(stats.syscalls - syscalls, 2 * turns);
	for (unsigned i = 0; i < 20; i++)
		ck_assert_int_eq(blk_status(i), VIRTIO_BLK_S_OK);
}
END_TEST

/* While the rings are looked at the driver need not kick; the end of that loses nothing. */
START_TEST(watched)
{
	struct part data = { BUFFER, 512, VRING_DESC_F_WRITE };
	uint32_t head, len;
	uint16_t event;

	virtio_reset(&blk.dev);
	blk_negotiate(1ull << VIRTIO_BLK_F_FLUSH | 1ull << VIRTIO_RING_F_EVENT_IDX);
	ck_assert(!virtio_blk_watch(&blk, true));
	ck_assert(!virtio_blk_look(&blk));
	for (unsigned i = 0; i < 3; i++) {
		blk_offer(i, VIRTIO_BLK_T_IN, 0, &data, 1);
		memcpy(&event, &driver_used_ring()->ring[QUEUE_SIZE], sizeof(event));
		ck_assert(!vring_need_event(event, (uint16_t)(i + 1), (uint16_t)i));
		ck_assert(virtio_blk_look(&blk));
		while (!driver_used(&driver, &head, &len))
			blk_turn(true);
		ck_assert_int_eq(blk_status(i), VIRTIO_BLK_S_OK);
	}
	blk_offer(3, VIRTIO_BLK_T_IN, 0, &data, 1);
	ck_assert(virtio_blk_watch(&blk, false));
	while (!driver_used(&driver, &head, &len))
		blk_turn(true);
	memcpy(&event, &driver_used_ring()->ring[QUEUE_SIZE], sizeof(event));
	ck_assert(vring_need_event(event, 5, 4));
	ck_assert_uint_eq(disk.stats.polls, 4);
	ck_assert_uint_eq(disk.stats.kicks, 0);
}
END_TEST

/* A disk that is drained is left alone, and not forgotten. */
START_TEST(watched_and_drained)
{
	struct part data = { BUFFER, 512, VRING_DESC_F_WRITE };
	uint32_t head, len;

	ck_assert(!virtio_blk_watch(&blk, true));
	virtio_blk_drain(&blk);
	blk_offer(0, VIRTIO_BLK_T_IN, 0, &data, 1);
	ck_assert(!virtio_blk_look(&blk));
	ck_assert(!virtio_blk_watch(&blk, false));
	virtio_blk_undrain(&blk);
	while (!driver_used(&driver, &head, &len))
		blk_turn(true);
	ck_assert_int_eq(blk_status(0), VIRTIO_BLK_S_OK);
}
END_TEST

/* Rules 2 and 4: the device asks for a reset, once, and works after it. */
START_TEST(needs_reset)
{
	config_interrupts = 0;
	driver_avail()->idx = 300;
	virtio_doorbell(&blk.dev, 0);
	blk_turn(true);
	ck_assert(virtio_status(&blk.dev) & VIRTIO_CONFIG_S_NEEDS_RESET);
	ck_assert_uint_eq(config_interrupts, 1);
	virtio_doorbell(&blk.dev, 0);
	blk_turn(true);
	ck_assert_uint_eq(config_interrupts, 1);
	virtio_set_status(&blk.dev, 0);
	ck_assert_uint_eq(virtio_status(&blk.dev), 0);
	blk_negotiate(1ull << VIRTIO_BLK_F_FLUSH);
	ck_assert_int_eq(blk_io(VIRTIO_BLK_T_IN, 0, 512), VIRTIO_BLK_S_OK);
}
END_TEST

/* Rule 12: a reset waits for what is in flight, and forgets what was not begun. */
START_TEST(reset_in_flight)
{
	struct part data = { BUFFER, 4096, 0 };

	for (unsigned i = 0; i < 10; i++)
		blk_offer(i, VIRTIO_BLK_T_OUT, i * 200, &data, 1);
	virtio_doorbell(&blk.dev, 0);
	while (!blk.in_flight)
		ck_assert_int_ge(bd_queue_poll(queue, false), 0);
	virtio_set_status(&blk.dev, 0);
	ck_assert_uint_eq(blk.in_flight, 0);
	ck_assert(!blk.dev.queues[0].running);
	/* A doorbell of a device that is not there. */
	virtio_doorbell(&blk.dev, 0);
	blk_turn(true);
	blk_negotiate(0);
	ck_assert_int_eq(blk_io(VIRTIO_BLK_T_IN, 0, 512), VIRTIO_BLK_S_OK);
}
END_TEST

START_TEST(status_order)
{
	struct virtio_device *dev = &blk.dev;

	virtio_reset(dev);
	virtio_set_status(dev, VIRTIO_CONFIG_S_DRIVER_OK);
	ck_assert_uint_eq(virtio_status(dev), 0);
	ck_assert(!dev->started);
	/* Not version 1. */
	virtio_set_status(dev, VIRTIO_CONFIG_S_FEATURES_OK);
	ck_assert_uint_eq(virtio_status(dev), 0);
	/* What was not offered. */
	virtio_ack(dev, 1, 1u << (VIRTIO_F_VERSION_1 - 32) | 1u << 20);
	virtio_set_status(dev, VIRTIO_CONFIG_S_FEATURES_OK);
	ck_assert_uint_eq(virtio_status(dev), 0);
	virtio_ack(dev, 1, 1u << (VIRTIO_F_VERSION_1 - 32));
	virtio_set_status(dev, VIRTIO_CONFIG_S_FEATURES_OK | VIRTIO_CONFIG_S_NEEDS_RESET);
	ck_assert_uint_eq(virtio_status(dev), VIRTIO_CONFIG_S_FEATURES_OK);
	virtio_ack(dev, 0, 1u << VIRTIO_BLK_F_FLUSH);
	ck_assert(!virtio_has(dev, VIRTIO_BLK_F_FLUSH));
}
END_TEST

/* Rule 13: after a drain the ring is looked at without a kick. */
START_TEST(drain_and_go_on)
{
	struct part data = { BUFFER, 4096, 0 };
	uint32_t head, len;

	virtio_blk_drain(&blk);
	blk_offer(0, VIRTIO_BLK_T_OUT, 0, &data, 1);
	virtio_doorbell(&blk.dev, 0);
	blk_turn(true);
	blk_turn(false);
	ck_assert_uint_eq(blk.in_flight, 0);
	virtio_blk_undrain(&blk);
	while (!driver_used(&driver, &head, &len))
		blk_turn(true);
	ck_assert_int_eq(blk_status(0), VIRTIO_BLK_S_OK);
}
END_TEST

/* werror=stop: the request waits, in order, and is tried again. */
START_TEST(stop_and_retry)
{
	struct part data = { BUFFER, 512, 0 };
	uint32_t head, len;

	ck_assert_int_eq(blk_io(VIRTIO_BLK_T_OUT, 0, 512), VIRTIO_BLK_S_OK);
	blk_unplug();
	blk_plug_faulty(28);
	blk_negotiate(0);
	stops = 0;
	blk_offer(0, VIRTIO_BLK_T_OUT, 0, &data, 1);
	virtio_doorbell(&blk.dev, 0);
	while (!stops)
		blk_turn(true);
	blk_turn(false);
	ck_assert(!driver_used(&driver, &head, &len));
	ck_assert_int_eq(blk_status(0), 0xee);
	virtio_blk_drain(&blk);
	virtio_blk_undrain(&blk);
	virtio_blk_retry(&blk);
	while (!driver_used(&driver, &head, &len))
		blk_turn(true);
	ck_assert_int_eq(blk_status(0), VIRTIO_BLK_S_OK);
	ck_assert_uint_eq(stops, 1);
}
END_TEST

/* report, ignore, and the default for anything but a full disk. */
START_TEST(policies)
{
	static const enum bd_policy policy[] = {
		BD_POLICY_REPORT, BD_POLICY_IGNORE, BD_POLICY_ENOSPC,
	};
	static const int expect[] = { VIRTIO_BLK_S_IOERR, VIRTIO_BLK_S_OK, VIRTIO_BLK_S_IOERR };

	ck_assert_int_eq(blk_io(VIRTIO_BLK_T_OUT, 0, 512), VIRTIO_BLK_S_OK);
	for (int i = 0; i < 3; i++) {
		blk_unplug();
		blk_plug_faulty(5);
		disk.write_error = policy[i];
		blk_negotiate(0);
		ck_assert_int_eq(blk_io(VIRTIO_BLK_T_OUT, 0, 512), expect[i]);
		ck_assert_uint_eq(disk.stats.account.op[BD_OP_WRITE].failed, i != 1);
		ck_assert_int_eq(blk_io(VIRTIO_BLK_T_OUT, 0, 512), VIRTIO_BLK_S_OK);
	}
}
END_TEST

START_TEST(resize_is_told)
{
	struct bd_error err = {0};
	uint64_t capacity;
	uint32_t generation = blk.dev.generation;

	config_interrupts = 0;
	virtio_blk_drain(&blk);
	ck_assert_int_eq(bd_resize(disk.node, 2 * DISK_SIZE, "off", false, &err), 0);
	virtio_blk_undrain(&blk);
	virtio_blk_resized(&blk);
	virtio_read_config(&blk.dev, 0, &capacity, 8);
	ck_assert_uint_eq(capacity, 2 * DISK_SIZE / 512);
	ck_assert_uint_eq(config_interrupts, 1);
	ck_assert_uint_ne(blk.dev.generation, generation);
	ck_assert_int_eq(blk_io(VIRTIO_BLK_T_OUT, DISK_SIZE / 512, 512), VIRTIO_BLK_S_OK);
}
END_TEST

static uint64_t barriers(void)
{
	struct bd_stats stats;

	bd_stats_get(disk.node, &stats);
	return stats.barriers;
}

/* Rule 10, and what a driver without a flush is owed. */
START_TEST(durability)
{
	uint64_t before = barriers();
	uint8_t off = 0;

	ck_assert_int_eq(blk_io(VIRTIO_BLK_T_OUT, 0, 512), VIRTIO_BLK_S_OK);
	ck_assert_int_eq(blk_io(VIRTIO_BLK_T_OUT, 0, 512), VIRTIO_BLK_S_OK);
	before = barriers();
	ck_assert_int_eq(blk_io(VIRTIO_BLK_T_OUT, 0, 512), VIRTIO_BLK_S_OK);
	ck_assert_uint_eq(barriers(), before);
	ck_assert_int_eq(blk_io(VIRTIO_BLK_T_FLUSH, 0, 0), VIRTIO_BLK_S_OK);
	ck_assert_uint_gt(barriers(), before);
	before = barriers();
	virtio_write_config(&blk.dev, 32, &off, 1);
	ck_assert_int_eq(blk_io(VIRTIO_BLK_T_OUT, 0, 512), VIRTIO_BLK_S_OK);
	ck_assert_uint_gt(barriers(), before);
	virtio_reset(&blk.dev);
	blk_negotiate(0);
	before = barriers();
	ck_assert_int_eq(blk_io(VIRTIO_BLK_T_OUT, 0, 512), VIRTIO_BLK_S_OK);
	ck_assert_uint_gt(barriers(), before);
}
END_TEST

START_TEST(config_space)
{
	struct virtio_blk_config config = {0};
	uint8_t wce = 0;

	virtio_read_config(&blk.dev, 0, &config, 60);
	ck_assert_uint_eq(config.capacity, DISK_SIZE / 512);
	ck_assert_uint_eq(config.blk_size, 512);
	ck_assert_uint_eq(config.seg_max, 254);
	ck_assert_uint_eq(config.num_queues, 1);
	ck_assert_uint_eq(config.discard_sector_alignment, 65536 / 512);
	ck_assert_uint_gt(config.max_discard_sectors, 0);
	ck_assert_uint_gt(config.max_discard_seg, 0);
	ck_assert_uint_gt(config.max_write_zeroes_sectors, 0);
	ck_assert_uint_gt(config.max_write_zeroes_seg, 0);
	ck_assert_uint_eq(config.write_zeroes_may_unmap, 1);
	ck_assert_uint_eq(offsetof(struct virtio_blk_config, wce), 32);
	ck_assert_uint_eq(offsetof(struct virtio_blk_config, num_queues), 34);
	ck_assert_uint_eq(config.wce, 1);
	virtio_write_config(&blk.dev, 32, &wce, 1);
	virtio_write_config(&blk.dev, 0, &config.seg_max, 4);
	virtio_write_config(&blk.dev, UINT32_MAX, &wce, 1);
	virtio_read_config(&blk.dev, 0, &config, 60);
	ck_assert_uint_eq(config.wce, 0);
	ck_assert_uint_eq(config.capacity, DISK_SIZE / 512);
	virtio_read_config(&blk.dev, 58, &config, 8);
	virtio_read_config(&blk.dev, UINT32_MAX, &config, 8);
	ck_assert_uint_eq(config.capacity, 0);
	virtio_reset(&blk.dev);
	virtio_read_config(&blk.dev, 32, &wce, 1);
	ck_assert_uint_eq(wce, 1);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("virtio-blk-life");

	tcase_add_checked_fixture(tc, blk_set_up, blk_tear_down);
	tcase_add_test(tc, batches);
	tcase_add_test(tc, watched);
	tcase_add_test(tc, watched_and_drained);
	tcase_add_test(tc, needs_reset);
	tcase_add_test(tc, reset_in_flight);
	tcase_add_test(tc, status_order);
	tcase_add_test(tc, drain_and_go_on);
	tcase_add_test(tc, stop_and_retry);
	tcase_add_test(tc, policies);
	tcase_add_test(tc, resize_is_told);
	tcase_add_test(tc, durability);
	tcase_add_test(tc, config_space);
	return suite_run("virtio-blk-life", tc, CK_FORK);
}
