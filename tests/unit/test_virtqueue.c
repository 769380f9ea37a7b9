/* SPDX-License-Identifier: MIT */
/* The device's side of a virtqueue against drivers that keep the rules and drivers that do not. */
#include <errno.h>
#include <string.h>

#include "tests/unit/suite.h"
#include "tests/unit/virtio_fixture.h"

static struct virtqueue vq;
static struct driver driver;
static struct vq_chain chain;

static void set_up(void)
{
	ram_set_up();
	vq = (struct virtqueue){ .mem = &memory, .max_size = VQ_MAX_SIZE };
	chain = (struct vq_chain){0};
}

static void tear_down(void)
{
	vq_chain_clear(&chain);
	ram_tear_down();
}

static void begin(uint16_t size, bool event_idx)
{
	driver_init(&driver, &vq, size);
	ck_assert_int_eq(virtqueue_start(&vq, event_idx), 0);
}

START_TEST(takes_and_gives_back)
{
	const struct part parts[] = {
		{ DATA_GPA, 16, 0 }, { DATA_GPA + 0x1000, 512, 0 },
		{ DATA_GPA + 0x2000, 100, VRING_DESC_F_WRITE }, { DATA_GPA + 0x3000, 1,
								  VRING_DESC_F_WRITE },
	};
	uint32_t head, len;

	begin(8, false);
	ck_assert_int_eq(virtqueue_pop(&vq, &chain), 0);
	/* Three times round the ring. */
	for (int i = 0; i < 24; i++) {
		driver_offer(&driver, driver_chain(&driver, parts, 4));
		ck_assert_int_eq(virtqueue_pop(&vq, &chain), 1);
		ck_assert(!chain.malformed && !chain.unmapped);
		ck_assert_uint_eq(chain.nr_out, 2);
		ck_assert_uint_eq(chain.nr_in, 2);
		ck_assert_uint_eq(chain.out_len, 528);
		ck_assert_uint_eq(chain.in_len, 101);
		ck_assert_ptr_eq(chain.iov[3].iov_base, ram(DATA_GPA + 0x3000));
		ck_assert_int_eq(virtqueue_pop(&vq, &chain), 0);
		virtqueue_push(&vq, chain.head, (uint32_t)i);
		ck_assert(!driver_used(&driver, &head, &len));
		ck_assert(virtqueue_publish(&vq));
		ck_assert(driver_used(&driver, &head, &len));
		ck_assert_uint_eq(head, chain.head);
		ck_assert_uint_eq(len, (uint32_t)i);
		ck_assert(!virtqueue_publish(&vq));
	}
	ck_assert_uint_eq(vq.in_flight, 0);
}
END_TEST

START_TEST(start_checks_settings)
{
	static const struct {
		uint16_t size;
		uint64_t desc, avail, used;
	} bad[] = {
		{ 0, DESC_GPA, AVAIL_GPA, USED_GPA },
		{ 3, DESC_GPA, AVAIL_GPA, USED_GPA },
		{ 2048, DESC_GPA, AVAIL_GPA, USED_GPA },
		{ 8, DESC_GPA + 8, AVAIL_GPA, USED_GPA },
		{ 8, DESC_GPA, AVAIL_GPA + 1, USED_GPA },
		{ 8, DESC_GPA, AVAIL_GPA, USED_GPA + 2 },
		{ 8, HOLE_GPA, AVAIL_GPA, USED_GPA },
		{ 8, DESC_GPA, RAM_BASE + RAM_SIZE - 16, USED_GPA },
		{ 8, DESC_GPA, AVAIL_GPA, UINT64_MAX - 3 },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		virtqueue_reset(&vq);
		vq.size = bad[i].size;
		vq.desc_gpa = bad[i].desc;
		vq.avail_gpa = bad[i].avail;
		vq.used_gpa = bad[i].used;
		ck_assert_msg(virtqueue_start(&vq, false) == -EINVAL, "case %zu", i);
	}
}
END_TEST

/* Rule 2: an index that runs away is no work list. */
START_TEST(runaway_index)
{
	begin(8, false);
	driver_avail()->idx = 8;
	ck_assert_int_eq(virtqueue_pop(&vq, &chain), 1);
	begin(8, false);
	driver_avail()->idx = 300;
	ck_assert_int_eq(virtqueue_pop(&vq, &chain), -EPROTO);
	begin(8, false);
	driver_avail()->idx = 9;
	ck_assert_int_eq(virtqueue_pop(&vq, &chain), -EPROTO);
}
END_TEST

