/* SPDX-License-Identifier: MIT */
/* io/: the steps of one operation; timers and the simulated clock. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "blockdev/io/op.h"
#include "tests/unit/io_fixture.h"
#include "tests/unit/suite.h"

/* --- one operation's steps --------------------------------------------------------------- */

static struct io_file fake_file;

static struct io_op *start(struct io_op *op, enum io_kind kind, struct iovec *iov, int niov)
{
	fake_file = (struct io_file){ .fd = -1, .request_align = 1, .can_zero = true };
	*op = (struct io_op){ .kind = kind, .file = &fake_file, .off = 100, .len = 30,
			      .iov = iov, .niov = niov };
	ck_assert(!io_op_start(op));
	return op;
}

/* What the engine is asked next, after the kernel's answer @raw. */
static bool answer(struct io_op *op, int64_t raw, struct io_step *step)
{
	op->raw = raw;
	if (io_op_finish(op))
		return true;
	io_op_step(op, step);
	return false;
}

START_TEST(steps_short)
{
	char buf[30];
	struct iovec iov[3] = { { buf, 10 }, { buf + 10, 10 }, { buf + 20, 10 } };
	struct io_step step;
	struct io_op op;

	io_op_step(start(&op, IO_WRITE, iov, 3), &step);
	ck_assert_int_eq(step.niov, 3);
	ck_assert(!answer(&op, -EINTR, &step));
	ck_assert_int_eq(step.niov, 3);
	ck_assert(!answer(&op, -EAGAIN, &step));
	ck_assert(step.async);
	ck_assert(!answer(&op, 13, &step));
	ck_assert_uint_eq(step.off, 113);
	ck_assert_int_eq(step.niov, 1);
	ck_assert_ptr_eq(step.iov[0].iov_base, buf + 13);
	ck_assert_uint_eq(step.len, 7);
	ck_assert(!answer(&op, 7, &step));
	ck_assert_uint_eq(step.off, 120);
	ck_assert_ptr_eq(step.iov[0].iov_base, buf + 20);
	ck_assert(answer(&op, 10, &step));
	ck_assert_int_eq(op.res, 0);
	io_op_step(start(&op, IO_WRITE, iov, 3), &step);
	ck_assert(answer(&op, 0, &step));
	ck_assert_int_eq(op.res, -ENOSPC);
	io_op_step(start(&op, IO_READ, iov, 3), &step);
	ck_assert(answer(&op, -EIO, &step));
	ck_assert_int_eq(op.res, -EIO);
}
END_TEST

START_TEST(steps_again)
{
	char buf[30];
	struct iovec iov = { buf, 30 };
	struct io_step step;
	struct io_op op;
	int tries = 0;

	start(&op, IO_READ, &iov, 1);
	while (!answer(&op, -EAGAIN, &step) && tries < 100000)
		tries++;
	ck_assert_int_lt(tries, 100000);
	ck_assert_int_eq(op.res, -EIO);
}
END_TEST

/* Zeros: one way after the other, and what the host refused once is not asked again. */
START_TEST(steps_zero)
{
	struct io_step step;
	struct io_op op;

	start(&op, IO_ZERO, NULL, 0);
	op.flags = IO_UNMAP;
	ck_assert(!io_op_start(&op));
	io_op_step(&op, &step);
	ck_assert_int_eq(step.mode, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE);
	ck_assert(!answer(&op, -EOPNOTSUPP, &step));
	ck_assert_int_eq(step.mode, FALLOC_FL_ZERO_RANGE);
	ck_assert(!answer(&op, -EOPNOTSUPP, &step));
	ck_assert_int_eq(step.verb, IO_STEP_WRITE);
	ck_assert_uint_eq(step.off, 100);
	ck_assert(answer(&op, 30, &step));
	ck_assert_int_eq(op.res, 0);
	ck_assert(fake_file.no_punch && fake_file.no_zero_range && !fake_file.can_zero);
	op = (struct io_op){ .kind = IO_ZERO, .flags = IO_NO_FALLBACK, .file = &fake_file,
			     .len = 1 };
	ck_assert(io_op_start(&op));
	ck_assert_int_eq(op.res, -ENOTSUP);
	op.kind = IO_DISCARD;
	ck_assert(io_op_start(&op));
	ck_assert_int_eq(op.res, 0);
}
END_TEST

