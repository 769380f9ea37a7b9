/* SPDX-License-Identifier: MIT */
/* core/copy*.c and compare.c: what is written, what stays a hole, what a comparison says. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blockdev/include/copy.h"
#include "tests/unit/suite.h"

enum { SECTOR = 512, SECTORS = 8192, SIZE = SECTOR * SECTORS };

static char folder[64];
static struct bd_queue *queue;
static uint8_t disk[SIZE];
static const uint8_t zeros[SIZE];

/* 2 KiB of every 4 KiB in every second 32 KiB of the first half; the rest is zero. */
static bool has_data(unsigned sector)
{
	return sector < 4096 && (sector / 64) % 2 == 0 && sector % 8 < 4;
}

static void put_file(const char *name, const uint8_t *bytes, size_t len, bool dense)
{
	int fd = open(name, O_CREAT | O_TRUNC | O_WRONLY, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, (off_t)len), 0);
	for (size_t pos = 0; pos < len; pos += SECTOR) {
		if (dense || bytes[pos])
			ck_assert_int_eq(pwrite(fd, bytes + pos, SECTOR, (off_t)pos), SECTOR);
	}
	close(fd);
}

static void setup(void)
{
	struct bd_error err = { 0 };

	strcpy(folder, "/tmp/qimg-copy.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(chdir(folder), 0);
	memset(disk, 0, sizeof(disk));
	for (unsigned i = 0; i < SECTORS; i++) {
		if (has_data(i))
			memset(disk + i * SECTOR, 1 + i % 255, SECTOR);
	}
	put_file("src", disk, SIZE, true);
	ck_assert_int_eq(bd_queue_new("sync", 64, &queue, &err), 0);
}

static void teardown(void)
{
	bd_queue_free(queue);
	unlink("src");
	unlink("dst");
	ck_assert_int_eq(chdir("/"), 0);
	rmdir(folder);
}

static struct bd_node *open_raw(const char *name, unsigned flags)
{
	struct bd_open_args args = { .filename = name, .format = "raw", .flags = flags };
	struct bd_error err = { 0 };
	struct bd_node *node = NULL;

	ck_assert_msg(bd_open(queue, &args, &node, &err) == 0, "%s", err.msg);
	return node;
}

static int copy(struct bd_copy_args *args, struct bd_error *err)
{
	struct bd_node *src = open_raw("src", 0);
	struct bd_node *dst = open_raw("dst", BD_O_RDWR | BD_O_UNMAP);
	int ret;

	args->src = &src;
	args->nr_src = 1;
	args->dst = dst;
	ret = bd_copy(args, err);
	bd_close(src);
	bd_close(dst);
	return ret;
}

static void check_content(void)
{
	static uint8_t got[SIZE];
	int fd = open("dst", O_RDONLY);

	ck_assert_int_eq(read(fd, got, SIZE), SIZE);
	ck_assert(!memcmp(got, disk, SIZE));
	close(fd);
}

static uint64_t allocated(void)
{
	struct stat info;

	ck_assert_int_eq(stat("dst", &info), 0);
	return (uint64_t)info.st_blocks * 512;
}

/* Zeros that stand behind 2 KiB of data in each 4 KiB are no holes; groups of 32 KiB are. */
START_TEST(holes_follow_sparse_size)
{
	static const struct { uint64_t sparse; bool zero; uint64_t most; } cases[] = {
		{ 4096, true, SIZE / 4 }, { 65536, true, SIZE / 2 }, { 0, false, SIZE },
		{ 4096, false, SIZE / 4 }, { 512, true, SIZE / 4 },
	};
	struct bd_error err = { 0 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bd_copy_args args = {
			.sparse_size = cases[i].sparse,
			.dst_is_zero = cases[i].zero,
		};

		put_file("dst", zeros, SIZE, false);
		ck_assert_msg(copy(&args, &err) == 0, "%s", err.msg);
		check_content();
		/* A file system may keep a few blocks of its own. */
		ck_assert_uint_le(allocated(), cases[i].most + 65536);
		ck_assert_uint_ge(allocated() + 65536, cases[i].most);
	}
}
END_TEST

START_TEST(stale_target_is_zeroed)
{
	static uint8_t stale[SIZE];
	struct bd_copy_args args = { .sparse_size = 4096, .out_of_order = true };
	struct bd_error err = { 0 };

	memset(stale, 'S', SIZE);
	put_file("dst", stale, SIZE, false);
	ck_assert_int_eq(copy(&args, &err), 0);
	check_content();
}
END_TEST

struct seen {
	uint64_t last, total;
	unsigned calls;
};

static void on_progress(uint64_t done, uint64_t total, void *user)
{
	struct seen *seen = user;

	ck_assert_uint_ge(done, seen->last);
	ck_assert_uint_le(done, total);
	*seen = (struct seen){ done, total, seen->calls + 1 };
}

START_TEST(progress_ends_at_the_total)
{
	struct seen seen = { 0 };
	struct bd_copy_args args = {
		.sparse_size = 4096,
		.dst_is_zero = true,
		.count_first = true,
		.progress = on_progress,
		.user = &seen,
	};
	struct bd_error err = { 0 };

	put_file("dst", zeros, SIZE, false);
	ck_assert_int_eq(copy(&args, &err), 0);
	ck_assert_uint_ge(seen.calls, 2);
	ck_assert_uint_eq(seen.last, seen.total);
	ck_assert_uint_eq(seen.total, SIZE); /* the source has no holes */
}
END_TEST

START_TEST(cancel_stops)
{
	static volatile sig_atomic_t stop = 1;
	struct bd_copy_args args = { .sparse_size = 4096, .cancel = &stop };
	struct bd_error err = { 0 };

	put_file("dst", zeros, SIZE, false);
	ck_assert_int_eq(copy(&args, &err), -ECANCELED);
}
END_TEST

static int compare(struct bd_compare_args *args)
{
	struct bd_error err = { 0 };
	int ret;

	args->a = open_raw("src", 0);
	args->b = open_raw("dst", 0);
	ret = bd_compare(args, &err);
	bd_close(args->a);
	bd_close(args->b);
	return ret;
}

START_TEST(compare_finds_the_sector)
{
	static uint8_t other[SIZE + 4096];
	struct bd_compare_args args = { 0 };

	memcpy(other, disk, SIZE);
	put_file("dst", other, SIZE, false);
	ck_assert_int_eq(compare(&args), BD_SAME);
	put_file("dst", other, SIZE + 4096, false);
	ck_assert_int_eq(compare(&args), BD_SAME);
	args.strict = true;
	ck_assert_int_eq(compare(&args), BD_DIFFER_SIZE);
	args.strict = false;
	other[SIZE + 1024] = 1;
	put_file("dst", other, SIZE + 4096, false);
	ck_assert_int_eq(compare(&args), BD_DIFFER_CONTENT);
	ck_assert_uint_eq(args.offset, SIZE + 1024);
	memset(other + 5 * SECTOR * 1000, 7, SECTOR);
	put_file("dst", other, SIZE + 4096, false);
	ck_assert_int_eq(compare(&args), BD_DIFFER_CONTENT);
	ck_assert_uint_eq(args.offset, 5 * SECTOR * 1000);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("copy");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, holes_follow_sparse_size);
	tcase_add_test(tcase, stale_target_is_zeroed);
	tcase_add_test(tcase, progress_ends_at_the_total);
	tcase_add_test(tcase, cancel_stops);
	tcase_add_test(tcase, compare_finds_the_sector);
	return suite_run("copy", tcase, CK_FORK);
}
