/* SPDX-License-Identifier: MIT */
/* io/filter/: slow disks, limits, records. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blockdev/io/filter/record.h"
#include "tests/unit/io_fixture.h"
#include "tests/unit/suite.h"

#define NS_PER_S 1000000000u

static uint8_t buf[64 * KIB];

static void set_up(void)
{
	io_set_up();
	create(MIB);
}

/* --- time -------------------------------------------------------------------------------- */

/* Operations of @len bytes in a second of simulated time, @depth at once. */
struct load {
	struct io_file *file;
	struct io_op ops[64];
	struct iovec iov;
	uint64_t len, next, end_ns;
	bool random, write;
	uint64_t nr;
};

static void load_submit(struct load *load, struct io_op *op);

static void load_done(struct io_op *op)
{
	struct load *load = op->user;

	ck_assert_int_eq(op->res, 0);
	if (io_ctx_now(ctx) > load->end_ns)
		return;
	load->nr++;
	load_submit(load, op);
}

static void load_submit(struct load *load, struct io_op *op)
{
	uint64_t off = load->random ? (uint64_t)rand() % 200000 * 4096 : load->next;

	*op = (struct io_op){ .kind = load->write ? IO_WRITE : IO_READ, .file = load->file,
			      .off = off, .len = load->len, .iov = &load->iov, .niov = 1,
			      .done = load_done, .user = load };
	load->next = off + load->len;
	io_op_submit(op);
}

static uint64_t run_load(struct io_file *file, uint64_t len, bool random, bool write, int depth)
{
	struct load load = { .file = file, .len = len, .random = random, .write = write };
	uint64_t seconds = 2;

	load.iov = (struct iovec){ buf, len };
	load.end_ns = io_ctx_now(ctx) + seconds * NS_PER_S;
	for (int i = 0; i < depth; i++)
		load_submit(&load, &load.ops[i]);
	while (io_ctx_pending(ctx))
		ck_assert_int_ge(io_ctx_poll(ctx, true), 0);
	return load.nr / seconds;
}

START_TEST(delay_hdd)
{
	struct io_file *file;
	uint64_t rate;

	io_ctx_simulate_clock(ctx);
	file = open_text_ok("delay,preset=hdd,image.driver=null-co,image.size=1T");
	rate = run_load(file, 4096, true, false, 1);
	ck_assert_uint_ge(rate, 75);
	ck_assert_uint_le(rate, 125);
	rate = run_load(file, 4096, true, true, 32);
	ck_assert_uint_ge(rate, 75);
	ck_assert_uint_le(rate, 125);
	rate = run_load(file, 64 * KIB, false, false, 1) * 64 * KIB;
	ck_assert_uint_ge(rate, 100000000);
	ck_assert_uint_le(rate, 200000000);
	io_close(file);
}
END_TEST

START_TEST(delay_ssd)
{
	struct io_file *file;
	uint64_t one, many;

	io_ctx_simulate_clock(ctx);
	file = open_text_ok("delay,preset=ssd,image.driver=null-co,image.size=1T");
	one = run_load(file, 4096, true, false, 1);
	many = run_load(file, 4096, true, false, 32);
	ck_assert_uint_ge(one, 8000);
	ck_assert_uint_ge(many, 8 * one);
	ck_assert_uint_le(many * 4096, 500000000);
	io_close(file);
}
END_TEST

START_TEST(delay_options)
{
	struct bd_error err = {0};
	struct io_file *file;
	uint64_t begin;

	ck_assert_ptr_null(open_text("delay,preset=tape,image.driver=null-co", &err));
	ck_assert_str_eq(err.msg, "invalid parameter value: tape");
	ck_assert_ptr_null(open_text("delay,parallel=0,image.driver=null-co", &err));
	io_ctx_simulate_clock(ctx);
	file = open_text_ok("delay,seek-us=1000,image.driver=null-co");
	begin = io_ctx_now(ctx);
	ck_assert_int_eq(io_pflush(file), 0);
	ck_assert_uint_ge(io_ctx_now(ctx), begin + 600000);
	ck_assert_uint_le(io_ctx_now(ctx), begin + 1400000);
	io_close(file);
}
END_TEST

static void expect_near(uint64_t have, uint64_t want)
{
	ck_assert_uint_ge(have, want - want / 20);
	ck_assert_uint_le(have, want + want / 20);
}

START_TEST(throttle_limits)
{
	struct io_file *file;

	io_ctx_simulate_clock(ctx);
	file = open_text_ok("throttle,limits.iops-total=500,file.driver=null-co,file.size=1T");
	expect_near(run_load(file, 4096, true, false, 16), 500);
	io_close(file);
	file = open_text_ok("throttle,limits.bps-write=10M,file.driver=null-co,file.size=1T");
	expect_near(run_load(file, 64 * KIB, true, true, 16), 160);
	ck_assert_int_eq(io_pread(file, 0, buf, 512), 0);
	io_close(file);
	file = open_text_ok("throttle,limits.iops-read=100,limits.iops-size=4096,"
		       "file.driver=null-co,file.size=1T");
	expect_near(run_load(file, 16 * KIB, true, false, 4), 25);
	io_close(file);
}
END_TEST

