/* SPDX-License-Identifier: MIT */
/* io/: every engine gives the same results for any request. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tests/unit/io_fixture.h"
#include "tests/unit/suite.h"

/* "" is the default engine; native takes only O_DIRECT files. */
static const struct {
	const char *name;
	unsigned flags;
} engines[] = {
	{ "", 0 }, { "io_uring", 0 }, { "threads", 0 }, { "sync", 0 }, { "mmap", 0 },
	{ "", BD_O_DIRECT }, { "io_uring", BD_O_DIRECT }, { "threads", BD_O_DIRECT },
	{ "native", BD_O_DIRECT }, { "sync", BD_O_DIRECT }, { "mmap", BD_O_DIRECT },
};

#define NR_ENGINES ((int)(sizeof(engines) / sizeof(engines[0])))

/* Instead of the default engine; false: not here. */
static bool use_engine(int i)
{
	struct io_ctx *new = new_ctx(engines[i].name, 8);

	if (!new)
		return false;
	io_ctx_free(ctx);
	ctx = new;
	return true;
}

/* --- engines ----------------------------------------------------------------------------- */

struct model {
	struct io_file *file;
	uint8_t *bytes, *buf;
	size_t len;
};

#define MODEL_LEN (3 * MIB)

static void model_step(struct model *m, unsigned long nr)
{
	unsigned off = (unsigned)rand() % (600 * KIB), ret;
	unsigned len = (unsigned)rand() % (nr % 10 ? 9000 : 1500 * KIB) + 1;
	int64_t length;

	switch (rand() % 6) {
	case 0:
		ck_assert_int_eq(io_pzero(m->file, off, len, rand() % 2 ? IO_UNMAP : 0), 0);
		memset(m->bytes + off, 0, len);
		break;
	case 1:
		ck_assert_int_eq(io_pflush(m->file), 0);
		break;
	case 2:
		length = io_length(m->file);
		ret = (unsigned)-io_pread(m->file, off, m->buf, len);
		ck_assert_uint_eq(ret, off + len > length ? EIO : 0);
		if (!ret)
			ck_assert_int_eq(memcmp(m->buf, m->bytes + off, len), 0);
		break;
	default:
		memset(m->buf, rand(), len);
		ck_assert_int_eq(io_pwrite(m->file, off, m->buf, len), 0);
		memcpy(m->bytes + off, m->buf, len);
	}
}

/* Random operations of any alignment, against a copy in memory. */
START_TEST(engine_model)
{
	struct model m = {0};
	int64_t length;

	if (!use_engine(_i))
		return;
	create(100000);
	m.file = open_ok(BD_O_RDWR | engines[_i].flags);
	m.bytes = calloc(1, MODEL_LEN);
	m.buf = malloc(MODEL_LEN);
	srand(1);
	for (unsigned long nr = 0; nr < 200; nr++)
		model_step(&m, nr);
	length = io_length(m.file);
	ck_assert_int_eq(io_pread(m.file, 0, m.buf, (size_t)length), 0);
	ck_assert_int_eq(memcmp(m.buf, m.bytes, (size_t)length), 0);
	ck_assert_uint_eq(io_ctx_pending(ctx), 0);
	io_close(m.file);
	free(m.bytes);
	free(m.buf);
}
END_TEST

struct many {
	struct io_op op;
	struct iovec iov;
	uint8_t buf[3000];
	int *left;
};

static void many_done(struct io_op *op)
{
	--*container_of(op, struct many, op)->left;
}

static void run_many(struct io_file *file, struct many *many, int nr, enum io_kind kind)
{
	int left = nr;

	for (int i = 0; i < nr; i++) {
		many[i].iov = (struct iovec){ many[i].buf, sizeof(many[i].buf) };
		many[i].op = (struct io_op){ .kind = kind, .file = file,
					     .off = (uint64_t)i * sizeof(many[i].buf),
					     .len = sizeof(many[i].buf), .iov = &many[i].iov,
					     .niov = 1, .done = many_done };
		many[i].left = &left;
		io_op_submit(&many[i].op);
	}
	while (left)
		ck_assert_int_gt(io_ctx_poll(ctx, true), 0);
	for (int i = 0; i < nr; i++)
		ck_assert_int_eq(many[i].op.res, 0);
}

