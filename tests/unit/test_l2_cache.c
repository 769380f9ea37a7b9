/* SPDX-License-Identifier: MIT */
/* The L2 cache: eviction order, clean-up, and the second level in a file. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "blockdev/core/queue.h"
#include "tests/unit/image_fixture.h"
#include "tests/unit/suite.h"

/* With 512-byte clusters one L2 table is one slice of 512 bytes and maps 32 KiB. */
enum { TABLE_SPAN = 32768, TABLES = 64 };

#define TWO_SLOTS "l2-cache-size=1024,l2-cache-entry-size=512"

static void make(void)
{
	struct bd_node *node;
	uint8_t buf[512];

	image_create("a", "cluster_size=512", TABLES * TABLE_SPAN, NULL);
	node = image_open("a", "", BD_O_RDWR);
	for (unsigned i = 0; i < TABLES; i++) {
		memset(buf, (int)(i + 1), sizeof(buf));
		ck_assert_int_eq(bd_pwrite(node, (uint64_t)i * TABLE_SPAN, buf, sizeof(buf)), 0);
	}
	image_close(node);
}

/* Read the start of what table @i maps; @add: what was added to its pattern. */
static void read_table(struct bd_node *node, unsigned i, unsigned add)
{
	uint8_t buf[512];

	ck_assert_int_eq(bd_pread(node, (uint64_t)i * TABLE_SPAN, buf, sizeof(buf)), 0);
	ck_assert_uint_eq(buf[0], (uint8_t)(i + 1 + add));
	ck_assert_uint_eq(buf[511], (uint8_t)(i + 1 + add));
}

static struct bd_cache_stats stats_of(const struct bd_node *node)
{
	struct bd_stats stats;

	bd_stats_get(node, &stats);
	return stats.l2;
}

START_TEST(least_recent_goes)
{
	struct bd_node *node;
	const unsigned order[] = {0, 1, 0, 2, 0, 1};
	const unsigned misses[] = {1, 2, 2, 3, 3, 4}; /* 2 drove out 1, and 0 stayed */

	make();
	node = image_open("a", TWO_SLOTS, 0);
	for (unsigned i = 0; i < 6; i++) {
		read_table(node, order[i], 0);
		ck_assert_uint_eq(stats_of(node).misses, misses[i]);
	}
	ck_assert_uint_eq(stats_of(node).evictions, 2);
	ck_assert_uint_eq(stats_of(node).bytes, 1024);
	image_close(node);
}
END_TEST