/* Rule 4, and a head that is none. */
START_TEST(bad_heads)
{
	const struct part part = { DATA_GPA, 16, 0 };
	uint16_t head;

	begin(8, false);
	head = driver_chain(&driver, &part, 1);
	driver_offer(&driver, head);
	driver_offer(&driver, head);
	ck_assert_int_eq(virtqueue_pop(&vq, &chain), 1);
	ck_assert_int_eq(virtqueue_pop(&vq, &chain), -EPROTO);
	virtqueue_push(&vq, head, 0);
	/* Given back: the same head is a new request. */
	ck_assert_int_eq(virtqueue_pop(&vq, &chain), 1);
	begin(8, false);
	driver_offer(&driver, 8);
	ck_assert_int_eq(virtqueue_pop(&vq, &chain), -EPROTO);
}
END_TEST

/* Rule 3: a chain that is none is taken once and can be given back; the next one is read. */
static void malformed_then_good(uint16_t head)
{
	const struct part part = { DATA_GPA, 16, 0 };

	driver_offer(&driver, head);
	ck_assert_int_eq(virtqueue_pop(&vq, &chain), 1);
	ck_assert(chain.malformed);
	virtqueue_push(&vq, chain.head, 0);
	driver.next_desc = 6;
	driver_offer(&driver, driver_chain(&driver, &part, 1));
	ck_assert_int_eq(virtqueue_pop(&vq, &chain), 1);
	ck_assert(!chain.malformed);
	ck_assert_uint_eq(chain.out_len, 16);
}

START_TEST(circles_and_ends)
{
	const struct part order[] = { { DATA_GPA, 1, VRING_DESC_F_WRITE }, { DATA_GPA, 16, 0 } };
	const struct part parts[] = { { DATA_GPA, 16, 0 }, { DATA_GPA, 16, 0 } };
	uint16_t head;

	begin(8, false);
	head = driver_chain(&driver, parts, 2);
	driver_desc(1)->flags = VRING_DESC_F_NEXT;
	driver_desc(1)->next = 0;
	malformed_then_good(head);
	begin(8, false);
	head = driver_chain(&driver, parts, 2);
	driver_desc(0)->next = 8;
	malformed_then_good(head);
	/* Rule 5: readable behind writable. */
	begin(8, false);
	malformed_then_good(driver_chain(&driver, order, 2));
}
END_TEST

static uint16_t indirect(uint64_t table, uint32_t len, uint16_t flags)
{
	const struct part part = { table, len, VRING_DESC_F_INDIRECT | flags };

	begin(8, false);
	return driver_chain(&driver, &part, 1);
}

START_TEST(indirect_tables)
{
	/* Any alignment. */
	const uint64_t gpa = DATA_GPA + 5;
	const struct vring_desc table[] = {
		{ DATA_GPA + 0x100, 16, VRING_DESC_F_NEXT, 1 },
		{ DATA_GPA + 0x200, 7, VRING_DESC_F_WRITE, 0 },
	};
	struct vring_desc nested = { DATA_GPA, 32, VRING_DESC_F_INDIRECT, 0 };

	memcpy(ram(gpa), table, sizeof(table));
	driver_offer(&driver, indirect(gpa, 32, 0));
	ck_assert_int_eq(virtqueue_pop(&vq, &chain), 1);
	ck_assert(!chain.malformed);
	ck_assert_uint_eq(chain.out_len, 16);
	ck_assert_uint_eq(chain.in_len, 7);

	malformed_then_good(indirect(gpa, 0, 0));
	malformed_then_good(indirect(gpa, 24, 0));
	malformed_then_good(indirect(gpa, 16, 0)); /* next is outside */
	malformed_then_good(indirect(gpa, (VQ_MAX_CHAIN + 1) * 16, 0));
	malformed_then_good(indirect(HOLE_GPA, 32, 0));
	malformed_then_good(indirect(gpa, 32, VRING_DESC_F_NEXT));
	memcpy(ram(gpa), &nested, sizeof(nested));
	malformed_then_good(indirect(gpa, 32, 0));
}
END_TEST

/* Longer than the ring, through an indirect table. */
START_TEST(long_chain)
{
	struct vring_desc *table = ram(DATA_GPA);

	for (int i = 0; i < VQ_MAX_CHAIN; i++)
		table[i] = (struct vring_desc){ DATA_GPA + 0x100000, 1,
						i + 1 < VQ_MAX_CHAIN ? VRING_DESC_F_NEXT : 0,
						(uint16_t)(i + 1) };
	driver_offer(&driver, indirect(DATA_GPA, VQ_MAX_CHAIN * 16, 0));
	ck_assert_int_eq(virtqueue_pop(&vq, &chain), 1);
	ck_assert(!chain.malformed);
	ck_assert_uint_eq(chain.nr_out, VQ_MAX_CHAIN);
	ck_assert_uint_eq(chain.out_len, VQ_MAX_CHAIN);
}
END_TEST

