/* SPDX-License-Identifier: MIT */
/* qimg-io --journal: random writes, each noted on stable storage before it is made. */
#include "qimg/io_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blockdev/include/blockdev.h"
#include "qimg/report.h"

enum { BATCH = 16, MAX_BLOCKS = 64, FLUSH_EVERY = 4 };

/* One write of a batch. */
struct entry {
	uint64_t nr, off, len;
	bool zero;
	uint8_t *buf;
};

struct writer {
	struct bd_node *node;
	int fd;
	uint64_t random, next; /* state of the generator; number of the next write */
	unsigned in_flight;
	int res;               /* first error of a write */
	struct entry batch[BATCH];
};

static uint64_t next_random(uint64_t *state)
{
	/* splitmix64: any state will do */
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

void io_journal_fill(uint8_t *buf, uint64_t nr, uint64_t sector)
{
	uint64_t words[JOURNAL_SECTOR / 8] = { nr, sector }, state = nr << 32 ^ sector;

	for (size_t i = 2; i < JOURNAL_SECTOR / 8; i++)
		words[i] = next_random(&state);
	memcpy(buf, words, JOURNAL_SECTOR);
}

static int no_journal(const char *what)
{
	report_error("Could not %s the journal: %s", what, strerror(errno));
	return 1;
}

static int append(struct writer *w, const char *text, bool durable)
{
	size_t len = strlen(text);

	/* One call, one record: a kill cannot tear it, and a torn one is seen. */
	if (write(w->fd, text, len) != (ssize_t)len || (durable && fdatasync(w->fd) < 0))
		return no_journal("write");
	return 0;
}

/* Nothing may overlap within a batch: the order of its writes is open. */
static bool overlaps(const struct writer *w, int nr, uint64_t off, uint64_t len)
{
	for (int i = 0; i < nr; i++) {
		if (off < w->batch[i].off + w->batch[i].len && w->batch[i].off < off + len)
			return true;
	}
	return false;
}

/* Choose the writes of a batch; returns how many. */
static int choose(struct writer *w, uint64_t left)
{
	uint64_t blocks = bd_size(w->node) / JOURNAL_BLOCK;
	int nr = 0;

	for (int tries = 0; tries < BATCH && (uint64_t)nr < left; tries++) {
		uint64_t many = 1 + next_random(&w->random) % MAX_BLOCKS;
		uint64_t off = next_random(&w->random) % blocks;
		struct entry *entry = &w->batch[nr];
		uint8_t *buf = entry->buf;

		many = many < blocks - off ? many : blocks - off;
		if (overlaps(w, nr, off * JOURNAL_BLOCK, many * JOURNAL_BLOCK))
			continue;
		*entry = (struct entry){
			.nr = w->next++,
			.off = off * JOURNAL_BLOCK,
			.len = many * JOURNAL_BLOCK,
			.zero = next_random(&w->random) % 8 == 0,
			.buf = buf,
		};
		nr++;
	}
	return nr;
}

static int note(struct writer *w, int nr)
{
	char text[BATCH * 80] = "";
	size_t at = 0;

	for (int i = 0; i < nr; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at,
				       "%c %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
				       w->batch[i].zero ? 'z' : 'w', w->batch[i].nr,
				       w->batch[i].off, w->batch[i].len);
	return append(w, text, true);
}

static void write_done(struct bd_request *req)
{
	struct writer *w = req->user;

	if (req->res < 0 && !w->res)
		w->res = req->res;
	w->in_flight--;
	bd_request_put(req);
}

static void start(struct writer *w, struct entry *entry)
{
	struct bd_request *req;

	while (!(req = bd_request_get(bd_node_queue(w->node)))) {
		if (bd_queue_poll(bd_node_queue(w->node), true) < 0) {
			w->res = -EIO;
			return;
		}
	}
	*req = (struct bd_request){
		.node = w->node,
		.off = entry->off,
		.len = entry->len,
		.done = write_done,
		.user = w,
	};
	w->in_flight++;
	if (entry->zero) {
		req->flags = BD_REQ_UNMAP;
		bd_write_zeroes(req);
		return;
	}
	for (uint64_t at = 0; at < entry->len; at += JOURNAL_SECTOR)
		io_journal_fill(entry->buf + at, entry->nr, (entry->off + at) / JOURNAL_SECTOR);
	req->one = (struct iovec){ entry->buf, entry->len };
	req->iov = &req->one;
	req->niov = 1;
	bd_write(req);
}

static int write_batch(struct writer *w, int nr)
{
	for (int i = 0; i < nr && !w->res; i++)
		start(w, &w->batch[i]);
	while (w->in_flight) {
		int ret = bd_queue_poll(bd_node_queue(w->node), true);

		if (ret < 0) {
			w->res = ret;
			break; /* the buffers may be in use: the program ends */
		}
	}
	if (!w->res)
		return 0;
	report_error("write failed: %s", strerror(-w->res));
	return 1;
}

/* A flush, and the promise that goes with it. */
static int flush(struct writer *w)
{
	char text[40];
	int ret = bd_sync(w->node);

	if (ret < 0) {
		report_error("flush failed: %s", strerror(-ret));
		return 1;
	}
	snprintf(text, sizeof(text), "f %" PRIu64 "\n", w->next - 1);
	return append(w, text, false);
}

/* New raw files have a first block of zeros. */
static bool few_zeros(struct bd_node *node, const struct bd_extent *ext)
{
	static const uint8_t zeros[4096];
	uint8_t buf[sizeof(zeros)];

	return ext->len <= sizeof(buf) &&
	       bd_pread(node, ext->guest_off, buf, (size_t)ext->len) == 0 &&
	       !memcmp(buf, zeros, (size_t)ext->len);
}

static int check_zero(struct bd_node *node)
{
	struct bd_extent ext;

	for (uint64_t off = 0; off < bd_size(node); off = ext.guest_off + ext.len) {
		if (bd_map(node, off, bd_size(node) - off, &ext, 1) == 1 &&
		    (ext.kind <= BD_ZERO || ext.flags & BD_EXTENT_SPARSE ||
		     few_zeros(node, &ext)))
			continue;
		report_error("A journal needs an image that reads as zeros");
		return 1;
	}
	if (bd_size(node) >= JOURNAL_BLOCK)
		return 0;
	report_error("The image is too small for a journal");
	return 1;
}

static int write_all(struct writer *w, uint64_t count, uint64_t seed)
{
	char text[80];
	int status;

	snprintf(text, sizeof(text), "qimg-journal 1 %" PRIu64 " %" PRIu64 "\n", bd_size(w->node),
		 seed);
	status = append(w, text, true);
	for (uint64_t left = count; left && !status;) {
		int nr = choose(w, left);

		status = note(w, nr) || write_batch(w, nr);
		if (!status && next_random(&w->random) % FLUSH_EVERY == 0)
			status = flush(w);
		left -= (uint64_t)nr;
	}
	return status || flush(w);
}

int io_journal_write(struct bd_node *node, const char *name, uint64_t count, uint64_t seed)
{
	struct writer w = { .node = node, .random = seed, .next = 1 };
	int status = check_zero(node);

	if (status)
		return status;
	w.fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (w.fd < 0)
		return no_journal("create");
	for (int i = 0; i < BATCH && !status; i++) {
		if (posix_memalign((void **)&w.batch[i].buf, 4096, MAX_BLOCKS * JOURNAL_BLOCK)) {
			w.batch[i].buf = NULL;
			report_error("%s", strerror(ENOMEM));
			status = 1;
		}
	}
	if (!status)
		status = write_all(&w, count, seed);
	for (int i = 0; i < BATCH && !w.in_flight; i++)
		free(w.batch[i].buf);
	if (close(w.fd) < 0 && !status)
		status = no_journal("close");
	if (!status)
		printf("%" PRIu64 " writes, all flushed\n", w.next - 1);
	return status;
}
