/* SPDX-License-Identifier: MIT */
/* Requests on encrypted images: parts of sectors side by side, and whose memory is touched. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "blockdev/base/cleanup.h"
#include "blockdev/include/create.h"
#include "blockdev/include/secret.h"
#include "tests/unit/image_fixture.h"
#include "tests/unit/suite.h"

enum { LARGE = (5 << 20) + 777, PIECE = 100, PIECES = 200 };

static const struct kind {
	const char *format, *create, *open;
} kinds[] = {
	{ "luks", "key-secret=s,iter-time=1", "key-secret=s" },
	{ "qcow2", "encrypt.format=luks,encrypt.key-secret=s,encrypt.iter-time=1,cluster_size=4k",
	  "encrypt.key-secret=s" },
	{ "qcow2", "encrypt.format=luks,encrypt.key-secret=s,encrypt.iter-time=1,cluster_size=2M",
	  "encrypt.key-secret=s" },
	{ "qcow2", "encryption=on,encrypt.key-secret=s,cluster_size=512",
	  "encrypt.key-secret=s" },
};

static struct bd_node *open_new(const struct kind *kind)
{
	struct bd_create_args args = { .filename = image_path("disk"), .format = kind->format };
	struct bd_open_args how = { .filename = args.filename, .format = kind->format,
				    .flags = BD_O_RDWR };
	__cleanup(opts) struct bd_opts *opts = bd_opts_new();
	struct bd_error err = { 0 };
	struct bd_node *node;

	args.opts = bd_opts_new();
	ck_assert_int_eq(bd_opts_parse(args.opts, kind->create, NULL, &err), 0);
	ck_assert_int_eq(bd_opts_set(args.opts, "size", "8388608"), 0);
	if (bd_create(queue, &args, &err) < 0)
		ck_abort_msg("%s", err.msg);
	bd_opts_free(args.opts);
	ck_assert_int_eq(bd_opts_parse(opts, kind->open, NULL, &err), 0);
	how.opts = opts;
	if (bd_open(queue, &how, &node, &err) < 0)
		ck_abort_msg("%s", err.msg);
	return node;
}

static void done(struct bd_request *req)
{
	unsigned *left = req->user;

	ck_assert_int_eq(req->res, 0);
	--*left;
	bd_request_put(req);
}

static void start_piece(struct bd_node *node, unsigned nr, uint8_t *buf, unsigned *left)
{
	struct bd_request *req;

	while (!(req = bd_request_get(queue)))
		bd_queue_poll(queue, true);
	req->node = node;
	req->off = (uint64_t)nr * PIECE;
	req->len = PIECE;
	req->one = (struct iovec){ buf, PIECE };
	req->iov = &req->one;
	req->niov = 1;
	req->flags = 0;
	req->done = done;
	req->user = left;
	bd_write(req);
}

/* Five of them share a sector: none may undo another. */
START_TEST(neighbours)
{
	struct bd_node *node = open_new(&kinds[_i]);
	static uint8_t bufs[PIECES][PIECE], back[PIECES * PIECE];
	unsigned left = PIECES;

	for (unsigned i = 0; i < PIECES; i++) {
		unsigned nr = i * 7 % PIECES;

		memset(bufs[nr], (int)nr + 1, PIECE);
		start_piece(node, nr, bufs[nr], &left);
	}
	while (left)
		bd_queue_poll(queue, true);
	ck_assert_int_eq(bd_pread(node, 0, back, sizeof(back)), 0);
	ck_assert_mem_eq(back, bufs, sizeof(back));
	image_close(node);
}
END_TEST

/* What a guest writes is not changed in its memory; what it reads goes nowhere else. */
START_TEST(guest_memory)
{
	struct bd_node *node = open_new(&kinds[_i]);
	uint8_t *data = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);
	uint8_t *back = malloc(LARGE + 2);

	for (size_t i = 0; i < LARGE; i++)
		data[i] = (uint8_t)(i * 31 >> 3);
	ck_assert_int_eq(mprotect(data, LARGE, PROT_READ), 0);
	ck_assert_int_eq(bd_pwrite(node, 1234567, data, LARGE), 0);
	back[0] = back[LARGE + 1] = 0x5a;
	ck_assert_int_eq(bd_pread(node, 1234567, back + 1, LARGE), 0);
	ck_assert_mem_eq(data, back + 1, LARGE);
	ck_assert_int_eq(bd_pread(node, 1234567 + 1000, back + 1, 1), 0);
	ck_assert_uint_eq(back[1], data[1000]);
	ck_assert_uint_eq(back[2], data[1]);
	ck_assert_uint_eq(back[0] & back[LARGE + 1], 0x5a);
	munmap(data, LARGE);
	free(back);
	image_close(node);
}
END_TEST

static bool in_file(const char *text)
{
	FILE *file = fopen(image_path("disk"), "rb");
	size_t len = 0, room = 32 << 20;
	char *bytes = malloc(room);
	bool found;

	ck_assert_ptr_nonnull(file);
	len = fread(bytes, 1, room, file);
	fclose(file);
	found = memmem(bytes, len, text, strlen(text)) != NULL;
	free(bytes);
	return found;
}

START_TEST(no_plain_text)
{
	static const char text[] = "nobody but the guest shall read this";
	struct bd_node *node = open_new(&kinds[_i]);

	ck_assert_int_eq(bd_pwrite(node, 4000, text, sizeof(text)), 0);
	ck_assert_int_eq(bd_pwrite(node, 70000, text, sizeof(text)), 0);
	ck_assert_int_eq(bd_pwrite_zeroes(node, 4005, 3, 0), 0);
	ck_assert(bd_encrypted(node));
	image_close(node);
	ck_assert(!in_file(text + 10));
	ck_assert(!in_file("pass"));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("encrypted");
	int nr = (int)(sizeof(kinds) / sizeof(kinds[0]));

	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, image_key_set_up, image_key_tear_down);
	tcase_add_loop_test(tcase, neighbours, 0, nr);
	tcase_add_loop_test(tcase, guest_memory, 0, nr);
	tcase_add_loop_test(tcase, no_plain_text, 0, nr);
	return suite_run("encrypted", tcase, CK_NOFORK);
}
