/* SPDX-License-Identifier: MIT */
/* qimg-io: read, readv, write, writev. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blockdev/include/snapshot.h"
#include "qimg/io.h"

/* What the letters of one command said. */
struct rw {
	bool vmstate, compress, csv, fua, no_fallback, quiet, unmap, zero, dump;
	bool has_pattern, has_verify_off, has_verify_len;
	int pattern;
	int64_t verify_off, verify_len, off, len;
	const char *source;
};

static int take_letter(struct rw *rw, int letter, bool reading)
{
	switch (letter) {
	case 'a': case 'p': case 'r': break;
	case 'b': rw->vmstate = true; break;
	case 'c': rw->compress = true; break;
	case 'C': rw->csv = true; break;
	case 'f': rw->fua = true; break;
	case 'n': rw->no_fallback = true; break;
	case 'q': rw->quiet = true; break;
	case 'u': rw->unmap = true; break;
	case 'v': rw->dump = true; break;
	case 'z': rw->zero = true; break;
	case 'P':
		rw->has_pattern = true;
		rw->pattern = io_pattern(optarg);
		return rw->pattern < 0 ? -EINVAL : 0;
	case 'l':
		rw->has_verify_len = true;
		rw->verify_len = io_number(optarg);
		return rw->verify_len < 0 ? -EINVAL : 0;
	case 's':
		if (!reading) {
			rw->source = optarg;
			return 0;
		}
		rw->has_verify_off = true;
		rw->verify_off = io_number(optarg);
		return rw->verify_off < 0 ? -EINVAL : 0;
	default:
		return -EINVAL;
	}
	return 0;
}