/*
 * Far more than the engine's depth, side by side: with O_DIRECT neighbours share blocks, and no
 * read-modify-write may bring old bytes of a neighbour back.
 */
START_TEST(engine_many)
{
	enum { NR = 200 };
	struct many *many = calloc(NR, sizeof(*many));
	struct io_file *file;

	if (use_engine(_i)) {
		create(0);
		file = open_ok(BD_O_RDWR | engines[_i].flags);
		for (int i = 0; i < NR; i++)
			memset(many[i].buf, i + 1, sizeof(many[i].buf));
		run_many(file, many, NR, IO_WRITE);
		for (int i = 0; i < NR; i++)
			memset(many[i].buf, 0, sizeof(many[i].buf));
		run_many(file, many, NR, IO_READ);
		for (int i = 0; i < NR; i++) {
			uint8_t want[sizeof(many[i].buf)];

			memset(want, i + 1, sizeof(want));
			ck_assert_mem_eq(many[i].buf, want, sizeof(want));
		}
		io_close(file);
	}
	free(many);
}
END_TEST

static void flag_done(struct io_op *op)
{
	*(bool *)op->user = true;
}

static int run_op(struct io_op *op)
{
	bool finished = false;

	op->done = flag_done;
	op->user = &finished;
	io_op_submit(op);
	ck_assert(!finished);
	while (!finished)
		ck_assert_int_ge(io_ctx_poll(ctx, true), 0);
	return op->res;
}

/* Data behind the end read as zeros; metadata do not. */
START_TEST(engine_end_of_file)
{
	uint8_t buf[2000];
	struct iovec iov[2] = { { buf, 500 }, { buf + 500, 1500 } };
	struct io_op op = { .kind = IO_READ, .off = 300, .len = 2000, .iov = iov, .niov = 2 };
	struct io_file *file;
	int fd;

	if (!use_engine(_i))
		return;
	create(1000);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	memset(buf, 7, sizeof(buf));
	ck_assert_int_eq(pwrite(fd, buf, 1000, 0), 1000);
	close(fd);
	file = open_ok(BD_O_RDWR | engines[_i].flags);
	op.file = file;
	ck_assert_int_eq(run_op(&op), 0);
	for (int i = 0; i < 2000; i++)
		ck_assert_uint_eq(buf[i], i < 700 ? 7 : 0);
	op.flags = IO_META;
	ck_assert_int_eq(run_op(&op), -EIO);
	op.off = 1 << 20;
	ck_assert_int_eq(run_op(&op), -EIO);
	op.flags = 0;
	ck_assert_int_eq(run_op(&op), 0);
	ck_assert_uint_eq(buf[0], 0);
	op.off = INT64_MAX;
	ck_assert_int_eq(run_op(&op), -EINVAL);
	op.off = op.len = 0;
	ck_assert_int_eq(run_op(&op), 0);
	io_close(file);
}
END_TEST

/* More vectors than one call takes. */
START_TEST(engine_vectors)
{
	enum { NR = 3000 };
	uint8_t *buf = malloc(NR * 3), *back = malloc(NR * 3);
	struct iovec *iov = malloc(NR * sizeof(*iov));
	struct io_op op = { .kind = IO_WRITE, .off = 77, .len = NR * 3, .iov = iov, .niov = NR };
	struct io_file *file;

	if (use_engine(_i)) {
		create(0);
		file = open_ok(BD_O_RDWR | engines[_i].flags);
		for (int i = 0; i < NR; i++)
			iov[i] = (struct iovec){ buf + i * 3, 3 };
		for (int i = 0; i < NR * 3; i++)
			buf[i] = (uint8_t)(i * 7);
		op.file = file;
		op.flags = IO_FUA;
		ck_assert_int_eq(run_op(&op), 0);
		ck_assert_int_eq(io_pread(file, 77, back, NR * 3), 0);
		ck_assert_int_eq(memcmp(buf, back, NR * 3), 0);
		io_close(file);
	}
	free(buf);
	free(back);
	free(iov);
}
END_TEST

