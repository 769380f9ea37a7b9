/* SPDX-License-Identifier: MIT */
/* io/: names, local files, holes, sizes, locks. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/io_fixture.h"
#include "tests/unit/suite.h"

/* --- local files ------------------------------------------------------------------------- */

START_TEST(local_names)
{
	static const struct {
		const char *name, *msg;
	} cases[] = {
		{ "/nonexistent", "Could not open '/nonexistent': No such file or directory" },
		{ "", "The 'file' block driver requires a file name" },
		{ "file:", "The 'file' block driver requires a file name" },
		{ "nope:x", "Unknown protocol 'nope'" },
		{ "/tmp", "'file' driver requires '/tmp' to be a regular file" },
		{ "host_device:/tmp", "'host_device' driver requires '/tmp' to be either "
				      "a character or block device" },
		{ "null-co://x", "The only allowed filename for this driver is 'null-co://'" },
		{ "json:{'driver':'foo'}", "Unknown driver 'foo'" },
		{ "json:{}", "Must specify either driver or file" },
		{ "json:{'driver':'null-co','foo':1}",
		  "Block protocol 'null-co' doesn't support the option 'foo'" },
		{ "json:{'driver':'null-co','cache.direct':'x'}",
		  "Parameter 'cache.direct' expects 'on' or 'off'" },
		{ "json:{'driver':'file','filename':'x','aio':'foo'}",
		  "invalid parameter value: foo" },
		{ "json:{'driver':'file','filename':'x','aio':'native'}",
		  "aio=native was specified, but it requires cache.direct=on, "
		  "which was not specified." },
		{ "blkdebug:x", "blkdebug requires both config file and image path" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bd_opts *opts = bd_opts_new();
		struct bd_error err = {0};
		struct io_file *file = NULL;
		int ret = io_name_to_opts(cases[i].name, opts, &err);

		if (ret == 0)
			ret = io_open(ctx, opts, 0, &file, &err);
		ck_assert_int_lt(ret, 0);
		ck_assert_ptr_null(file);
		ck_assert_str_eq(err.msg, cases[i].msg);
		bd_opts_free(opts);
	}
}
END_TEST

START_TEST(local_holes)
{
	uint8_t buf[4096];
	struct io_file *file;
	uint64_t len = MIB;

	create(MIB);
	file = open_ok(BD_O_RDWR);
	memset(buf, 1, sizeof(buf));
	ck_assert_int_eq(io_pwrite(file, 64 * KIB, buf, sizeof(buf)), 0);
	/* A new file has its first block. */
	ck_assert_int_eq(io_hole(file, 0, &len), 0);
	ck_assert_uint_eq(len, 4 * KIB);
	len = MIB;
	ck_assert_int_eq(io_hole(file, 4 * KIB, &len), 1);
	ck_assert_uint_eq(len, 60 * KIB);
	len = MIB;
	ck_assert_int_eq(io_hole(file, 64 * KIB, &len), 0);
	ck_assert_uint_eq(len, 4096);
	len = 10;
	ck_assert_int_eq(io_hole(file, 64 * KIB + 1, &len), 0);
	ck_assert_uint_eq(len, 10);
	len = 2 * MIB;
	ck_assert_int_eq(io_hole(file, 128 * KIB, &len), 1);
	ck_assert_uint_eq(len, 2 * MIB);
	ck_assert_int_eq(io_pdiscard(file, 64 * KIB, 4096), 0);
	len = MIB - 4 * KIB;
	ck_assert_int_eq(io_hole(file, 4 * KIB, &len), 1);
	ck_assert_uint_eq(len, MIB - 4 * KIB);
	/* Zeros behind the end make the file longer. */
	ck_assert_int_eq(io_pzero(file, MIB, 4096, IO_UNMAP), 0);
	ck_assert_int_eq(io_length(file), MIB + 4096);
	io_close(file);
}
END_TEST

START_TEST(local_resize)
{
	struct bd_error err = {0};
	struct io_file *file;
	struct stat st;

	create(MIB);
	file = open_ok(BD_O_RDWR);
	ck_assert_int_eq(io_resize(file, 2 * MIB, "falloc", &err), 0);
	ck_assert_int_eq(io_allocated(file), MIB + 4 * KIB);
	ck_assert_int_eq(io_resize(file, 3 * MIB, "full", &err), 0);
	ck_assert_int_eq(io_allocated(file), 2 * MIB + 4 * KIB);
	ck_assert_int_eq(io_length(file), 3 * MIB);
	ck_assert_int_lt(io_resize(file, MIB, "full", &err), 0);
	ck_assert_str_eq(err.msg, "Preallocation can't be used for shrinking files");
	ck_assert_int_eq(io_resize(file, MIB, "metadata", &err), -ENOTSUP);
	ck_assert_str_eq(err.msg, "Unsupported preallocation mode: metadata");
	ck_assert_int_eq(io_resize(file, 5, "off", &err), 0);
	io_close(file);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_size, 5);
	ck_assert_int_lt(io_create(ctx, "/nonexistent/x", 1, "off", NULL, &err), 0);
	ck_assert_str_eq(err.msg,
			 "Could not create '/nonexistent/x': No such file or directory");
}
END_TEST

