/* SPDX-License-Identifier: MIT */
/* Pools of threads: every item is run once; those of one lane one at a time and in order. */
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "blockdev/base/list.h"
#include "blockdev/io/pool.h"
#include "tests/unit/suite.h"

enum { NR_LANES = 2, NR_ITEMS = 400, NR_THREADS = 6 };

struct lane {
	int running; /* items at this moment */
	int most;    /* of them at any moment */
	int last;    /* number of the item run last */
	bool disordered;
};

struct item {
	struct item *next;
	struct lane *lane; /* NULL: none */
	int nr, runs;
};

static void run(void *arg)
{
	struct item *item = arg;
	struct lane *lane = item->lane;
	int now;

	item->runs++;
	if (!lane)
		return;
	now = __atomic_add_fetch(&lane->running, 1, __ATOMIC_SEQ_CST);
	if (now > lane->most)
		lane->most = now;
	lane->disordered |= item->nr < lane->last;
	lane->last = item->nr;
	if (item->nr % 8 == 0)
		usleep(200);
	__atomic_sub_fetch(&lane->running, 1, __ATOMIC_SEQ_CST);
}

static const void *lane_of(const void *arg)
{
	return ((const struct item *)arg)->lane;
}

static const struct io_pool_kind kind = {
	.next_at = offsetof(struct item, next),
	.run = run,
	.lane = lane_of,
};

static unsigned collect(struct io_pool *pool)
{
	struct pollfd pfd = { .fd = io_pool_fd(pool), .events = POLLIN };
	unsigned nr = 0;

	ck_assert_int_eq(poll(&pfd, 1, 60000), 1);
	for (struct item *item = io_pool_collect(pool); item; item = item->next)
		nr++;
	return nr;
}

START_TEST(one_at_a_time)
{
	struct lane lanes[NR_LANES] = { 0 };
	struct item *items = calloc(NR_ITEMS, sizeof(*items));
	struct io_pool *pool;
	unsigned done = 0;
	int wrong = 0;

	ck_assert_int_eq(io_pool_new(&kind, NR_THREADS, &pool), 0);
	for (int i = 0; i < NR_ITEMS; i++) {
		items[i].nr = i;
		items[i].lane = i % 3 < NR_LANES ? &lanes[i % 3] : NULL;
		io_pool_submit(pool, &items[i]);
	}
	while (done < NR_ITEMS)
		done += collect(pool);
	io_pool_free(pool);
	for (int i = 0; i < NR_ITEMS; i++)
		wrong += items[i].runs != 1;
	ck_assert_int_eq(wrong, 0);
	for (int i = 0; i < NR_LANES; i++) {
		ck_assert_int_eq(lanes[i].most, 1);
		ck_assert(!lanes[i].disordered);
	}
	free(items);
}
END_TEST

/* An item that blocks its lane keeps no other item back. */
static int gate[2];

static void run_gated(void *arg)
{
	struct item *item = arg;
	char byte;

	if (item->nr == 0 && read(gate[0], &byte, 1) != 1)
		abort();
	item->runs++;
}

START_TEST(others_pass)
{
	struct io_pool_kind gated = { offsetof(struct item, next), run_gated, lane_of };
	struct lane lane = { 0 };
	struct item items[] = { { .nr = 0, .lane = &lane }, { .nr = 1, .lane = &lane },
				{ .nr = 2 }, { .nr = 3 } };
	struct io_pool *pool;
	unsigned done = 0;

	ck_assert_int_eq(pipe(gate), 0);
	ck_assert_int_eq(io_pool_new(&gated, 2, &pool), 0);
	for (int i = 0; i < 4; i++)
		io_pool_submit(pool, &items[i]);
	while (done < 2)
		done += collect(pool);
	ck_assert_int_eq(items[2].runs + items[3].runs, 2);
	ck_assert_int_eq(write(gate[1], "", 1), 1);
	while (done < 4)
		done += collect(pool);
	ck_assert_int_eq(items[0].runs + items[1].runs, 2);
	io_pool_free(pool);
	close(gate[0]);
	close(gate[1]);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("pool");

	tcase_add_test(tcase, one_at_a_time);
	tcase_add_test(tcase, others_pass);
	return suite_run("pool", tcase, CK_NOFORK);
}
