/* SPDX-License-Identifier: MIT */
/* qimg-io: open, close, reopen, and what concerns the image as a whole. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blockdev/include/info.h"
#include "qimg/info_print.h"
#include "qimg/io.h"
#include "qimg/report.h"

int io_cache_mode(const char *mode, unsigned *flags)
{
	if (bd_cache_mode(mode, flags) == 0)
		return 0;
	report_error("Invalid cache option: %s", mode);
	return -EINVAL;
}

static int discard_mode(const char *mode, unsigned *flags)
{
	*flags &= ~(unsigned)BD_O_UNMAP;
	if (!strcmp(mode, "unmap") || !strcmp(mode, "on"))
		*flags |= BD_O_UNMAP;
	else if (strcmp(mode, "ignore") && strcmp(mode, "off")) {
		report_error("Invalid discard option: %s", mode);
		return -EINVAL;
	}
	return 0;
}

int io_join_options(char **options, const char *more)
{
	char *joined;

	if (asprintf(&joined, "%s%s%s", *options ? *options : "", *options ? "," : "", more) < 0)
		return -ENOMEM;
	free(*options);
	*options = joined;
	return 0;
}

static int open_letter(int letter, struct io_open *how, char **options)
{
	switch (letter) {
	case 's': how->snapshot = true; return 0;
	case 'n': return io_cache_mode("none", &how->flags);
	case 'C': how->copy_on_read = true; return 0;
	case 'r': how->flags &= ~(unsigned)BD_O_RDWR; return 0;
	case 'k': how->flags |= BD_O_NATIVE_AIO; return 0;
	case 'U': how->flags |= BD_O_FORCE_SHARE; return 0;
	case 't': return io_cache_mode(optarg, &how->flags);
	case 'd': return discard_mode(optarg, &how->flags);
	case 'o':
		report_short_forms(optarg, false);
		return io_join_options(options, optarg);
	default: return -EINVAL;
	}
}

static int run_open(struct io_state *io, int argc, char **argv)
{
	struct io_open how = {.flags = BD_O_RDWR | BD_O_UNMAP | BD_O_WRITETHROUGH};
	char *options = NULL;
	int letter, ret = 0;

	while (ret == 0 &&
	       (letter = io_getopt(io_find("open"), argc, argv, "snCro:ki:t:d:U")) != -1)
		ret = open_letter(letter, &how, &options);
	if (ret == 0 && optind < argc - 1) {
		io_usage(io_find("open"));
		ret = -EINVAL;
	}
	if (ret == 0 && io->node) {
		report_error("file open already, try 'help close'");
		ret = -EBUSY;
	}
	if (ret == 0)
		ret = io_open_image(io, optind < argc ? argv[optind] : NULL, options, &how);
	free(options);
	return ret;
}

static int run_close(struct io_state *io, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return io_close_image(io);
}

static int run_length(struct io_state *io, int argc, char **argv)
{
	char text[64];

	(void)argc;
	(void)argv;
	io_size_text(text, sizeof(text), (double)bd_size(io->node));
	puts(text);
	return 0;
}

static int run_info(struct io_state *io, int argc, char **argv)
{
	struct bd_error err = {0};
	struct bd_info info;
	char text[64];
	int ret = bd_info_get(io->node, &info, &err);

	(void)argc;
	(void)argv;
	if (ret < 0)
		return ret;
	printf("format name: %s\n", bd_format_name(io->node));
	io_size_text(text, sizeof(text), (double)info.cluster_size);
	printf("cluster size: %s\n", text);
	io_size_text(text, sizeof(text), (double)info.vm_state_off);
	printf("vm state offset: %s\n", text);
	info_print_specific(stdout, &info);
	bd_info_clear(&info);
	return 0;
}

static int run_truncate(struct io_state *io, int argc, char **argv)
{
	struct bd_error err = {0};
	const char *prealloc = "off";
	int64_t size;
	int letter, ret;

	while ((letter = io_getopt(io_find("truncate"), argc, argv, "m:")) != -1) {
		if (letter == '?')
			return -EINVAL;
		prealloc = optarg;
	}
	if (strcmp(prealloc, "off") && strcmp(prealloc, "metadata") &&
	    strcmp(prealloc, "falloc") && strcmp(prealloc, "full")) {
		report_error("Invalid preallocation mode '%s'", prealloc);
		return -EINVAL;
	}
	size = optind < argc ? io_number(argv[optind]) : -EINVAL;
	if (size < 0)
		return (int)size;
	io_aio_drain(io);
	ret = bd_resize(io->node, (uint64_t)size, prealloc, true, &err);
	if (ret < 0)
		report_failure(&err, "%s", "");
	return ret;
}

/* Is the extent at @off in the image itself (*yes), and how far. */
static int allocated(struct io_state *io, uint64_t off, uint64_t len, bool *yes, uint64_t *run)
{
	struct bd_extent ext;
	int ret = bd_map_above(io->node, bd_backing(io->node), off, len, &ext, 1);

	if (ret < 0)
		return ret;
	*yes = ext.kind != BD_UNALLOCATED;
	*run = ext.len;
	return 0;
}

