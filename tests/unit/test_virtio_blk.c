/* SPDX-License-Identifier: MIT */
/* virtio-blk on the engine, without KVM: requests and refusals. */
#include <string.h>

#include "tests/unit/blk_fixture.h"
#include "tests/unit/image_fixture.h"
#include "tests/unit/suite.h"

START_TEST(writes_and_reads)
{
	uint32_t used;

	memset(ram(BUFFER), 0x5a, 8192);
	ck_assert_int_eq(blk_io_at(VIRTIO_BLK_T_OUT, 100, BUFFER, 8192, &used), VIRTIO_BLK_S_OK);
	ck_assert_uint_eq(used, 1);
	ck_assert_int_eq(blk_io_at(VIRTIO_BLK_T_IN, 99, BUFFER + 0x10000, 512 * 18, &used),
			 VIRTIO_BLK_S_OK);
	ck_assert_uint_eq(used, 512 * 18 + 1);
	ck_assert(all_bytes(ram(BUFFER + 0x10000), 0, 512));
	ck_assert(all_bytes(ram(BUFFER + 0x10000 + 512), 0x5a, 8192));
	ck_assert(all_bytes(ram(BUFFER + 0x10000 + 512 * 17), 0, 512));
	ck_assert_int_eq(blk_io_at(VIRTIO_BLK_T_FLUSH, 0, 0, 0, &used), VIRTIO_BLK_S_OK);
	ck_assert_uint_eq(used, 1);
	ck_assert_uint_eq(disk.stats.account.op[BD_OP_WRITE].bytes, 8192);
	ck_assert_uint_eq(disk.stats.account.op[BD_OP_READ].operations, 1);
	ck_assert_uint_eq(disk.stats.account.wr_highest_offset, 100 * 512 + 8192);
}
END_TEST

/* Rule 5: borders of descriptors mean nothing. */
START_TEST(any_layout)
{
	const struct part parts[] = {
		{ HEADER, 3, 0 }, { HEADER + 3, 12, 0 }, { HEADER + 15, 1, 0 },
		{ BUFFER, 100, 0 }, { BUFFER + 100, 0, 0 }, { BUFFER + 100, 412, 0 },
		{ STATUS, 1, VRING_DESC_F_WRITE },
	};
	/* Header and data in one, data and status in one. */
	const struct part glued[] = { { BUFFER, 16, 0 }, { BUFFER + 0x1000, 513,
							   VRING_DESC_F_WRITE } };
	struct virtio_blk_outhdr header = { .type = VIRTIO_BLK_T_OUT, .sector = 7 };

	memcpy(ram(HEADER), &header, sizeof(header));
	memset(ram(BUFFER), 0x77, 512);
	driver_offer(&driver, driver_chain(&driver, parts, 7));
	ck_assert_uint_eq(blk_run(), 1);
	ck_assert_int_eq(blk_status(0), VIRTIO_BLK_S_OK);
	header.type = VIRTIO_BLK_T_IN;
	memcpy(ram(BUFFER), &header, sizeof(header));
	driver_offer(&driver, driver_chain(&driver, glued, 2));
	ck_assert_uint_eq(blk_run(), 513);
	ck_assert(all_bytes(ram(BUFFER + 0x1000), 0x77, 512));
	ck_assert_int_eq(*(uint8_t *)ram(BUFFER + 0x1000 + 512), VIRTIO_BLK_S_OK);
}
END_TEST

/* Rule 7: the end of the disk, over the sum of all parts. */
START_TEST(range_checks)
{
	const uint64_t end = DISK_SIZE / 512;
	const struct part split[] = { { BUFFER, 512, 0 }, { BUFFER, 512, 0 } };

	ck_assert_int_eq(blk_io(VIRTIO_BLK_T_OUT, end - 1, 512), VIRTIO_BLK_S_OK);
	ck_assert_int_eq(blk_io(VIRTIO_BLK_T_OUT, end, 512), VIRTIO_BLK_S_IOERR);
	ck_assert_int_eq(blk_io(VIRTIO_BLK_T_IN, end - 1, 1024), VIRTIO_BLK_S_IOERR);
	ck_assert_int_eq(blk_io(VIRTIO_BLK_T_IN, UINT64_MAX, 512), VIRTIO_BLK_S_IOERR);
	ck_assert_int_eq(blk_io(VIRTIO_BLK_T_IN, UINT64_MAX / 512 + 1, 512), VIRTIO_BLK_S_IOERR);
	ck_assert_int_eq(blk_io(VIRTIO_BLK_T_OUT, 0, 511), VIRTIO_BLK_S_IOERR);
	ck_assert_int_eq(blk_io(VIRTIO_BLK_T_IN, 0, 513), VIRTIO_BLK_S_IOERR);
	blk_offer(1, VIRTIO_BLK_T_OUT, end - 1, split, 2);
	blk_run();
	ck_assert_int_eq(blk_status(1), VIRTIO_BLK_S_IOERR);
	ck_assert_uint_eq(disk.stats.account.op[BD_OP_WRITE].invalid, 3);
	ck_assert_uint_eq(bd_size(disk.node), DISK_SIZE);
}
END_TEST