START_TEST(addresses)
{
	static const struct part bad[] = {
		{ HOLE_GPA, 16, 0 }, { RAM_BASE + RAM_SIZE - 8, 16, 0 }, { UINT64_MAX - 3, 16, 0 },
		{ RAM_BASE, UINT32_MAX, 0 }, { RAM_BASE - 1, 2, 0 },
	};
	const struct part empty[] = { { HOLE_GPA, 0, 0 }, { DATA_GPA, 16, 0 } };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		begin(8, false);
		driver_offer(&driver, driver_chain(&driver, &bad[i], 1));
		ck_assert_int_eq(virtqueue_pop(&vq, &chain), 1);
		ck_assert(chain.unmapped);
		ck_assert_ptr_null(chain.iov[0].iov_base);
	}
	/* An empty descriptor names nothing. */
	begin(8, false);
	driver_offer(&driver, driver_chain(&driver, empty, 2));
	ck_assert_int_eq(virtqueue_pop(&vq, &chain), 1);
	ck_assert(!chain.unmapped);
	ck_assert_uint_eq(chain.nr_out, 1);
}
END_TEST

/* Rule 1: what was taken does not follow the guest's later changes. */
START_TEST(copied_once)
{
	const struct part part = { DATA_GPA, 16, 0 };
	uint16_t head;

	begin(8, false);
	head = driver_chain(&driver, &part, 1);
	driver_offer(&driver, head);
	ck_assert_int_eq(virtqueue_pop(&vq, &chain), 1);
	driver_desc(head)->addr = HOLE_GPA;
	driver_desc(head)->len = UINT32_MAX;
	ck_assert_ptr_eq(chain.iov[0].iov_base, ram(DATA_GPA));
	ck_assert_uint_eq(chain.iov[0].iov_len, 16);
}
END_TEST

static void finish_one(void)
{
	const struct part part = { DATA_GPA, 16, 0 };

	driver_offer(&driver, driver_chain(&driver, &part, 1));
	ck_assert_int_eq(virtqueue_pop(&vq, &chain), 1);
	virtqueue_push(&vq, chain.head, 0);
}

/* Rule 11: interrupts and kicks, by flags and by event indices. */
START_TEST(suppression_by_flags)
{
	begin(8, false);
	driver_avail()->flags = VRING_AVAIL_F_NO_INTERRUPT;
	finish_one();
	ck_assert(!virtqueue_publish(&vq));
	driver_avail()->flags = 0;
	finish_one();
	finish_one();
	ck_assert(virtqueue_publish(&vq));
	ck_assert(!virtqueue_want_kicks(&vq, false));
	ck_assert_uint_eq(driver_used_ring()->flags, VRING_USED_F_NO_NOTIFY);
	ck_assert(!virtqueue_want_kicks(&vq, true));
	ck_assert_uint_eq(driver_used_ring()->flags, 0);
	virtqueue_want_kicks(&vq, false);
	driver_offer(&driver, 0);
	ck_assert(virtqueue_want_kicks(&vq, true));
}
END_TEST

START_TEST(suppression_by_index)
{
	uint16_t *used_event, *avail_event;

	begin(8, true);
	used_event = &driver_avail()->ring[8];
	avail_event = (uint16_t *)&driver_used_ring()->ring[8];
	/* Wanted at the third: not before, once, not again. */
	*used_event = 2;
	for (int i = 0; i < 6; i++) {
		finish_one();
		ck_assert_int_eq(virtqueue_publish(&vq), i == 2);
	}
	/* A batch that passes the index is one interrupt. */
	*used_event = 7;
	finish_one();
	finish_one();
	finish_one();
	ck_assert(virtqueue_publish(&vq));
	ck_assert(!virtqueue_want_kicks(&vq, true));
	ck_assert_uint_eq(*avail_event, 9);
}
END_TEST

/* Indices are modulo 2^16. */
START_TEST(wrap_around)
{
	const struct part part = { DATA_GPA, 16, 0 };
	uint32_t head, len;

	begin(4, true);
	for (int i = 0; i < 70000; i++) {
		driver_avail()->ring[4] = driver.seen_used;
		driver_offer(&driver, driver_chain(&driver, &part, 1));
		ck_assert_int_eq(virtqueue_pop(&vq, &chain), 1);
		virtqueue_push(&vq, chain.head, 0);
		ck_assert(virtqueue_publish(&vq));
		ck_assert(driver_used(&driver, &head, &len));
	}
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("ring");

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, takes_and_gives_back);
	tcase_add_test(tc, start_checks_settings);
	tcase_add_test(tc, runaway_index);
	tcase_add_test(tc, bad_heads);
	tcase_add_test(tc, circles_and_ends);
	tcase_add_test(tc, indirect_tables);
	tcase_add_test(tc, long_chain);
	tcase_add_test(tc, addresses);
	tcase_add_test(tc, copied_once);
	tcase_add_test(tc, suppression_by_flags);
	tcase_add_test(tc, suppression_by_index);
	tcase_add_test(tc, wrap_around);
	return suite_run("virtqueue", tc, CK_FORK);
}
