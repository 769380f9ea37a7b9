/* SPDX-License-Identifier: MIT */
/* What `bench` prints beyond QEMU's two lines. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "qimg/bench.h"
#include "qimg/info_print.h"

static const double percents[] = {50, 90, 95, 99, 99.9};

/* One bar per power of two. */
static void print_histogram(const struct bench_result *result)
{
	uint64_t rows[64] = {0}, most = 1;

	for (unsigned i = 0; i < BENCH_BUCKETS; i++)
		rows[i / 16] += result->latency[i];
	for (unsigned i = 0; i < 64; i++)
		most = rows[i] > most ? rows[i] : most;
	for (unsigned i = 0; i < 64; i++) {
		if (!rows[i])
			continue;
		printf("  %10.1f us | %-40.*s %" PRIu64 "\n",
		       (double)bench_bucket_floor(i * 16) / 1e3, (int)(rows[i] * 40 / most),
		       "########################################", rows[i]);
	}
}

void bench_print_latency(const struct bench_result *result)
{
	uint64_t total = result->reads + result->writes;

	if (!result->latency || !total)
		return;
	printf("Latency (us): min %.1f, mean %.1f, max %.1f\n", (double)result->latency_min / 1e3,
	       (double)result->latency_sum / (double)total / 1e3,
	       (double)result->latency_max / 1e3);
	for (unsigned i = 0; i < sizeof(percents) / sizeof(percents[0]); i++)
		printf("  %5.1f %% within %.1f us\n", percents[i],
		       (double)bench_percentile(result, percents[i]) / 1e3);
	print_histogram(result);
}

static void print_cache(const char *name, const struct bd_cache_stats *stats)
{
	printf("%-14s hits %" PRIu64 ", misses %" PRIu64 ", evictions %" PRIu64 ", cleaned %"
	       PRIu64 ", writes %" PRIu64 ", bytes %" PRIu64 " of %" PRIu64 "\n",
	       name, stats->hits, stats->misses, stats->evictions, stats->cleaned, stats->writes,
	       stats->bytes, stats->max_bytes);
}

void bench_print_stats(const struct bd_stats *stats)
{
	print_cache("L2 cache:", &stats->l2);
	print_cache("Refcounts:", &stats->refcount);
	printf("%-14s system calls %" PRIu64 ", operations %" PRIu64 ", metadata writes %" PRIu64
	       ", flushes %" PRIu64 "\n", "Host:", stats->syscalls, stats->ops, stats->meta_writes,
	       stats->barriers);
	printf("%-14s copied on write %" PRIu64 " bytes, clusters inflated %" PRIu64 "\n", "Data:",
	       stats->cow_bytes, stats->inflated);
}

static json_t *cache_to_json(const struct bd_cache_stats *stats)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
			 "hits", (json_int_t)stats->hits, "misses", (json_int_t)stats->misses,
			 "evictions", (json_int_t)stats->evictions,
			 "cleaned", (json_int_t)stats->cleaned,
			 "writes", (json_int_t)stats->writes,
			 "bytes", (json_int_t)stats->bytes,
			 "max-bytes", (json_int_t)stats->max_bytes);
}

static json_t *stats_to_json(const struct bd_stats *stats)
{
	return json_pack("{s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:I}",
			 "l2-cache", cache_to_json(&stats->l2),
			 "refcount-cache", cache_to_json(&stats->refcount),
			 "system-calls", (json_int_t)stats->syscalls,
			 "operations", (json_int_t)stats->ops,
			 "metadata-writes", (json_int_t)stats->meta_writes,
			 "flushes", (json_int_t)stats->barriers,
			 "copied-on-write", (json_int_t)stats->cow_bytes,
			 "inflated-clusters", (json_int_t)stats->inflated);
}

static json_t *latency_to_json(const struct bench_result *result)
{
	uint64_t total = result->reads + result->writes;
	json_t *json = json_object(), *histogram = json_array();

	json_object_set_new(json, "min", json_integer((json_int_t)result->latency_min));
	json_object_set_new(json, "mean", json_integer((json_int_t)(total ?
				result->latency_sum / total : 0)));
	json_object_set_new(json, "max", json_integer((json_int_t)result->latency_max));
	for (unsigned i = 0; i < sizeof(percents) / sizeof(percents[0]); i++) {
		char key[16];

		snprintf(key, sizeof(key), "p%g", percents[i]);
		json_object_set_new(json, key, json_integer((json_int_t)bench_percentile(
							       result, percents[i])));
	}
	for (unsigned i = 0; i < BENCH_BUCKETS; i++) {
		if (result->latency[i])
			json_array_append_new(histogram, json_pack("[I, I]",
				(json_int_t)bench_bucket_floor(i),
				(json_int_t)result->latency[i]));
	}
	json_object_set_new(json, "histogram", histogram);
	return json;
}

int bench_print_json(const struct bench_load *load, const struct bench_result *result,
		     const struct bd_stats *stats, const char *engine)
{
	uint64_t total = result->reads + result->writes;
	double seconds = result->seconds > 0 ? result->seconds : 1e-9;
	json_t *json = json_pack("{s:s, s:i, s:I, s:I, s:I, s:I, s:f, s:f, s:f}",
		"engine", engine, "depth", (int)load->depth,
		"request-size", (json_int_t)load->size,
		"reads", (json_int_t)result->reads, "writes", (json_int_t)result->writes,
		"flushes", (json_int_t)result->flushes, "seconds", result->seconds,
		"iops", (double)total / seconds,
		"bytes-per-second", (double)(total * load->size) / seconds);

	if (result->latency && total)
		json_object_set_new(json, "latency-ns", latency_to_json(result));
	json_object_set_new(json, "stats", stats_to_json(stats));
	return json_print(json);
}