START_TEST(throttle_large_request)
{
	struct io_file *file;
	uint64_t begin;

	/* Larger than all that is allowed at once: passes, and the next one pays. */
	io_ctx_simulate_clock(ctx);
	file = open_text_ok("throttle,limits.bps-total=1k,file.driver=null-co,file.size=1T");
	begin = io_ctx_now(ctx);
	ck_assert_int_eq(io_pread(file, 0, buf, 64 * KIB), 0);
	ck_assert_uint_eq(io_ctx_now(ctx), begin);
	ck_assert_int_eq(io_pflush(file), 0);
	ck_assert_uint_eq(io_ctx_now(ctx), begin);
	ck_assert_int_eq(io_pread(file, 0, buf, 512), 0);
	ck_assert_uint_ge(io_ctx_now(ctx), begin + 60ull * NS_PER_S);
	io_close(file);
}
END_TEST

START_TEST(throttle_options)
{
	struct bd_error err = {0};

	ck_assert_ptr_null(open_text("throttle,limits.bps-total=x,file.driver=null-co", &err));
	ck_assert_ptr_null(open_text("throttle,limits.foo=1,file.driver=null-co", &err));
	ck_assert_str_eq(err.msg,
			 "Block protocol 'throttle' doesn't support the option 'limits.foo'");
	ck_assert_ptr_null(open_text("throttle,limits.bps-total=5,limits.bps-total-max=2,"
				     "file.driver=null-co", &err));
}
END_TEST

/* --- record ------------------------------------------------------------------------------ */

static void expect_entry(FILE *log, enum io_record_kind kind, uint64_t off, uint64_t len,
			 uint64_t covers)
{
	struct io_record entry;

	ck_assert_uint_eq(fread(&entry, sizeof(entry), 1, log), 1);
	ck_assert_uint_eq(be32_get(entry.kind), kind);
	ck_assert_uint_eq(be64_get(entry.off), off);
	ck_assert_uint_eq(be64_get(entry.len), len);
	ck_assert_uint_eq(be64_get(entry.covers), covers);
	if (kind == IO_RECORD_WRITE) {
		ck_assert_uint_eq(fread(buf, (size_t)len, 1, log), 1);
		ck_assert_uint_eq(buf[0], 9);
		ck_assert_uint_eq(buf[len - 1], 9);
	}
}

START_TEST(record_log)
{
	struct bd_error err = {0};
	char text[256], log_path[80];
	struct io_file *file;
	char magic[8];
	FILE *log;

	snprintf(log_path, sizeof(log_path), "%s.log", path);
	snprintf(text, sizeof(text), "record,image.driver=file,image.filename=%s,log=%s", path,
		 log_path);
	file = open_text_ok(text);
	memset(buf, 9, sizeof(buf));
	ck_assert_int_eq(io_pwrite(file, 100, buf, 1000), 0);
	ck_assert_int_eq(io_pread(file, 100, buf, 1000), 0);
	ck_assert_int_eq(io_pzero(file, 4096, 4096, 0), 0);
	ck_assert_int_eq(io_pflush(file), 0);
	ck_assert_int_eq(io_pdiscard(file, 8192, 4096), 0);
	ck_assert_int_eq(io_resize(file, 2 * MIB, "off", &err), 0);
	ck_assert_int_eq(io_pflush(file), 0);
	io_close(file);
	log = fopen(log_path, "r");
	ck_assert_uint_eq(fread(magic, 8, 1, log), 1);
	ck_assert_mem_eq(magic, IO_RECORD_MAGIC, 8);
	expect_entry(log, IO_RECORD_WRITE, 100, 1000, 0);
	expect_entry(log, IO_RECORD_ZERO, 4096, 4096, 0);
	expect_entry(log, IO_RECORD_FLUSH, 0, 0, 2);
	expect_entry(log, IO_RECORD_DISCARD, 8192, 4096, 0);
	expect_entry(log, IO_RECORD_RESIZE, 0, 2 * MIB, 0);
	expect_entry(log, IO_RECORD_FLUSH, 0, 0, 5);
	ck_assert_int_eq(fgetc(log), EOF);
	fclose(log);
	unlink(log_path);
}
END_TEST

START_TEST(record_options)
{
	struct bd_error err = {0};

	ck_assert_ptr_null(open_text("record,image.driver=null-co", &err));
	ck_assert_str_eq(err.msg, "The 'record' driver requires a log file");
	ck_assert_ptr_null(open_text("record,image.driver=null-co,log=/nonexistent/x", &err));
	ck_assert_str_eq(err.msg,
			 "Could not create '/nonexistent/x': No such file or directory");
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("filter");

	tcase_add_checked_fixture(tcase, set_up, io_tear_down);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, delay_hdd);
	tcase_add_test(tcase, delay_ssd);
	tcase_add_test(tcase, delay_options);
	tcase_add_test(tcase, throttle_limits);
	tcase_add_test(tcase, throttle_large_request);
	tcase_add_test(tcase, throttle_options);
	tcase_add_test(tcase, record_log);
	tcase_add_test(tcase, record_options);
	return suite_run("filter", tcase, CK_NOFORK);
}