/* Rules 3, 5 and 6: what cannot be answered is given back with length 0; the next one works. */
START_TEST(unanswerable)
{
	const struct part cases[][2] = {
		{ { HEADER, 16, 0 }, { BUFFER, 512, 0 } },                   /* no status */
		{ { HEADER, 16, 0 }, { HOLE_GPA, 1, VRING_DESC_F_WRITE } },  /* no memory */
		{ { STATUS, 1, VRING_DESC_F_WRITE }, { HEADER, 16, 0 } },    /* wrong order */
		{ { HEADER, 16, 0 }, { RAM_BASE + RAM_SIZE - 1, 2, VRING_DESC_F_WRITE } },
	};
	const struct part brief[] = { { HEADER, 15, 0 }, { STATUS, 1, VRING_DESC_F_WRITE } };
	uint32_t used;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		driver_offer(&driver, driver_chain(&driver, cases[i], 2));
		ck_assert_uint_eq(blk_run(), 0);
	}
	driver_offer(&driver, driver_chain(&driver, brief, 2));
	ck_assert_uint_eq(blk_run(), 1);
	ck_assert_int_eq(blk_status(0), VIRTIO_BLK_S_IOERR);
	ck_assert_int_eq(blk_io_at(VIRTIO_BLK_T_IN, 0, HOLE_GPA, 512, &used), VIRTIO_BLK_S_IOERR);
	ck_assert_uint_eq(used, 1);
	ck_assert_int_eq(blk_io(99, 0, 0), VIRTIO_BLK_S_UNSUPP);
	ck_assert_int_eq(blk_io(VIRTIO_BLK_T_IN, 0, 512), VIRTIO_BLK_S_OK);
	ck_assert(!(virtio_status(&blk.dev) & VIRTIO_CONFIG_S_NEEDS_RESET));
}
END_TEST

static int ranges(uint32_t type, const struct virtio_blk_discard_write_zeroes *list, unsigned nr)
{
	memcpy(ram(BUFFER), list, nr * sizeof(*list));
	return blk_io(type, 0, nr * 16);
}