static int run_alloc(struct io_state *io, int argc, char **argv)
{
	int64_t off = io_number(argv[1]), count = argc == 3 ? io_number(argv[2]) : 512;
	uint64_t total = 0, at, end, size = bd_size(io->node);
	char text[64];

	if (off < 0 || count < 0)
		return -EINVAL;
	at = (uint64_t)off < size ? (uint64_t)off : size;
	end = size - at > (uint64_t)count ? at + (uint64_t)count : size;
	count = (int64_t)(end - at);
	while (at < end) {
		uint64_t run;
		bool yes;
		int ret = allocated(io, at, end - at, &yes, &run);

		if (ret < 0) {
			printf("is_allocated failed: %s\n", strerror(-ret));
			return ret;
		}
		total += yes ? run : 0;
		at += run;
	}
	io_size_text(text, sizeof(text), (double)off);
	printf("%llu/%lld bytes allocated at offset %s\n", (unsigned long long)total,
	       (long long)count, text);
	return 0;
}

static int run_map(struct io_state *io, int argc, char **argv)
{
	uint64_t at = 0, size = bd_size(io->node);

	(void)argc;
	(void)argv;
	while (at < size) {
		char length[64], where[64];
		uint64_t start = at, run;
		bool yes = false, same;

		do {
			int ret = allocated(io, at, size - at, &same, &run);

			if (ret < 0) {
				report_error("Failed to get allocation status: %s", strerror(-ret));
				return ret;
			}
			if (at == start)
				yes = same;
			if (same == yes)
				at += run;
		} while (same == yes && at < size);
		io_size_text(length, sizeof(length), (double)(at - start));
		io_size_text(where, sizeof(where), (double)start);
		printf("%s (0x%llx) bytes %s allocated at offset %s (0x%llx)\n", length,
		       (unsigned long long)(at - start), yes ? "   " : "not", where,
		       (unsigned long long)start);
	}
	return 0;
}

static int run_flush(struct io_state *io, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return bd_sync(io->node);
}

static int run_discard(struct io_state *io, int argc, char **argv)
{
	bool csv = false, quiet = false;
	struct timespec start;
	int64_t off, len;
	int letter, ret;

	while ((letter = io_getopt(io_find("discard"), argc, argv, "Cq")) != -1) {
		if (letter == '?')
			return -EINVAL;
		csv = csv || letter == 'C';
		quiet = quiet || letter == 'q';
	}
	if (optind != argc - 2) {
		io_usage(io_find("discard"));
		return -EINVAL;
	}
	off = io_number(argv[optind]);
	len = off < 0 ? off : io_number(argv[optind + 1]);
	if (len < 0)
		return (int)len;
	if (len > IO_LEN_MAX) {
		printf("length cannot exceed %d, given %s\n", IO_LEN_MAX, argv[optind + 1]);
		return -EINVAL;
	}
	start = io_now();
	ret = bd_pdiscard(io->node, (uint64_t)off, (uint64_t)len);
	if (ret < 0)
		printf("discard failed: %s\n", strerror(-ret));
	else if (!quiet)
		io_report(io, "discard", start, (uint64_t)off, (uint64_t)len, csv);
	return ret;
}

const struct io_command io_file_commands[] = {
	{"open", "o", run_open, 1, -1, false, false,
	 "[-rsCnkU] [-t cache] [-d discard] [-o options] [path]",
	 "open the file specified by path",
	 "-r read-only, -s temporary overlay, -C copy on read, -n no host cache, -k native aio,\n"
	 " -U force share, -t cache mode, -d discard mode, -o options"},
	{"close", "c", run_close, 0, 0, true, false, NULL, "close the current open file", NULL},
	{"reopen", NULL, io_run_reopen, 0, -1, true, false, "[(-r|-w)] [-c cache] [-o options]",
	 "reopens an image with new options",
	 "-r read-only, -w writable, -c cache mode, -o options"},
	{"length", "l", run_length, 0, 0, true, false, NULL, "gets the length of the current file",
	 NULL},
	{"info", "i", run_info, 0, 0, true, false, NULL,
	 "prints information about the current file", NULL},
	{"truncate", "t", run_truncate, 1, 3, true, true, "[-m prealloc_mode] off",
	 "truncates the current file at the given offset", NULL},
	{"alloc", "a", run_alloc, 1, 2, true, false, "offset [count]",
	 "checks if offset is allocated in the file", NULL},
	{"map", NULL, run_map, 0, 0, true, false, "", "prints the allocated areas of a file", NULL},
	{"flush", "f", run_flush, 0, 0, true, false, NULL,
	 "flush all in-core file state to disk", NULL},
	{"discard", "d", run_discard, 2, -1, true, true, "[-Cq] off len",
	 "discards a number of bytes at a specified offset", "-C CSV, -q quiet"},
	{0},
};