static uint64_t resident(void)
{
	unsigned long total, pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	ck_assert_int_eq(fscanf(file, "%lu %lu", &total, &pages), 2);
	fclose(file);
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Idle tables leave after two intervals, and their memory is the system's again. */
START_TEST(clean_up_returns_memory)
{
	const uint64_t size = UINT64_C(200) << 30, cache = 16 << 20;
	struct bd_node *node;
	uint64_t before, full;
	uint8_t buf[512];

	image_create("big", "preallocation=metadata", size, NULL);
	node = image_open("big", "l2-cache-size=16M,l2-cache-entry-size=4096,"
			  "cache-clean-interval=1", 0);
	io_ctx_simulate_clock(bd_queue_ctx(queue));
	before = resident();
	for (uint64_t off = 0; off < size; off += 32 << 20)
		ck_assert_int_eq(bd_pread(node, off, buf, sizeof(buf)), 0);
	full = resident();
	ck_assert_uint_gt(stats_of(node).bytes, cache / 2);
	ck_assert_uint_gt(full, before + cache / 2);
	for (unsigned i = 0; i < 4 && stats_of(node).bytes; i++)
		ck_assert_int_ge(bd_queue_poll(queue, true), 0);
	ck_assert_uint_eq(stats_of(node).bytes, 0);
	ck_assert_uint_gt(stats_of(node).cleaned, 1000);
	ck_assert_uint_lt(resident(), before + cache / 4);
	ck_assert_int_eq(bd_pread(node, 0, buf, sizeof(buf)), 0);
	image_close(node);
}
END_TEST

static const char *with_file(void)
{
	static char text[256];

	snprintf(text, sizeof(text), TWO_SLOTS ",l2-cache-file=%s", image_path("cache"));
	return text;
}

/* Read all tables with the cache file; how many came from it. */
static uint64_t file_hits(unsigned flags, unsigned add)
{
	struct bd_node *node = image_open("a", with_file(), flags);
	uint64_t hits;

	for (unsigned i = 0; i < TABLES; i++)
		read_table(node, i, i == 5 ? add : 0);
	hits = stats_of(node).file_hits;
	image_close(node);
	return hits;
}

/* The times of a file change with the clock's ticks: let some pass. */
static void let_time_pass(void)
{
	usleep(50000);
}

static void change_table_5(const char *options)
{
	struct bd_node *node = image_open("a", options, BD_O_RDWR);
	uint8_t buf[512];

	memset(buf, 5 + 1 + 100, sizeof(buf));
	ck_assert_int_eq(bd_pwrite(node, 5 * TABLE_SPAN + 512, buf, sizeof(buf)), 0);
	ck_assert_int_eq(bd_pwrite(node, 5 * TABLE_SPAN, buf, sizeof(buf)), 0);
	image_close(node);
}

START_TEST(file_serves_the_next_open)
{
	make();
	ck_assert_uint_eq(file_hits(0, 0), 0);
	ck_assert_uint_gt(file_hits(0, 0), TABLES / 2);
	ck_assert_uint_gt(file_hits(0, 0), TABLES / 2);
}
END_TEST

START_TEST(file_of_a_changed_image)
{
	make();
	file_hits(0, 0);
	let_time_pass();
	change_table_5("");
	ck_assert_uint_eq(file_hits(0, 100), 0);
	/* A writer that knows the file leaves it true. */
	let_time_pass();
	change_table_5(with_file());
	file_hits(0, 100);
}
END_TEST

/* The same bytes under another inode may have been anything in between. */
START_TEST(file_of_a_restored_copy)
{
	char command[512];

	make();
	file_hits(0, 0);
	snprintf(command, sizeof(command), "cp -p %s %s && mv %s %s", image_path("a"),
		 image_path("copy"), image_path("copy"), image_path("a"));
	ck_assert_int_eq(system(command), 0);
	ck_assert_uint_eq(file_hits(0, 0), 0);
}
END_TEST

/* Killed while it wrote: neither the image nor the file was closed. */
START_TEST(file_after_a_crash)
{
	static const uint8_t nothing[64];
	uint8_t head[64];
	int status, fd;
	pid_t child;

	make();
	file_hits(0, 0);
	let_time_pass();
	child = fork();
	if (child == 0) {
		struct bd_error err = {0};
		struct bd_node *node;
		uint8_t buf[512];

		bd_queue_new("sync", 64, &queue, &err);
		node = image_open("a", with_file(), BD_O_RDWR);
		memset(buf, 5 + 1 + 100, sizeof(buf));
		bd_pwrite(node, 5 * TABLE_SPAN, buf, sizeof(buf));
		bd_sync(node);
		_exit(7);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(WEXITSTATUS(status), 7);
	/* Void by itself, not only because the image's times have changed. */
	fd = open(image_path("cache"), O_RDONLY);
	ck_assert_int_eq(pread(fd, head, sizeof(head), 0), sizeof(head));
	ck_assert_mem_eq(head, nothing, sizeof(head));
	close(fd);
	ck_assert_uint_eq(file_hits(0, 100), 0);
}
END_TEST

/* Every table in the file is spoilt: each is read from the image instead. */
START_TEST(file_with_damage)
{
	uint8_t noise[4096];
	struct stat st;
	int fd;

	make();
	file_hits(0, 0);
	fd = open(image_path("cache"), O_RDWR);
	ck_assert_int_eq(fstat(fd, &st), 0);
	memset(noise, 0x80, sizeof(noise));
	for (off_t off = 4096 + 4096; off < st.st_size; off += (off_t)sizeof(noise))
		ck_assert_int_eq(pwrite(fd, noise, sizeof(noise), off), sizeof(noise));
	close(fd);
	ck_assert_uint_eq(file_hits(0, 0), 0);
}
END_TEST

static unsigned warnings;

static void warn(const char *line, void *user)
{
	(void)user;
	warnings += !strncmp(line, "warning: ", 9);
}

START_TEST(file_that_cannot_be)
{
	struct bd_node *node;

	make();
	warnings = 0;
	bd_set_report(warn, NULL);
	node = image_open("a", TWO_SLOTS ",l2-cache-file=/nonexistent/cache", 0);
	for (unsigned i = 0; i < TABLES; i++)
		read_table(node, i, 0);
	image_close(node);
	bd_set_report(NULL, NULL);
	ck_assert_uint_eq(warnings, 1);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("L2 cache");

	tcase_add_checked_fixture(tcase, image_set_up, image_tear_down);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, least_recent_goes);
	if (!UNDER_TSAN)
		tcase_add_test(tcase, clean_up_returns_memory);
	tcase_add_test(tcase, file_serves_the_next_open);
	tcase_add_test(tcase, file_of_a_changed_image);
	tcase_add_test(tcase, file_of_a_restored_copy);
	tcase_add_test(tcase, file_after_a_crash);
	tcase_add_test(tcase, file_with_damage);
	tcase_add_test(tcase, file_that_cannot_be);
	return suite_run("L2 cache", tcase, CK_FORK);
}