/* Rule 8. */
START_TEST(discard_and_zeroes)
{
	const struct virtio_blk_discard_write_zeroes two[] = { { 2, 0, 0 }, { 8, 4, 0 } };
	const struct virtio_blk_discard_write_zeroes unmap = { 128, 128, 1 };
	const struct virtio_blk_discard_write_zeroes odd = { 0, 8, 2 };
	const struct virtio_blk_discard_write_zeroes behind = { DISK_SIZE / 512 - 1, 2, 0 };
	const struct virtio_blk_discard_write_zeroes huge = { UINT64_MAX - 1, 8, 0 };
	static struct virtio_blk_discard_write_zeroes many[BLK_MAX_RANGES + 1];

	memset(ram(BUFFER + 0x10000), 0x33, 1 << 17);
	for (uint64_t i = 0; i < 2; i++) {
		uint32_t used;

		ck_assert_int_eq(blk_io_at(VIRTIO_BLK_T_OUT, i * 256, BUFFER + 0x10000, 1 << 17,
					&used), VIRTIO_BLK_S_OK);
	}
	ck_assert_int_eq(ranges(VIRTIO_BLK_T_WRITE_ZEROES, two, 2), VIRTIO_BLK_S_OK);
	ck_assert_int_eq(ranges(VIRTIO_BLK_T_WRITE_ZEROES, &unmap, 1), VIRTIO_BLK_S_OK);
	ck_assert_int_eq(blk_io(VIRTIO_BLK_T_IN, 7, 512 * 6), VIRTIO_BLK_S_OK);
	ck_assert(all_bytes(ram(BUFFER), 0x33, 512));
	ck_assert(all_bytes(ram(BUFFER + 512), 0, 4 * 512));
	ck_assert(all_bytes(ram(BUFFER + 5 * 512), 0x33, 512));
	ck_assert_int_eq(blk_io(VIRTIO_BLK_T_IN, 127, 512 * 130), VIRTIO_BLK_S_OK);
	ck_assert(all_bytes(ram(BUFFER), 0x33, 512));
	ck_assert(all_bytes(ram(BUFFER + 512), 0, 128 * 512));
	ck_assert(all_bytes(ram(BUFFER + 129 * 512), 0x33, 512));

	ck_assert_int_eq(ranges(VIRTIO_BLK_T_DISCARD, &unmap, 1), VIRTIO_BLK_S_UNSUPP);
	ck_assert_int_eq(ranges(VIRTIO_BLK_T_WRITE_ZEROES, &odd, 1), VIRTIO_BLK_S_UNSUPP);
	ck_assert_int_eq(ranges(VIRTIO_BLK_T_DISCARD, &behind, 1), VIRTIO_BLK_S_IOERR);
	ck_assert_int_eq(ranges(VIRTIO_BLK_T_WRITE_ZEROES, &huge, 1), VIRTIO_BLK_S_IOERR);
	ck_assert_int_eq(ranges(VIRTIO_BLK_T_DISCARD, two, 0), VIRTIO_BLK_S_IOERR);
	ck_assert_int_eq(ranges(VIRTIO_BLK_T_DISCARD, many, BLK_MAX_RANGES + 1),
			 VIRTIO_BLK_S_IOERR);
	/* A discard smaller than a cluster leaves its neighbours alone. */
	ck_assert_int_eq(ranges(VIRTIO_BLK_T_DISCARD, &two[1], 1), VIRTIO_BLK_S_OK);
	ck_assert_int_eq(blk_io(VIRTIO_BLK_T_IN, 7, 512), VIRTIO_BLK_S_OK);
	ck_assert(all_bytes(ram(BUFFER), 0x33, 512));
}
END_TEST

/* Rule 9, with F_RO not acknowledged. */
START_TEST(read_only)
{
	const struct virtio_blk_discard_write_zeroes range = { 0, 8, 0 };
	uint32_t used;

	blk_unplug();
	disk.read_only = true;
	blk_plug(0);
	ck_assert(blk.dev.offered >> VIRTIO_BLK_F_RO & 1);
	ck_assert(!(blk.dev.offered >> VIRTIO_BLK_F_DISCARD & 1));
	blk_negotiate(1ull << VIRTIO_BLK_F_FLUSH);
	ck_assert_int_eq(blk_io(VIRTIO_BLK_T_OUT, 0, 512), VIRTIO_BLK_S_IOERR);
	ck_assert_int_eq(ranges(VIRTIO_BLK_T_DISCARD, &range, 1), VIRTIO_BLK_S_IOERR);
	ck_assert_int_eq(ranges(VIRTIO_BLK_T_WRITE_ZEROES, &range, 1), VIRTIO_BLK_S_IOERR);
	ck_assert_int_eq(blk_io(VIRTIO_BLK_T_FLUSH, 0, 0), VIRTIO_BLK_S_OK);
	ck_assert_int_eq(blk_io(VIRTIO_BLK_T_IN, 0, 512), VIRTIO_BLK_S_OK);
	ck_assert_int_eq(blk_io_at(VIRTIO_BLK_T_GET_ID, 0, BUFFER, 20, &used), VIRTIO_BLK_S_OK);
	ck_assert_uint_eq(used, 21);
	ck_assert_str_eq(ram(BUFFER), "0123456789");
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("virtio-blk");

	tcase_add_checked_fixture(tc, blk_set_up, blk_tear_down);
	tcase_add_test(tc, writes_and_reads);
	tcase_add_test(tc, any_layout);
	tcase_add_test(tc, range_checks);
	tcase_add_test(tc, unanswerable);
	tcase_add_test(tc, discard_and_zeroes);
	tcase_add_test(tc, read_only);
	return suite_run("virtio-blk", tc, CK_FORK);
}
