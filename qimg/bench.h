/* SPDX-License-Identifier: MIT */
/* The load that `bench` puts on an image, and what came of it. */
#ifndef QIMG_BENCH_H
#define QIMG_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "blockdev/include/blockdev.h"

enum { BENCH_BUCKETS = 64 * 16 }; /* latency: 16 per power of two of ns */

struct bench_load {
	uint64_t count;          /* requests; 0: until time is over */
	uint64_t time_ns;        /* 0: until count is reached */
	unsigned depth;          /* requests in flight */
	uint64_t offset, size, step; /* bytes */
	uint64_t flush_interval; /* requests; 0: no flushes */
	bool no_drain;           /* flush while requests are in flight */
	bool random, latency;
	unsigned read_percent;   /* of the mix */
	uint64_t seed;
	uint8_t pattern;
};

struct bench_result {
	uint64_t reads, writes, flushes;
	double seconds;
	uint64_t *latency;       /* BENCH_BUCKETS counts, or NULL */
	uint64_t latency_min, latency_max, latency_sum; /* ns */
	int err;                 /* first error, negative errno */
};

/* Run @load on @node.  Blocks.  0, or a negative errno; free with bench_result_clear(). */
int bench_run(struct bd_node *node, const struct bench_load *load, struct bench_result *result);
void bench_result_clear(struct bench_result *result);
/* Latency that @percent of the requests did not exceed, ns. */
uint64_t bench_percentile(const struct bench_result *result, double percent);
/* Lowest latency of bucket @idx, ns. */
uint64_t bench_bucket_floor(unsigned idx);

/* bench_report.c: what is printed behind QEMU's lines, and the JSON object. */
void bench_print_latency(const struct bench_result *result);
void bench_print_stats(const struct bd_stats *stats);
int bench_print_json(const struct bench_load *load, const struct bench_result *result,
		     const struct bd_stats *stats, const char *engine);

#endif
