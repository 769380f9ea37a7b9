/* SPDX-License-Identifier: MIT */
/*
 * Many requests in flight on one image: lanes own interleaved sectors of the same clusters, so
 * that allocation, copy-on-write, zeroing and write-back rounds meet each other all the time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/image_fixture.h"
#include "tests/unit/suite.h"

enum { LANES = 64, UNIT = 1024, ROUNDS = 100 };

static const struct setup {
	const char *options, *caches;
	uint64_t size;
	bool backing;
} setups[] = {
	{"cluster_size=65536", "", 8 << 20, false},
	{"cluster_size=65536", "l2-cache-size=128k,l2-cache-entry-size=64k", 8 << 20, true},
	{"cluster_size=4096", "l2-cache-size=8k,l2-cache-entry-size=4k", 16 << 20, false},
	{"cluster_size=512", "l2-cache-size=1k,l2-cache-entry-size=512", 4 << 20, true},
	{"cluster_size=65536,extended_l2=on", "", 8 << 20, true},
	{"cluster_size=16384,refcount_bits=1", "", 8 << 20, false},
	{"cluster_size=65536,lazy_refcounts=on", "", 8 << 20, false},
};

struct world {
	struct bd_queue *queue;    /* the engine under test */
	struct bd_node *node;
	uint8_t *model;            /* one byte per UNIT: its pattern */
	uint64_t units, state;
	unsigned in_flight;
};

struct lane {
	struct world *world;
	uint64_t unit;             /* in flight */
	uint8_t pattern;           /* expected when reading */
	bool reading;
	unsigned left, number;
	uint8_t buf[UNIT];
};

static uint64_t rnd(struct world *w)
{
	w->state ^= w->state << 13;
	w->state ^= w->state >> 7;
	w->state ^= w->state << 17;
	return w->state;
}

/* Asserts tell a parent process each time: one for a buffer, not one a byte. */
static bool all(const uint8_t *buf, uint8_t pattern)
{
	for (unsigned i = 0; i < UNIT; i++) {
		if (buf[i] != pattern)
			return false;
	}
	return true;
}

static void next(struct lane *lane);

static void done(struct bd_request *req)
{
	struct lane *lane = req->user;

	if (req->res < 0)
		ck_abort_msg("%s", strerror(-req->res));
	lane->world->in_flight--;
	if (lane->reading) {
		if (!all(lane->buf, lane->pattern))
			ck_abort_msg("unit %llu is not all %#x", (unsigned long long)lane->unit,
				     lane->pattern);
	}
	bd_request_put(req);
	next(lane);
}

static void next(struct lane *lane)
{
	struct world *w = lane->world;
	struct bd_request *req;
	uint64_t kind = rnd(w) % 16;

	if (!lane->left--)
		return;
	req = bd_request_get(w->queue);
	if (!req)
		ck_abort_msg("the pool is empty");
	lane->unit = rnd(w) % (w->units / LANES) * LANES + lane->number;
	lane->reading = kind < 5;
	req->node = w->node;
	req->off = lane->unit * UNIT;
	req->len = UNIT;
	req->one = (struct iovec){lane->buf, UNIT};
	req->iov = &req->one;
	req->niov = 1;
	req->done = done;
	req->user = lane;
	w->in_flight++;
	if (lane->reading) {
		lane->pattern = w->model[lane->unit];
		bd_read(req);
	} else if (kind == 5) {
		bd_flush(req);
	} else if (kind < 8) {
		w->model[lane->unit] = 0;
		req->flags = kind == 6 ? BD_REQ_UNMAP : 0;
		bd_write_zeroes(req);
	} else {
		w->model[lane->unit] = (uint8_t)(rnd(w) | 1);
		memset(lane->buf, w->model[lane->unit], UNIT);
		req->flags = kind == 8 ? BD_REQ_FUA : 0;
		bd_write(req);
	}
}

static void fill_base(const struct setup *setup)
{
	struct bd_node *node;
	uint8_t *buf = malloc(1 << 20);

	image_create("base", setup->options, setup->size, NULL);
	node = image_open("base", "", BD_O_RDWR);
	memset(buf, 0x5a, 1 << 20);
	for (uint64_t off = 0; off < setup->size; off += 1 << 20)
		ck_assert_int_eq(bd_pwrite(node, off, buf, 1 << 20), 0);
	image_close(node);
	free(buf);
}

static void verify(struct world *w)
{
	uint8_t buf[UNIT];

	for (uint64_t unit = 0; unit < w->units; unit++) {
		if (bd_pread(w->node, unit * UNIT, buf, UNIT) < 0)
			ck_abort_msg("unreadable");
		if (!all(buf, w->model[unit]))
			ck_abort_msg("unit %llu: %#x, not %#x", (unsigned long long)unit, buf[0],
				     w->model[unit]);
	}
}

static void play(struct world *w)
{
	static struct lane lanes[LANES];

	for (unsigned i = 0; i < LANES; i++) {
		lanes[i] = (struct lane){.world = w, .left = ROUNDS, .number = i};
		next(&lanes[i]);
	}
	while (w->in_flight) {
		if (bd_queue_poll(w->queue, true) < 0)
			ck_abort_msg("poll failed");
	}
}

static void run(const struct setup *setup)
{
	struct world w = {.queue = queue, .units = setup->size / UNIT,
			  .state = 88172645463325252u};

	if (setup->backing)
		fill_base(setup);
	image_create("top", setup->options, setup->size, setup->backing ? "base" : NULL);
	w.node = image_open("top", setup->caches, BD_O_RDWR | BD_O_UNMAP);
	w.model = malloc(w.units);
	memset(w.model, setup->backing ? 0x5a : 0, w.units);
	play(&w);
	verify(&w);
	image_close(w.node);
	image_check("top");
	w.node = image_open("top", "", 0);
	verify(&w);
	image_close(w.node);
	free(w.model);
}

START_TEST(default_engine)
{
	run(&setups[_i]);
}
END_TEST

START_TEST(threads)
{
	struct bd_error err = {0};

	bd_queue_free(queue);
	ck_assert_int_eq(bd_queue_new("threads", 64, &queue, &err), 0);
	run(&setups[_i]);
}
END_TEST

int main(void)
{
	const int nr = sizeof(setups) / sizeof(setups[0]);
	TCase *tcase = tcase_create("lanes");

	tcase_add_checked_fixture(tcase, image_set_up, image_tear_down);
	tcase_set_timeout(tcase, 240);
	tcase_add_loop_test(tcase, default_engine, 0, nr);
	tcase_add_loop_test(tcase, threads, 0, nr);
	return suite_run("concurrent", tcase, CK_FORK);
}
