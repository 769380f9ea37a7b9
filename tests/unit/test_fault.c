/* SPDX-License-Identifier: MIT */
/* io/filter/: faults by rule and breakpoints. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/io_fixture.h"
#include "tests/unit/suite.h"

static uint8_t buf[64 * KIB];

static void set_up(void)
{
	io_set_up();
	create(MIB);
}

/* blkdebug above the test's file. */
static struct io_file *open_fault(const char *rules)
{
	char text[1024];

	snprintf(text, sizeof(text), "blkdebug,image.driver=file,image.filename=%s%s", path, rules);
	return open_text_ok(text);
}

static int read_at(struct io_file *file, uint64_t off)
{
	return io_pread(file, off, buf, 512);
}

static int write_at(struct io_file *file, uint64_t off)
{
	return io_pwrite(file, off, buf, 512);
}

/* --- faults ------------------------------------------------------------------------------ */

START_TEST(fault_event_rule)
{
	struct io_file *file = open_fault(",inject-error.0.event=read_aio");

	ck_assert_int_eq(read_at(file, 0), 0);
	io_event(file, "l2_load");
	ck_assert_int_eq(read_at(file, 0), 0);
	io_event(file, "read_aio");
	ck_assert_int_eq(read_at(file, 0), -EIO);
	ck_assert_int_eq(write_at(file, 0), -EIO);
	ck_assert_int_eq(io_pflush(file), -EIO);
	io_close(file);
}
END_TEST

START_TEST(fault_once_errno_sector)
{
	struct io_file *file = open_fault(",inject-error.0.event=none,inject-error.0.errno=28,"
					  "inject-error.0.once=on,inject-error.0.sector=2");

	ck_assert_int_eq(write_at(file, 0), 0);
	ck_assert_int_eq(write_at(file, 1536), 0);
	ck_assert_int_eq(io_pwrite(file, 0, buf, 4096), -ENOSPC);
	ck_assert_int_eq(io_pwrite(file, 0, buf, 4096), 0);
	io_close(file);
}
END_TEST

START_TEST(fault_iotype)
{
	static const char *const types[] = { "read", "write", "write-zeroes", "discard",
					     "flush", "block-status" };
	char rule[128];
	struct io_file *file;

	for (int i = 0; i < 6; i++) {
		snprintf(rule, sizeof(rule), ",inject-error.0.event=none,"
			 "inject-error.0.iotype=%s,inject-error.0.immediately=on", types[i]);
		file = open_fault(rule);
		ck_assert_int_eq(read_at(file, 0), i == 0 ? -EIO : 0);
		ck_assert_int_eq(write_at(file, 0), i == 1 ? -EIO : 0);
		ck_assert_int_eq(io_pzero(file, 0, 512, 0), i == 2 ? -EIO : 0);
		ck_assert_int_eq(io_pdiscard(file, 0, 512), i == 3 ? -EIO : 0);
		ck_assert_int_eq(io_pflush(file), i == 4 ? -EIO : 0);
		io_close(file);
	}
}
END_TEST

START_TEST(fault_states)
{
	struct io_file *file = open_fault(",set-state.0.event=l2_load,set-state.0.state=1,"
		"set-state.0.new_state=2,inject-error.0.event=write_aio,inject-error.0.state=2");

	io_event(file, "write_aio");
	ck_assert_int_eq(write_at(file, 0), 0);
	io_event(file, "l2_load");
	ck_assert_int_eq(write_at(file, 0), 0);
	io_event(file, "write_aio");
	ck_assert_int_eq(write_at(file, 0), -EIO);
	io_close(file);
}
END_TEST

START_TEST(fault_config)
{
	char conf[80], name[200];
	struct bd_opts *opts = bd_opts_new();
	struct bd_error err = {0};
	struct io_file *file;
	FILE *out;

	snprintf(conf, sizeof(conf), "%s.conf", path);
	out = fopen(conf, "w");
	fputs("# comment\n\n[set-state]\nevent = \"l2_load\"\nnew_state = \"2\"\n"
	      "[inject-error]\nstate = \"2\"\nevent = \"write_aio\"\nerrno = \"28\"\n"
	      "[inject-error]\nevent = \"read_aio\"\n", out);
	fclose(out);
	snprintf(name, sizeof(name), "blkdebug:%s:%s", conf, path);
	ck_assert_int_eq(io_name_to_opts(name, opts, &err), 0);
	ck_assert_int_eq(io_open(ctx, opts, BD_O_RDWR, &file, &err), 0);
	ck_assert_str_eq(file->filename, name);
	io_event(file, "write_aio");
	ck_assert_int_eq(write_at(file, 0), 0);
	io_event(file, "read_aio");
	ck_assert_int_eq(read_at(file, 0), -EIO);
	io_event(file, "l2_load");
	io_event(file, "write_aio");
	ck_assert_int_eq(write_at(file, 0), -ENOSPC);
	io_close(file);
	bd_opts_free(opts);
	unlink(conf);
}
END_TEST

