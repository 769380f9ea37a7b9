/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a qcow2 image: open, map, read and check it; change and mend a copy.  Images with AES
 * get their key.  Of LUKS only the header is looked at: a key would cost its rounds.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "blockdev/include/blockdev.h"
#include "blockdev/include/check.h"
#include "blockdev/include/info.h"
#include "blockdev/include/inspect.h"
#include "blockdev/include/secret.h"
#include "tests/fuzz/fuzz_queue.h"

enum { READ_BYTES = 1 << 16, READS = 32, EXTENTS = 16, MAPS = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t buf[READ_BYTES];

enum { CRYPT_METHOD = 35, AES = 1 }; /* the lowest byte of that field in a qcow2 header */

/* The options of an image with AES. */
static struct bd_opts *key_options(void)
{
	static struct bd_opts *opts;
	struct bd_opts *secret;

	if (opts)
		return opts;
	opts = bd_opts_new();
	secret = bd_opts_new();
	if (!opts || !secret || bd_opts_set(opts, "encrypt.key-secret", "k") < 0 ||
	    bd_opts_set(secret, "id", "k") < 0 || bd_opts_set(secret, "data", "pass") < 0 ||
	    bd_secret_add(secret, NULL) < 0)
		abort();
	bd_opts_free(secret);
	return opts;
}

static int image_fd(const uint8_t *data, size_t size)
{
	int fd = memfd_create("image", 0);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	return fd;
}

static struct bd_node *image_open(int fd, const char *format, unsigned flags)
{
	char name[64];
	struct bd_open_args args = { .filename = name, .format = format,
				     .flags = flags | BD_O_NO_FOLLOW | BD_O_NO_BACKING };
	uint8_t method = 0;
	struct bd_error err = { 0 };
	struct bd_node *node = NULL;
	int ret;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	if (pread(fd, &method, 1, CRYPT_METHOD) == 1 && method == AES)
		args.opts = key_options();
	ret = bd_open(the_queue(), &args, &node, &err);
	/* A failure has a text, and no node. */
	if ((ret < 0) != (node == NULL) || (ret < 0 && !err.msg[0]))
		abort();
	return node;
}

/* The n-th of the places looked at: near the start, near the end, and between. */
static uint64_t place(uint64_t size, unsigned n)
{
	if (n < READS / 2)
		return (uint64_t)n * 500;
	if (n < READS / 2 + 4)
		return size > READ_BYTES ? size - READ_BYTES / (n - READS / 2 + 1) : 0;
	return size / READS * n;
}

static void look(struct bd_node *node)
{
	uint64_t size = bd_size(node), off = 0;
	struct bd_extent ext[EXTENTS];
	struct bd_info info = { 0 };

	for (unsigned i = 0; i < MAPS && off < size; i++) {
		int nr = bd_map(node, off, size - off, ext, EXTENTS);

		if (nr < 0)
			break;
		for (int e = 0; e < nr; e++) {
			/* In order, without gaps, inside the disk. */
			if (ext[e].guest_off != off || !ext[e].len || ext[e].len > size - off)
				abort();
			off += ext[e].len;
		}
	}
	for (unsigned i = 0; i < READS; i++) {
		uint64_t at = place(size, i), len = i % 4 ? 700 : READ_BYTES;

		if (at < size)
			bd_pread(node, at, buf, (size_t)(len < size - at ? len : size - at));
	}
	if (bd_info_get(node, &info, NULL) == 0)
		bd_info_clear(&info);
}

static void check(int fd, unsigned fix)
{
	struct bd_node *node = image_open(fd, "qcow2", BD_O_CHECK | (fix ? BD_O_RDWR : 0));
	struct bd_check result = { .report = no_report };

	if (!node)
		return;
	bd_check(node, fix, &result, NULL);
	bd_close(node);
}

static void change(int fd, const uint8_t *data, size_t size)
{
	struct bd_node *node = image_open(fd, "qcow2", BD_O_RDWR | BD_O_RESIZE | BD_O_UNMAP);
	uint64_t disk;

	if (!node)
		return;
	disk = bd_size(node);
	/* The last bytes of the input choose what is done, and where. */
	for (size_t i = 0; i < 8 && i < size; i++) {
		uint8_t byte = data[size - 1 - i];
		uint64_t off = place(disk, byte & (READS - 1)), len = 1u << (byte >> 5);

		if (off + len * 100 > disk)
			continue;
		switch (byte >> 5) {
		case 0:
			bd_sync(node);
			break;
		case 1:
		case 2:
			bd_pwrite_zeroes(node, off, len * 100, BD_REQ_UNMAP);
			break;
		case 3:
			bd_pdiscard(node, off, len * 100);
			break;
		default:
			bd_pwrite(node, off, buf, (size_t)len * 100);
		}
	}
	if (disk < UINT64_MAX / 4 && size && data[size - 1] & 1)
		bd_resize(node, disk + (data[size - 1] & 0xf0) * 64, "off", false, NULL);
	bd_close(node);
}

/* What can be said of it without its data. */
static void describe(int fd, const char *format)
{
	struct bd_node *node = image_open(fd, format, BD_O_NO_IO);
	struct bd_info info = { 0 };

	if (!node)
		return;
	if (bd_info_get(node, &info, NULL) == 0)
		bd_info_clear(&info);
	bd_close(node);
}

/* The annotated dump, of everything and of one guest offset. */
static void dump(int fd, uint64_t guest)
{
	struct bd_node *node = image_open(fd, "raw", 0);
	struct bd_inspect_args args = { .node = node, .guest = guest };
	json_t *result = NULL;

	if (!node)
		return;
	for (int path = 0; path < 2; path++) {
		args.path = path;
		if ((bd_inspect(&args, &result, NULL) < 0) != (result == NULL))
			abort();
		json_decref(result);
	}
	bd_close(node);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = image_fd(data, size), copy = image_fd(data, size);
	struct bd_node *node = image_open(fd, "qcow2", 0);

	describe(fd, "qcow2");
	describe(fd, "luks");
	dump(fd, size ? (uint64_t)data[size - 1] << 16 : 0);
	if (node) {
		look(node);
		bd_close(node);
	}
	check(fd, 0);
	change(copy, data, size);
	check(copy, BD_FIX_LEAKS | BD_FIX_ERRORS);
	close(fd);
	close(copy);
	return 0;
}
