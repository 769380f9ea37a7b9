/* SPDX-License-Identifier: MIT */
/* qimg-io: aio_read, aio_write, aio_flush. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "qimg/io.h"

/* One request in flight. */
struct aio {
	struct io_state *io;
	bool reading, quiet, csv, dump, has_pattern, invalid;
	int pattern;
	uint64_t off, len;
	uint8_t *buf;
	struct iovec *iov;
	int niov;
	unsigned flags;
	struct timespec start;
};

static unsigned in_flight;

static void aio_free(struct aio *aio)
{
	io_buffer_free(aio->io, aio->buf);
	free(aio->iov);
	free(aio);
}

static void aio_done(struct bd_request *req)
{
	struct aio *aio = req->user;

	in_flight--;
	if (req->res < 0) {
		printf("%s failed: %s\n", aio->reading ? "readv" : "aio_write",
		       strerror(-req->res));
		goto out;
	}
	if (aio->has_pattern && aio->reading)
		io_verify(aio->buf, aio->pattern, aio->off, aio->len);
	if (aio->quiet)
		goto out;
	if (aio->dump)
		io_dump(aio->buf, aio->off, aio->len);
	io_report(aio->io, aio->reading ? "read" : "wrote", aio->start, aio->off, aio->len,
		  aio->csv);
out:
	aio_free(aio);
	bd_request_put(req);
}

void io_aio_drain(struct io_state *io)
{
	while (in_flight) {
		if (bd_queue_poll(io->queue, true) < 0)
			break;
	}
}

static void submit(struct aio *aio, bool zero)
{
	struct io_state *io = aio->io;
	struct bd_request *req;

	while (!(req = bd_request_get(io->queue)))
		bd_queue_poll(io->queue, true);
	req->node = io->node;
	req->off = aio->off;
	req->len = aio->len;
	req->iov = aio->iov;
	req->niov = aio->niov;
	req->flags = aio->flags;
	req->done = aio_done;
	req->user = aio;
	in_flight++;
	aio->start = io_now();
	if (zero)
		bd_write_zeroes(req);
	else if (aio->reading)
		bd_read(req);
	else
		bd_write(req);
	bd_queue_poll(io->queue, false);
}

static int take_letter(struct aio *aio, int letter, bool *zero)
{
	switch (letter) {
	case 'C': aio->csv = true; return 0;
	case 'f': aio->flags |= BD_REQ_FUA; return 0;
	case 'i': aio->invalid = true; return 0;
	case 'r': return 0;
	case 'q': aio->quiet = true; return 0;
	case 'u': aio->flags |= BD_REQ_UNMAP; return 0;
	case 'v': aio->dump = true; return 0;
	case 'z': *zero = true; return 0;
	case 'P':
		aio->has_pattern = true;
		aio->pattern = io_pattern(optarg);
		return aio->pattern < 0 ? -EINVAL : 0;
	default:
		return -EINVAL;
	}
}

static int take_data(struct aio *aio, int nr, char **words)
{
	int64_t total;
	uint8_t *at;

	aio->iov = calloc((size_t)nr, sizeof(*aio->iov));
	if (!aio->iov)
		return -ENOMEM;
	total = io_vector(words, nr, aio->iov);
	if (total < 0)
		return (int)total;
	aio->niov = nr;
	aio->len = (uint64_t)total;
	aio->buf = io_buffer_new(aio->io, (size_t)total, aio->reading ? 0xab : aio->pattern);
	if (!aio->buf)
		return -ENOMEM;
	at = aio->buf;
	for (int i = 0; i < nr; at += aio->iov[i++].iov_len)
		aio->iov[i].iov_base = at;
	return 0;
}

static int take(struct aio *aio, const char *name, int argc, char **argv, bool *zero)
{
	const struct io_command *command = io_find(name);
	int letter, nr;
	int64_t off;

	while ((letter = io_getopt(command, argc, argv, aio->reading ? "CP:iqrv"
								     : "CfiqrP:uz")) != -1) {
		if (take_letter(aio, letter, zero) < 0)
			return -EINVAL;
	}
	nr = argc - optind - 1;
	if (nr < 1) {
		io_usage(command);
		return -EINVAL;
	}
	if (*zero && nr != 1) {
		printf("-z supports only a single length parameter\n");
		return -EINVAL;
	}
	if (aio->flags & BD_REQ_UNMAP && !*zero) {
		printf("-u requires -z to be specified\n");
		return -EINVAL;
	}
	off = io_number(argv[optind]);
	if (off < 0)
		return (int)off;
	aio->off = (uint64_t)off;
	if (*zero) {
		int64_t len = io_number(argv[optind + 1]);

		aio->len = len < 0 ? 0 : (uint64_t)len;
		return len < 0 ? (int)len : 0;
	}
	return take_data(aio, nr, argv + optind + 1);
}

static int start(struct io_state *io, const char *name, int argc, char **argv, bool reading)
{
	struct aio *aio = calloc(1, sizeof(*aio));
	bool zero = false;
	int ret;

	if (!aio)
		return -ENOMEM;
	aio->io = io;
	aio->reading = reading;
	aio->pattern = 0xcd;
	ret = take(aio, name, argc, argv, &zero);
	if (ret < 0) {
		aio_free(aio);
		return ret;
	}
	if (aio->invalid) {
		/* One for statistics that nobody here reads. */
		printf("injecting invalid %s request\n", reading ? "read" : "write");
		aio_free(aio);
		return 0;
	}
	ret = reading ? io_keep_read(io, aio->off, aio->len) : 0;
	if (ret < 0) {
		printf("readv failed: %s\n", strerror(-ret));
		aio_free(aio);
		return 0;
	}
	submit(aio, zero);
	return 0;
}

static int run_read(struct io_state *io, int argc, char **argv)
{
	return start(io, "aio_read", argc, argv, true);
}

static int run_write(struct io_state *io, int argc, char **argv)
{
	return start(io, "aio_write", argc, argv, false);
}

static int run_flush(struct io_state *io, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	io_aio_drain(io);
	return 0;
}

const struct io_command io_aio_commands[] = {
	{"aio_read", NULL, run_read, 2, -1, true, false,
	 "[-Ciqv] [-P pattern] off len [len..]", "asynchronously reads a number of bytes",
	 "the result is printed when it is there; aio_flush waits for all"},
	{"aio_write", NULL, run_write, 2, -1, true, true,
	 "[-Cfiquz] [-P pattern] off len [len..]", "asynchronously writes a number of bytes",
	 "the result is printed when it is there; aio_flush waits for all"},
	{"aio_flush", NULL, run_flush, 0, 0, true, false, NULL,
	 "completes all outstanding aio requests", NULL},
	{0},
};
