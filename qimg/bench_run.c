/* SPDX-License-Identifier: MIT */
/* The load of `bench`: keeps requests in flight, refilling from their completions. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "qimg/bench.h"

struct bench {
	struct bd_node *node;
	const struct bench_load *load;
	struct bench_result *result;
	uint64_t issued, done, until_flush, at, random, end_ns;
	unsigned in_flight;
	bool flushing, over;
	uint8_t *buffers;
	struct slot *slots;
};

/* A place for one request in flight, with its own buffer. */
struct slot {
	struct bench *bench;
	uint8_t *buf;
	uint64_t start_ns;
	bool busy, reading;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* splitmix64: small, fast, good enough to choose offsets. */
static uint64_t next_random(struct bench *b)
{
	uint64_t z = b->random += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static unsigned bucket_of(uint64_t ns)
{
	unsigned shift;

	if (ns < 16)
		return (unsigned)ns;
	shift = 59 - (unsigned)__builtin_clzll(ns);
	return (shift + 1) * 16 + (unsigned)((ns >> shift) & 15);
}

uint64_t bench_bucket_floor(unsigned idx)
{
	unsigned shift = idx / 16;

	return shift ? (uint64_t)(16 + idx % 16) << (shift - 1) : idx;
}

static void count(struct bench *b, const struct slot *slot, int res)
{
	struct bench_result *r = b->result;

	if (res < 0 && !r->err)
		r->err = res;
	b->done++;
	r->reads += slot->reading;
	r->writes += !slot->reading;
	if (r->latency) {
		uint64_t ns = now_ns() - slot->start_ns;

		r->latency[bucket_of(ns)]++;
		r->latency_sum += ns;
		if (!r->latency_min || ns < r->latency_min)
			r->latency_min = ns;
		if (ns > r->latency_max)
			r->latency_max = ns;
	}
}

static bool finished(struct bench *b)
{
	if (b->result->err)
		b->over = true;
	if (b->load->count && b->issued >= b->load->count)
		b->over = true;
	if (b->end_ns && !(b->issued & 63) && now_ns() >= b->end_ns)
		b->over = true;
	return b->over;
}

static void done(struct bd_request *req)
{
	struct slot *slot = req->user;
	struct bench *b = slot->bench;

	slot->busy = false;
	b->in_flight--;
	count(b, slot, req->res);
	bd_request_put(req);
}

static void flush_done(struct bd_request *req)
{
	struct bench *b = req->user;

	b->flushing = false;
	b->in_flight--;
	b->result->flushes++;
	if (req->res < 0 && !b->result->err)
		b->result->err = req->res;
	bd_request_put(req);
}

/* Where the next request goes.  Like: qemu-img bench wraps at size - buffer size. */
static uint64_t next_offset(struct bench *b)
{
	uint64_t span = bd_size(b->node) - b->load->size, off = b->at;

	if (b->load->random)
		return span ? next_random(b) % (span / b->load->size + 1) * b->load->size : 0;
	b->at += b->load->step;
	if (span)
		b->at %= span;
	else
		b->at = 0;
	return off;
}

static bool send(struct bench *b, struct slot *slot)
{
	struct bd_request *req = bd_request_get(bd_node_queue(b->node));

	if (!req)
		return false;
	slot->busy = true;
	slot->reading = b->load->read_percent == 100 ||
			(b->load->read_percent && next_random(b) % 100 < b->load->read_percent);
	req->node = b->node;
	req->off = next_offset(b);
	req->len = b->load->size;
	req->one = (struct iovec){slot->buf, b->load->size};
	req->iov = &req->one;
	req->niov = 1;
	req->done = done;
	req->user = slot;
	b->issued++;
	b->in_flight++;
	if (b->result->latency)
		slot->start_ns = now_ns();
	if (slot->reading)
		bd_read(req);
	else
		bd_write(req);
	return true;
}

static bool send_flush(struct bench *b)
{
	struct bd_request *req = bd_request_get(bd_node_queue(b->node));

	if (!req)
		return false;
	req->node = b->node;
	req->done = flush_done;
	req->user = b;
	b->until_flush = b->load->flush_interval;
	b->flushing = true;
	b->in_flight++;
	bd_flush(req);
	return true;
}

/* Fill every free slot; a flush waits for the ones in flight unless no_drain. */
static void refill(struct bench *b)
{
	for (unsigned i = 0; i < b->load->depth; i++) {
		if (b->slots[i].busy)
			continue;
		if (b->flushing && !b->load->no_drain)
			return;
		if (b->load->flush_interval && !b->until_flush) {
			if (!b->load->no_drain && b->in_flight)
				return;
			if (!send_flush(b))
				return;
			i--;
			continue;
		}
		if (finished(b) || !send(b, &b->slots[i]))
			return;
		b->until_flush -= b->load->flush_interval > 0;
	}
}

static int prepare(struct bench *b)
{
	const struct bench_load *load = b->load;
	size_t size = (load->size + 4095) & ~(size_t)4095;

	b->slots = calloc(load->depth ? load->depth : 1, sizeof(*b->slots));
	if (!b->slots || posix_memalign((void **)&b->buffers, 4096, size * load->depth + 1))
		return -ENOMEM;
	memset(b->buffers, load->pattern, size * load->depth);
	for (unsigned i = 0; i < load->depth; i++)
		b->slots[i] = (struct slot){.bench = b, .buf = b->buffers + i * size};
	if (load->latency) {
		b->result->latency = calloc(BENCH_BUCKETS, sizeof(uint64_t));
		if (!b->result->latency)
			return -ENOMEM;
	}
	return 0;
}

int bench_run(struct bd_node *node, const struct bench_load *load, struct bench_result *result)
{
	struct bench b = {.node = node, .load = load, .result = result, .at = load->offset,
			  .random = load->seed, .until_flush = load->flush_interval};
	uint64_t start;
	int ret;

	*result = (struct bench_result){0};
	ret = prepare(&b);
	start = now_ns();
	b.end_ns = load->time_ns ? start + load->time_ns : 0;
	while (ret >= 0) {
		refill(&b);
		if (!b.in_flight)
			break;
		ret = bd_queue_poll(bd_node_queue(node), true);
	}
	result->seconds = (double)(now_ns() - start) / 1e9;
	free(b.slots);
	free(b.buffers);
	return ret < 0 ? ret : result->err;
}

void bench_result_clear(struct bench_result *result)
{
	free(result->latency);
	result->latency = NULL;
}

uint64_t bench_percentile(const struct bench_result *result, double percent)
{
	uint64_t total = result->reads + result->writes;
	double want = (double)total * percent / 100;
	uint64_t seen = 0;

	for (unsigned i = 0; i < BENCH_BUCKETS; i++) {
		seen += result->latency[i];
		if (seen && (double)seen >= want)
			return bench_bucket_floor(i);
	}
	return result->latency_max;
}