START_TEST(fault_bad_options)
{
	static const struct {
		const char *rules, *msg;
	} cases[] = {
		{ "inject-error.0.errno=5", "Missing event name for rule" },
		{ "inject-error.0.event=foo", "invalid parameter value: foo" },
		{ "inject-error.0.event=none,inject-error.0.iotype=5",
		  "invalid parameter value: 5" },
		{ "inject-error.0.event=none,inject-error.0.foo=5",
		  "[inject-error] section doesn't support the option 'foo'" },
		{ "align=5", "Cannot meet constraints with align 5" },
		{ "bar=1", "Block protocol 'blkdebug' doesn't support the option 'bar'" },
		{ "config=/nonexistent",
		  "Could not read blkdebug config file: No such file or directory" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bd_error err = {0};
		char text[512];

		snprintf(text, sizeof(text), "blkdebug,image.filename=%s,%s", path,
			 cases[i].rules);
		ck_assert_ptr_null(open_text(text, &err));
		ck_assert_str_eq(err.msg, cases[i].msg);
	}
}
END_TEST

START_TEST(fault_no_image)
{
	struct bd_error err = {0};

	ck_assert_ptr_null(open_text("blkdebug", &err));
	ck_assert_str_eq(err.msg, "A block device must be specified for \"image\"");
}
END_TEST

/* Requests reach the driver in whole blocks; a part of one is read, changed and written. */
START_TEST(fault_align)
{
	struct io_file *file = open_fault(",align=4096,inject-error.0.event=pwritev_rmw_head,"
		"inject-error.0.iotype=read");

	ck_assert_uint_eq(file->request_align, 4096);
	memset(buf, 3, 8192);
	ck_assert_int_eq(io_pwrite(file, 0, buf, 8192), 0);
	ck_assert_int_eq(write_at(file, 512), -EIO);
	io_close(file);
	file = open_fault(",align=4096");
	memset(buf, 5, 512);
	ck_assert_int_eq(write_at(file, 512), 0);
	ck_assert_int_eq(io_pzero(file, 100, 10, 0), 0);
	ck_assert_int_eq(io_pdiscard(file, 5000, 1000), 0);
	ck_assert_int_eq(io_pread(file, 0, buf, 8192), 0);
	for (unsigned i = 0; i < 8192; i++)
		ck_assert_uint_eq(buf[i], i >= 512 && i < 1024 ? 5 : i - 100 < 10 ? 0 : 3);
	io_close(file);
}
END_TEST

/* Longer requests arrive in pieces. */
START_TEST(fault_max_transfer)
{
	struct io_file *file = open_fault(",max-transfer=4096,inject-error.0.event=none,"
		"inject-error.0.sector=16,inject-error.0.iotype=write");

	memset(buf, 7, sizeof(buf));
	ck_assert_int_eq(io_pwrite(file, 100, buf, 20000), -EIO);
	memset(buf, 0, sizeof(buf));
	ck_assert_int_eq(io_pread(file, 100, buf, 20000), 0);
	for (unsigned i = 0; i < 20000; i++)
		ck_assert_uint_eq(buf[i], i < 4096 ? 7 : 0);
	io_close(file);
}
END_TEST

static void count(struct io_op *op)
{
	++*(int *)op->user;
}

START_TEST(fault_breakpoints)
{
	struct io_file *file = open_fault("");
	const struct io_file_ops *ops = file->ops;
	int done[2] = {0};
	struct iovec iov = { buf, 512 };
	struct io_op op[2];

	for (int i = 0; i < 2; i++)
		op[i] = (struct io_op){ .kind = IO_WRITE, .file = file, .len = 512, .iov = &iov,
					.niov = 1, .done = count, .user = &done[i] };
	ck_assert_int_eq(ops->breakpoint(file, "nonsense", "A"), -ENOENT);
	ck_assert_int_eq(ops->remove_break(file, "A"), -ENOENT);
	ck_assert_int_eq(ops->breakpoint(file, "write_aio", "A"), 0);
	ck_assert(!ops->is_suspended(file, "A"));
	io_event(file, "write_aio");
	io_op_submit(&op[0]);
	ck_assert(ops->is_suspended(file, "A"));
	/* It holds one only. */
	io_event(file, "write_aio");
	io_op_submit(&op[1]);
	while (!done[1])
		ck_assert_int_ge(io_ctx_poll(ctx, true), 0);
	ck_assert(!done[0]);
	ck_assert_int_eq(io_ctx_poll(ctx, true), 0);
	ck_assert_uint_eq(io_ctx_pending(ctx), 1);
	ck_assert_int_eq(ops->resume(file, "B"), -ENOENT);
	ck_assert_int_eq(ops->resume(file, "A"), 0);
	while (!done[0])
		ck_assert_int_ge(io_ctx_poll(ctx, true), 0);
	ck_assert_int_eq(ops->resume(file, "A"), -ENOENT);
	ck_assert_int_eq(ops->breakpoint(file, "pwritev", "C"), 0);
	io_op_submit(&op[0]);
	ck_assert(ops->is_suspended(file, "C"));
	ops->remove_break(file, "C");
	while (done[0] < 2)
		ck_assert_int_ge(io_ctx_poll(ctx, true), 0);
	io_close(file);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("fault");

	tcase_add_checked_fixture(tcase, set_up, io_tear_down);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, fault_event_rule);
	tcase_add_test(tcase, fault_once_errno_sector);
	tcase_add_test(tcase, fault_iotype);
	tcase_add_test(tcase, fault_states);
	tcase_add_test(tcase, fault_config);
	tcase_add_test(tcase, fault_bad_options);
	tcase_add_test(tcase, fault_no_image);
	tcase_add_test(tcase, fault_align);
	tcase_add_test(tcase, fault_max_transfer);
	tcase_add_test(tcase, fault_breakpoints);
	return suite_run("fault", tcase, CK_NOFORK);
}