static void count_work(struct bd_work *work)
{
	++*(int *)work->queue;
}

static void slow_work(struct bd_work *work)
{
	(void)work;
	usleep(2000);
}

/* Work and descriptors wake any engine. */
START_TEST(engine_wakes)
{
	struct bd_work works[10];
	struct io_op poll = { .kind = IO_POLL };
	uint64_t one = 1;
	int done = 0, fd = eventfd(0, EFD_CLOEXEC);
	bool readable = false;
	struct io_file *file;

	if (use_engine(_i)) {
		create(4096);
		file = open_ok(BD_O_RDWR | engines[_i].flags);
		for (int i = 0; i < 10; i++) {
			works[i] = (struct bd_work){ .run = slow_work, .done = count_work,
						     .queue = &done };
			io_work_submit(ctx, &works[i]);
		}
		while (done < 10)
			ck_assert_int_gt(io_ctx_poll(ctx, true), 0);
		poll.file = file;
		poll.fd = fd;
		poll.done = flag_done;
		poll.user = &readable;
		io_op_submit(&poll);
		io_ctx_poll(ctx, false);
		ck_assert(!readable);
		ck_assert_int_eq(io_pflush(file), 0);
		ck_assert(!readable);
		ck_assert_int_eq(write(fd, &one, sizeof(one)), sizeof(one));
		while (!readable)
			ck_assert_int_ge(io_ctx_poll(ctx, true), 0);
		io_close(file);
	}
	close(fd);
}
END_TEST

/* A full device, whatever the engine. */
START_TEST(engine_full)
{
	struct bd_opts *opts = bd_opts_new();
	struct bd_error err = {0};
	struct io_file *file = NULL;
	uint8_t buf[512] = {0};

	if (use_engine(_i) && !(engines[_i].flags & BD_O_DIRECT)) {
		io_name_to_opts("/dev/full", opts, &err);
		ck_assert_int_eq(io_open(ctx, opts, BD_O_RDWR, &file, &err), 0);
		ck_assert_str_eq(file->ops->name, "host_device");
		ck_assert_int_eq(io_pwrite(file, 0, buf, sizeof(buf)), -ENOSPC);
		io_close(file);
	}
	bd_opts_free(opts);
}
END_TEST

START_TEST(engine_choice)
{
	struct bd_error err = {0};
	struct io_ctx *other;

	ck_assert_int_eq(io_ctx_new("nonsense", 1, &other, &err), -EINVAL);
	ck_assert_ptr_null(other);
	ck_assert_int_eq(io_ctx_new("null", 4, &other, &err), 0);
	ck_assert_str_eq(io_ctx_engine_name(other), "null");
	io_ctx_free(other);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("io");

	tcase_add_checked_fixture(tcase, io_set_up, io_tear_down);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, engine_model, 0, NR_ENGINES);
	tcase_add_loop_test(tcase, engine_many, 0, NR_ENGINES);
	tcase_add_loop_test(tcase, engine_end_of_file, 0, NR_ENGINES);
	tcase_add_loop_test(tcase, engine_vectors, 0, NR_ENGINES);
	tcase_add_loop_test(tcase, engine_wakes, 0, NR_ENGINES);
	tcase_add_loop_test(tcase, engine_full, 0, NR_ENGINES);
	tcase_add_test(tcase, engine_choice);
	return suite_run("io", tcase, CK_NOFORK);
}