START_TEST(steps_flush)
{
	struct io_step step;
	struct io_op op;

	start(&op, IO_FLUSH, NULL, 0);
	io_op_step(&op, &step);
	ck_assert_int_eq(step.verb, IO_STEP_SYNC);
	ck_assert(answer(&op, -EIO, &step));
	ck_assert_int_eq(op.res, -EIO);
	/* The kernel forgets after a failure; we do not. */
	ck_assert(io_op_start(&op));
	ck_assert_int_eq(op.res, -EIO);
	fake_file.broken = false;
	fake_file.flags = BD_O_NO_FLUSH;
	ck_assert(io_op_start(&op));
	ck_assert_int_eq(op.res, 0);
}
END_TEST

/* --- time -------------------------------------------------------------------------------- */

static struct {
	int fired[4];
	int nr;
} fired;

static void on_timer(struct io_timer *timer)
{
	fired.fired[fired.nr++] = *(int *)timer->user;
}

START_TEST(timers_in_order)
{
	int names[3] = { 1, 2, 3 };
	struct io_timer timers[3];
	uint64_t begin;

	fired.nr = 0; /* one iteration per kind of clock */
	for (int i = 0; i < 3; i++) {
		timers[i] = (struct io_timer){ .fire = on_timer, .user = &names[i] };
		list_init(&timers[i].link);
	}
	if (_i)
		io_ctx_simulate_clock(ctx);
	begin = io_ctx_now(ctx);
	io_timer_add(ctx, &timers[0], begin + 3000000);
	io_timer_add(ctx, &timers[1], begin + 1000000);
	io_timer_add(ctx, &timers[2], begin + 2000000);
	io_timer_cancel(&timers[2]);
	io_timer_cancel(&timers[2]);
	ck_assert_uint_eq(io_ctx_pending(ctx), 2);
	/* On a busy machine both may be due by the time one is looked at. */
	while (io_ctx_pending(ctx)) {
		int nr = io_ctx_poll(ctx, true);

		ck_assert(nr == 1 || (nr == 2 && !_i));
	}
	ck_assert_int_eq(fired.nr, 2);
	ck_assert_int_eq(fired.fired[0], 2);
	ck_assert_int_eq(fired.fired[1], 1);
	ck_assert_uint_ge(io_ctx_now(ctx), begin + 3000000);
	if (_i)
		ck_assert_uint_eq(io_ctx_now(ctx), begin + 3000000);
	ck_assert_int_eq(io_ctx_poll(ctx, true), 0);
}
END_TEST

/* An hour passes at once, but not before what is in flight. */
START_TEST(simulated_clock)
{
	uint64_t begin;
	struct bd_opts *opts = bd_opts_new();
	struct bd_error err = {0};
	struct io_file *file = NULL, *real;
	char buf[512];

	create(4096);
	real = open_ok(0);
	io_ctx_simulate_clock(ctx);
	bd_opts_parse(opts, "null-co,latency-ns=3600000000000,size=1M", "driver", &err);
	ck_assert_int_eq(io_open(ctx, opts, 0, &file, &err), 0);
	begin = io_ctx_now(ctx);
	ck_assert_int_eq(io_pread(real, 0, buf, sizeof(buf)), 0);
	ck_assert_uint_eq(io_ctx_now(ctx), begin);
	ck_assert_int_eq(io_pread(file, 0, buf, sizeof(buf)), 0);
	ck_assert_uint_eq(io_ctx_now(ctx), begin + 3600000000000u);
	io_close(file);
	io_close(real);
	bd_opts_free(opts);
}
END_TEST

/* --- without io_uring -------------------------------------------------------------------- */

/* As in many containers: the call exists and is forbidden. */
static void forbid_io_uring(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { .len = 4, .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER,
							    &prog))
		_exit(2);
}

START_TEST(engine_forbidden)
{
	struct io_ctx *other;
	int status;
	pid_t pid = fork();

	if (!pid) {
		forbid_io_uring();
		if (io_ctx_new("io_uring", 4, &other, NULL) != -ENOTSUP)
			_exit(1);
		if (io_ctx_new(NULL, 4, &other, NULL) < 0)
			_exit(1);
		_exit(strcmp(io_ctx_engine_name(other), "threads") != 0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("op");

	tcase_add_checked_fixture(tcase, io_set_up, io_tear_down);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, engine_forbidden);
	tcase_add_test(tcase, steps_short);
	tcase_add_test(tcase, steps_again);
	tcase_add_test(tcase, steps_zero);
	tcase_add_test(tcase, steps_flush);
	tcase_add_loop_test(tcase, timers_in_order, 0, 2);
	tcase_add_test(tcase, simulated_clock);
	return suite_run("op", tcase, CK_NOFORK);
}