static int take_letters(struct rw *rw, const char *name, int argc, char **argv,
			const char *letters, bool reading)
{
	const struct io_command *command = io_find(name);
	int letter, ret;

	while ((letter = io_getopt(command, argc, argv, letters)) != -1) {
		ret = take_letter(rw, letter, reading);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int take_range(struct rw *rw, const char *name, int argc, char **argv)
{
	bool reading = !strcmp(name, "read");

	if (optind != argc - 2) {
		io_usage(io_find(name));
		return -EINVAL;
	}
	rw->off = io_number(argv[optind]);
	if (rw->off < 0)
		return (int)rw->off;
	rw->len = io_number(argv[optind + 1]);
	if (rw->len < 0)
		return (int)rw->len;
	/* The format is told in one piece what to zero, if it can: any length will do. */
	if (rw->len > IO_LEN_MAX && !rw->no_fallback) {
		printf("length cannot exceed %d%s, given %s\n", IO_LEN_MAX,
		       reading ? "" : " without -n", argv[optind + 1]);
		return -EINVAL;
	}
	return 0;
}

static int check_sectors(const struct rw *rw)
{
	if (!rw->vmstate)
		return 0;
	if (rw->off & 511) {
		printf("%lld is not a sector-aligned value for 'offset'\n", (long long)rw->off);
		return -EINVAL;
	}
	if (rw->len & 511) {
		printf("%lld is not a sector-aligned value for 'count'\n", (long long)rw->len);
		return -EINVAL;
	}
	return 0;
}

static void done(struct bd_request *req)
{
	int *state = req->user;

	*state = req->res < 0 ? req->res : 1;
	bd_request_put(req);
}

/* One request, waited for.  Writes and reads share it. */
static int await(struct io_state *io, void (*start)(struct bd_request *), int64_t off,
		 uint64_t len, struct iovec *iov, int niov, unsigned flags)
{
	struct bd_request *req;
	int state = 0;

	while (!(req = bd_request_get(io->queue)))
		bd_queue_poll(io->queue, true);
	req->node = io->node;
	req->off = (uint64_t)off;
	req->len = len;
	req->iov = iov;
	req->niov = niov;
	req->flags = flags;
	req->done = done;
	req->user = &state;
	start(req);
	while (!state) {
		if (bd_queue_poll(io->queue, true) < 0)
			return -EIO;
	}
	return state < 0 ? state : 0;
}

static int read_options(struct rw *rw, int argc, char **argv)
{
	int ret = take_letters(rw, "read", argc, argv, "abCl:pP:qrs:v", true);

	if (ret == 0)
		ret = !rw->has_pattern && (rw->has_verify_off || rw->has_verify_len) ? -EINVAL : 0;
	else
		return ret;
	if (ret < 0) {
		io_usage(io_find("read"));
		return ret;
	}
	ret = take_range(rw, "read", argc, argv);
	if (ret < 0)
		return ret;
	if (!rw->has_verify_len)
		rw->verify_len = rw->len - rw->verify_off;
	if (rw->verify_off < 0 || rw->verify_len < 0 || rw->verify_off + rw->verify_len > rw->len) {
		printf("pattern verification range exceeds end of read data\n");
		return -EINVAL;
	}
	return check_sectors(rw);
}

/* The VM state, with nothing else in flight. */
static int read_state(struct io_state *io, const struct rw *rw, uint8_t *buf)
{
	io_aio_drain(io);
	return bd_vmstate_read(io->node, (uint64_t)rw->off, buf, (size_t)rw->len);
}

static int write_state(struct io_state *io, const struct rw *rw, const uint8_t *buf)
{
	io_aio_drain(io);
	return bd_vmstate_write(io->node, (uint64_t)rw->off, buf, (size_t)rw->len);
}

static int run_read(struct io_state *io, int argc, char **argv)
{
	struct rw rw = {0};
	int ret = read_options(&rw, argc, argv);
	struct timespec start;
	struct iovec iov;
	uint8_t *buf;

	if (ret < 0)
		return ret;
	buf = io_buffer_new(io, (size_t)rw.len, 0xab);
	if (!buf)
		return -ENOMEM;
	iov = (struct iovec){buf, (size_t)rw.len};
	start = io_now();
	if (rw.vmstate)
		ret = read_state(io, &rw, buf);
	else
		ret = io_keep_read(io, (uint64_t)rw.off, (uint64_t)rw.len);
	if (ret >= 0 && !rw.vmstate)
		ret = await(io, bd_read, rw.off, (uint64_t)rw.len, &iov, 1, 0);
	if (ret < 0) {
		printf("read failed: %s\n", strerror(-ret));
		goto out;
	}
	if (rw.has_pattern && !io_verify(buf + rw.verify_off, rw.pattern,
					 (uint64_t)(rw.off + rw.verify_off),
					 (size_t)rw.verify_len))
		ret = -EINVAL;
	if (rw.quiet)
		goto out;
	if (rw.dump)
		io_dump(buf, (uint64_t)rw.off, (size_t)rw.len);
	io_report(io, "read", start, (uint64_t)rw.off, (uint64_t)rw.len, rw.csv);
out:
	io_buffer_free(io, buf);
	return ret;
}

static int no(const char *text)
{
	printf("%s\n", text);
	return -EINVAL;
}

static int write_options(struct rw *rw, int argc, char **argv)
{
	int ret = take_letters(rw, "write", argc, argv, "bcCfnpP:qrs:uz", false);

	if (ret < 0)
		return ret;
	if (optind != argc - 2) {
		io_usage(io_find("write"));
		return -EINVAL;
	}
	if (rw->vmstate && rw->zero)
		return no("-b and -z cannot be specified at the same time");
	if (rw->fua && (rw->vmstate || rw->compress))
		return no("-f and -b or -c cannot be specified at the same time");
	if (rw->no_fallback && !rw->zero)
		return no("-n requires -z to be specified");
	if (rw->unmap && !rw->zero)
		return no("-u requires -z to be specified");
	if (rw->zero + rw->has_pattern + (rw->source != NULL) > 1)
		return no("Only one of -z, -P, and -s can be specified at the same time");
	ret = take_range(rw, "write", argc, argv);
	return ret < 0 ? ret : check_sectors(rw);
}

/* Cluster by cluster, as the engine takes them. */
static int write_packed(struct io_state *io, const struct rw *rw, uint8_t *buf)
{
	uint64_t cluster = bd_cluster_size(io->node), len = (uint64_t)rw->len;
	int ret = 0;

	if (!cluster)
		return -ENOTSUP;
	for (uint64_t at = 0; at < len && ret == 0; at += cluster) {
		uint64_t part = len - at < cluster ? len - at : cluster;
		struct iovec iov = {buf + at, part};

		ret = await(io, bd_write_compressed, rw->off + (int64_t)at, part, &iov, 1, 0);
	}
	return ret;
}

static int run_write(struct io_state *io, int argc, char **argv)
{
	struct rw rw = {.pattern = 0xcd};
	int ret = write_options(&rw, argc, argv);
	unsigned flags = (rw.fua ? BD_REQ_FUA : 0) | (rw.unmap ? BD_REQ_UNMAP : 0) |
			 (rw.no_fallback ? BD_REQ_NO_FALLBACK : 0);
	struct timespec start;
	struct iovec iov;
	uint8_t *buf = NULL;

	if (ret < 0)
		return ret;
	if (!rw.zero) {
		buf = rw.source ? io_buffer_from_file(io, (size_t)rw.len, rw.source)
				: io_buffer_new(io, (size_t)rw.len, rw.pattern);
		if (!buf)
			return -EINVAL;
	}
	iov = (struct iovec){buf, (size_t)rw.len};
	start = io_now();
	if (rw.vmstate)
		ret = write_state(io, &rw, buf);
	else if (rw.compress && !rw.zero)
		ret = write_packed(io, &rw, buf);
	else
		ret = await(io, rw.zero ? bd_write_zeroes : bd_write, rw.off, (uint64_t)rw.len,
			    &iov, buf ? 1 : 0, flags);
	if (ret < 0)
		printf("write failed: %s\n", strerror(-ret));
	else if (!rw.quiet)
		io_report(io, "wrote", start, (uint64_t)rw.off, (uint64_t)rw.len, rw.csv);
	io_buffer_free(io, buf);
	return ret;
}

/* readv and writev: the lengths behind the offset, one buffer. */
static int run_vector(struct io_state *io, int argc, char **argv, bool reading)
{
	const char *name = reading ? "readv" : "writev";
	struct rw rw = {.pattern = reading ? 0xab : 0xcd};
	int ret = take_letters(&rw, name, argc, argv, reading ? "CP:qrv" : "CfqrP:", reading);
	struct iovec *iov;
	struct timespec start;
	int nr = argc - optind - 1;
	uint8_t *buf, *at;
	int64_t total;

	if (ret < 0)
		return ret;
	if (nr < 1) {
		io_usage(io_find(name));
		return -EINVAL;
	}
	rw.off = io_number(argv[optind]);
	if (rw.off < 0)
		return (int)rw.off;
	iov = calloc((size_t)nr, sizeof(*iov));
	total = iov ? io_vector(argv + optind + 1, nr, iov) : -ENOMEM;
	buf = total < 0 ? NULL : io_buffer_new(io, (size_t)total, rw.pattern);
	if (!buf) {
		free(iov);
		return total < 0 ? (int)total : -ENOMEM;
	}
	at = buf;
	for (int i = 0; i < nr; at += iov[i++].iov_len)
		iov[i].iov_base = at;
	start = io_now();
	ret = reading ? io_keep_read(io, (uint64_t)rw.off, (uint64_t)total) : 0;
	if (ret == 0)
		ret = await(io, reading ? bd_read : bd_write, rw.off, (uint64_t)total, iov, nr,
			    rw.fua ? BD_REQ_FUA : 0);
	if (ret < 0)
		printf("%s failed: %s\n", name, strerror(-ret));
	if (ret == 0 && reading && rw.has_pattern &&
	    !io_verify(buf, rw.pattern, (uint64_t)rw.off, (size_t)total))
		ret = -EINVAL;
	if ((ret == 0 || ret == -EINVAL) && !rw.quiet) {
		if (rw.dump)
			io_dump(buf, (uint64_t)rw.off, (size_t)total);
		io_report(io, reading ? "read" : "wrote", start, (uint64_t)rw.off,
			  (uint64_t)total, rw.csv);
	}
	io_buffer_free(io, buf);
	free(iov);
	return ret;
}

static int run_readv(struct io_state *io, int argc, char **argv)
{
	return run_vector(io, argc, argv, true);
}

static int run_writev(struct io_state *io, int argc, char **argv)
{
	return run_vector(io, argc, argv, false);
}

const struct io_command io_rw_commands[] = {
	{"read", "r", run_read, 2, -1, true, false,
	 "[-abCqv] [-P pattern [-s off] [-l len]] off len",
	 "reads a number of bytes at a specified offset",
	 "-b VM state, -C figures as CSV, -P verify a pattern (-s, -l: where), -q quiet, -v dump"},
	{"readv", NULL, run_readv, 2, -1, true, false, "[-Cqv] [-P pattern] off len [len..]",
	 "reads a number of bytes at a specified offset",
	 "one buffer per length; -C CSV, -P verify a pattern, -q quiet, -v dump"},
	{"write", "w", run_write, 2, -1, true, true,
	 "[-bcCfnquz] [-P pattern | -s source_file] off len",
	 "writes a number of bytes at a specified offset",
	 "-b VM state, -c compressed, -C CSV, -f to stable storage, -n with -z: fail rather than\n"
	 " write zero bytes, -P pattern, -q quiet, -s data from a file,\n"
	 " -u with -z: unmap, -z zeroes"},
	{"writev", NULL, run_writev, 2, -1, true, true, "[-Cfq] [-P pattern] off len [len..]",
	 "writes a number of bytes at a specified offset",
	 "one buffer per length; -C CSV, -f to stable storage, -P pattern, -q quiet"},
	{0},
};