static bool byte_locked(int fd, int byte)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte,
			      .l_len = 1 };

	ck_assert_int_eq(fcntl(fd, F_OFD_GETLK, &lock), 0);
	return lock.l_type != F_UNLCK;
}

static void expect_locks(int fd, const char *bytes)
{
	static const int all[] = { 100, 101, 102, 103, 200, 201, 202, 203 };
	char have[64] = "";

	for (int i = 0; i < 8; i++)
		if (byte_locked(fd, all[i]))
			sprintf(have + strlen(have), "%d ", all[i]);
	ck_assert_str_eq(have, bytes);
}

START_TEST(local_lock_bytes)
{
	const unsigned image = BD_O_SHARE_NO_WRITE, image_rw = image | BD_O_RDWR | BD_O_RESIZE;
	struct bd_error err = {0};
	struct io_file *file;
	int fd;

	create(4096);
	fd = open(path, O_RDWR | O_CLOEXEC);
	file = open_ok(0);
	expect_locks(fd, "100 ");
	ck_assert_int_eq(io_reopen(file, image, &err), 0);
	expect_locks(fd, "100 201 203 ");
	ck_assert_int_eq(io_reopen(file, image_rw, &err), 0);
	expect_locks(fd, "100 101 103 201 203 ");
	ck_assert_int_eq(io_pwrite(file, 0, "x", 1), 0);
	ck_assert_int_eq(io_reopen(file, 0, &err), 0);
	expect_locks(fd, "100 ");
	ck_assert_int_eq(io_pwrite(file, 0, "x", 1), -EBADF);
	io_close(file);
	expect_locks(fd, "");
	file = open_ok(image | BD_O_FORCE_SHARE);
	expect_locks(fd, "100 ");
	io_close(file);
	close(fd);
}
END_TEST

START_TEST(local_lock_conflicts)
{
	const unsigned image_rw = BD_O_SHARE_NO_WRITE | BD_O_RDWR | BD_O_RESIZE;
	struct bd_error err = {0};
	struct io_file *file;
	char hint[128];

	create(4096);
	snprintf(hint, sizeof(hint), "Is another process using the image [%s]?", path);
	file = open_ok(image_rw);
	ck_assert_ptr_null(open_file(ctx, BD_O_SHARE_NO_WRITE, &err));
	ck_assert_str_eq(err.msg, "Failed to get shared \"write\" lock");
	ck_assert_str_eq(err.hint, hint);
	ck_assert_ptr_null(open_file(ctx, BD_O_RDWR, &err));
	ck_assert_str_eq(err.msg, "Failed to get \"write\" lock");
	ck_assert_int_eq(io_create(ctx, path, 1, "off", NULL, &err), -EBUSY);
	ck_assert_str_eq(err.msg, "Failed to get \"write\" lock");
	ck_assert_int_eq(io_length(file), 4096);
	/* A failed attempt leaves no lock behind: others are let in as before. */
	io_close(open_ok(BD_O_FORCE_SHARE));
	ck_assert_int_eq(io_reopen(file, BD_O_SHARE_NO_WRITE, &err), 0);
	io_close(open_ok(BD_O_SHARE_NO_WRITE));
	io_close(file);
	ck_assert_ptr_null(open_file(ctx, BD_O_RDWR | BD_O_FORCE_SHARE, &err));
}
END_TEST

/* The kernel may hold the description longer than we do: a copy of the descriptor stands for it. */
START_TEST(local_unlocked_by_close)
{
	const unsigned flags = BD_O_RDWR | BD_O_SHARE_NO_WRITE;
	struct bd_error err = {0};
	struct io_file *file;
	int held;

	create(MIB);
	file = open_ok(flags);
	ck_assert_ptr_null(open_file(ctx, flags, &err));
	held = dup(file->fd);
	io_close(file);
	io_close(open_ok(flags));
	close(held);
}
END_TEST

/* A file that shrinks under its mapping. */
START_TEST(local_truncated)
{
	uint8_t *buf = malloc(MIB);
	struct io_ctx *other = new_ctx("mmap", 4);
	struct bd_error err = {0};
	struct io_file *file;

	create(MIB);
	file = open_file(other, BD_O_RDWR, &err);
	ck_assert_int_eq(io_pread(file, 0, buf, MIB), 0);
	ck_assert_int_eq(truncate(path, 4096), 0);
	ck_assert_int_eq(io_pread(file, 0, buf, MIB), -EIO);
	ck_assert_int_eq(io_pwrite(file, 512 * KIB, buf, 4096), -EIO);
	ck_assert_int_eq(io_pread(file, 0, buf, 4096), 0);
	ck_assert_int_eq(io_resize(file, MIB, "off", &err), 0);
	ck_assert_int_eq(io_pread(file, 0, buf, MIB), 0);
	io_close(file);
	io_ctx_free(other);
	free(buf);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("local");

	tcase_add_checked_fixture(tcase, io_set_up, io_tear_down);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, local_names);
	tcase_add_test(tcase, local_holes);
	tcase_add_test(tcase, local_resize);
	tcase_add_test(tcase, local_lock_bytes);
	tcase_add_test(tcase, local_lock_conflicts);
	tcase_add_test(tcase, local_unlocked_by_close);
	if (!UNDER_TSAN)
		tcase_add_test(tcase, local_truncated);
	return suite_run("local", tcase, CK_NOFORK);
}
