/* SPDX-License-Identifier: MIT */
/*
 * A guest changes its memory while a write of it is under way.  What is compressed or encrypted is
 * a copy taken once: what reads back is made of what the memory held, and the memory stays the
 * guest's.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "blockdev/base/cleanup.h"
#include "blockdev/include/secret.h"
#include "tests/unit/image_fixture.h"
#include "tests/unit/suite.h"

enum { SIZE = 2 << 20, CLUSTER = 65536, WRITES = SIZE / CLUSTER, OLD = 0x11, NEW = 0x2e };
enum { COMPRESSED = 2 }; /* so many kinds, the first ones */

static const struct kind {
	const char *create, *open;
	void (*write)(struct bd_request *req);
} kinds[] = {
	{ "compression_type=zlib", "", bd_write_compressed },
	{ "compression_type=zstd", "", bd_write_compressed },
	{ "encrypt.format=luks,encrypt.key-secret=s,encrypt.iter-time=1", "encrypt.key-secret=s",
	  bd_write },
	{ "encryption=on,encrypt.key-secret=s", "encrypt.key-secret=s", bd_write },
};

static uint8_t memory[CLUSTER], found[CLUSTER];
static atomic_bool over;

static void done(struct bd_request *req)
{
	*(int *)req->user = req->res;
}

/* Start the write of the memory to cluster @idx; *@res is 1 until it is done. */
static struct bd_request *start(const struct kind *kind, struct bd_node *node, unsigned idx,
				int *res)
{
	struct bd_request *req = bd_request_get(queue);

	ck_assert_ptr_nonnull(req);
	*res = 1;
	req->node = node;
	req->off = (uint64_t)idx * CLUSTER;
	req->len = CLUSTER;
	req->one = (struct iovec){memory, CLUSTER};
	req->iov = &req->one;
	req->niov = 1;
	req->flags = 0;
	req->done = done;
	req->user = res;
	kind->write(req);
	return req;
}

static void finish(struct bd_request *req, const int *res)
{
	while (*res == 1)
		ck_assert_int_ge(bd_queue_poll(queue, true), 0);
	ck_assert_int_eq(*res, 0);
	bd_request_put(req);
}

/* How many leading bytes are @old or @new; all, if nothing went wrong. */
static unsigned span(const uint8_t *bytes, uint8_t old, uint8_t new)
{
	unsigned n = 0;

	while (n < CLUSTER && (bytes[n] == old || bytes[n] == new))
		n++;
	return n;
}

/* A compressed write takes its copy when it is submitted. */
START_TEST(changed_after_submission)
{
	const struct kind *kind = &kinds[_i];
	struct bd_request *req;
	struct bd_node *node;
	int res;

	image_create("disk", kind->create, SIZE, NULL);
	node = image_open("disk", kind->open, BD_O_RDWR);
	memset(memory, OLD, CLUSTER);
	req = start(kind, node, 0, &res);
	memset(memory, NEW, CLUSTER);
	finish(req, &res);
	ck_assert_uint_eq(span(memory, NEW, NEW), CLUSTER);
	ck_assert_int_eq(bd_pread(node, 0, found, CLUSTER), 0);
	ck_assert_uint_eq(span(found, OLD, OLD), CLUSTER);
	image_close(node);
	image_check("disk");
}
END_TEST

/* Bytes of the memory change all the time, one by one and in a pattern that compresses badly. */
static void *guest(void *arg)
{
	uint32_t random = 1;

	(void)arg;
	while (!atomic_load_explicit(&over, memory_order_relaxed)) {
		random = random * 1664525 + 1013904223;
		__atomic_store_n(&memory[random >> 16], random & 1 << 15 ? OLD : NEW,
				 __ATOMIC_RELAXED);
	}
	return NULL;
}

START_TEST(changed_all_the_time)
{
	const struct kind *kind = &kinds[_i];
	struct bd_node *node;
	pthread_t thread;
	int res;

	image_create("disk", kind->create, SIZE, NULL);
	node = image_open("disk", kind->open, BD_O_RDWR);
	memset(memory, OLD, CLUSTER);
	atomic_store(&over, false);
	ck_assert_int_eq(pthread_create(&thread, NULL, guest, NULL), 0);
	for (unsigned i = 0; i < WRITES; i++) {
		struct bd_request *req = start(kind, node, i, &res);

		finish(req, &res);
	}
	atomic_store(&over, true);
	pthread_join(thread, NULL);
	ck_assert_uint_eq(span(memory, OLD, NEW), CLUSTER);
	for (unsigned i = 0; i < WRITES; i++) {
		ck_assert_int_eq(bd_pread(node, (uint64_t)i * CLUSTER, found, CLUSTER), 0);
		ck_assert_uint_eq(span(found, OLD, NEW), CLUSTER);
	}
	image_close(node);
	if (!kind->open[0]) /* image_check() has no key */
		image_check("disk");
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("private copy");
	int nr = sizeof(kinds) / sizeof(kinds[0]);

	tcase_add_checked_fixture(tc, image_key_set_up, image_key_tear_down);
	tcase_add_loop_test(tc, changed_after_submission, 0, COMPRESSED);
	/* The guest's stores race with the engine's copying on purpose: TSan would say so. */
	if (!UNDER_TSAN)
		tcase_add_loop_test(tc, changed_all_the_time, 0, nr);
	return suite_run("private copy", tc, CK_FORK);
}
