/* SPDX-License-Identifier: MIT */
/* qimg bench: put a load on an image and time it. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qimg/bench.h"
#include "qimg/command.h"
#include "qimg/image.h"
#include "qimg/report.h"

struct bench_values {
	struct image_values image;
	const char *count, *depth, *offset, *size, *step, *pattern, *flush_interval, *aio;
	const char *mix, *seed, *time, *output;
	const char *l2_size, *l2_entry, *l2_file, *refcount_size, *cache_size, *clean;
	const char *batch;
	bool no_l2_cache, no_extents, warm_up;
	bool write, no_drain, native, quiet, random, latency, stats;
};

#define FIELD(name) offsetof(struct bench_values, name)

/* --- values, looked at as they are met, so that the first wrong one is named --- */

static int check_number(const char *text, uint64_t min, uint64_t max, const char *error)
{
	uint64_t value;

	if (bd_parse_u64(text, &value) == 0 && value >= min && value <= max)
		return 0;
	report_error("%s", error);
	return 1;
}

static int check_count(const char *text)
{
	return check_number(text, 1, ULONG_MAX, "Invalid request count specified");
}

static int check_depth(const char *text)
{
	return check_number(text, 0, INT_MAX, "Invalid queue depth specified");
}

static int check_pattern(const char *text)
{
	return check_number(text, 0, 255, "Invalid pattern byte specified");
}

static int check_interval(const char *text)
{
	return check_number(text, 0, INT_MAX, "Invalid flush interval specified");
}

static int check_offset(const char *text)
{
	uint64_t value;

	return opts_size("offset", text, 0, INT64_MAX, &value);
}

static int check_size(const char *text)
{
	uint64_t value;

	return opts_size("buffer size", text, 0, INT_MAX, &value);
}

static int check_step(const char *text)
{
	uint64_t value;

	return opts_size("step_size", text, 0, INT_MAX, &value);
}

static int check_cache(const char *text)
{
	unsigned flags;

	if (bd_cache_mode(text, &flags) == 0)
		return 0;
	report_error("Invalid cache mode");
	return 1;
}

static int check_aio(const char *aio)
{
	static const char *const names[] = {"threads", "native", "io_uring", "sync", "mmap", NULL};

	for (unsigned i = 0; names[i]; i++) {
		if (!strcmp(aio, names[i]))
			return 0;
	}
	report_error("Invalid aio option: %s", aio);
	return 1;
}

static int look(const char *name, const char *arg, void *values)
{
	static const struct {
		const char *name;
		int (*check)(const char *text);
	} checks[] = {
		{ "cache", check_cache }, { "count", check_count }, { "depth", check_depth },
		{ "offset", check_offset }, { "buffer-size", check_size },
		{ "step-size", check_step }, { "pattern", check_pattern },
		{ "flush-interval", check_interval }, { "aio", check_aio },
	};

	(void)values;
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		if (!strcmp(name, checks[i].name))
			return checks[i].check(arg);
	}
	return 0;
}

static const struct opt bench_opts[] = {
	OPT_COMMON_FORMAT(struct bench_values),
	OPT_COMMON_IMAGE_OPTS(struct bench_values),
	OPT_COMMON_OBJECT,
	{ "t", "cache", NULL, OPT_TEXT, FIELD(image.cache), "CACHE", "cache mode" },
	{ "c", "count", NULL, OPT_TEXT, FIELD(count), "COUNT", "number of requests (75000)" },
	{ "d", "depth", NULL, OPT_TEXT, FIELD(depth), "DEPTH", "requests in flight (64)" },
	{ "o", "offset", NULL, OPT_TEXT, FIELD(offset), "OFFSET", "start at this offset (0)" },
	{ "s", "buffer-size", NULL, OPT_TEXT, FIELD(size), "SIZE", "bytes per request (4096)" },
	{ "S", "step-size", NULL, OPT_TEXT, FIELD(step), "SIZE",
	  "distance of two requests (the request size)" },
	{ "w", "write", NULL, OPT_FLAG, FIELD(write), NULL, "write instead of read" },
	{ NULL, "pattern", NULL, OPT_TEXT, FIELD(pattern), "BYTE", "byte to write (0)" },
	{ NULL, "flush-interval", NULL, OPT_TEXT, FIELD(flush_interval), "COUNT",
	  "flush after so many writes" },
	{ NULL, "no-drain", NULL, OPT_FLAG, FIELD(no_drain), NULL,
	  "flush without waiting for the requests in flight" },
	{ "i", "aio", NULL, OPT_TEXT, FIELD(aio), "AIO",
	  "threads, native, io_uring, sync or mmap; the fastest if not given" },
	{ "n", "native", NULL, OPT_FLAG, FIELD(native), NULL, "same as -i native" },
	OPT_COMMON_SHARE(struct bench_values),
	OPT_COMMON_QUIET(struct bench_values),
	{ NULL, "random", NULL, OPT_FLAG, FIELD(random), NULL, "random offsets" },
	{ NULL, "mix", NULL, OPT_TEXT, FIELD(mix), "READ%", "reads and writes, so many % reads" },
	{ NULL, "seed", NULL, OPT_TEXT, FIELD(seed), "N", "of the random numbers (1)" },
	{ NULL, "time", NULL, OPT_TEXT, FIELD(time), "SECONDS", "run so long" },
	{ NULL, "latency", NULL, OPT_FLAG, FIELD(latency), NULL, "percentiles and histogram" },
	{ NULL, "stats", NULL, OPT_FLAG, FIELD(stats), NULL, "counters of caches and engine" },
	{ NULL, "output", NULL, OPT_TEXT, FIELD(output), "OFMT", "human or json" },
	{ NULL, "l2-cache-size", NULL, OPT_TEXT, FIELD(l2_size), "SIZE", "L2 table cache" },
	{ NULL, "l2-cache-entry-size", NULL, OPT_TEXT, FIELD(l2_entry), "SIZE",
	  "bytes of one cached L2 slice" },
	{ NULL, "l2-cache-file", NULL, OPT_TEXT, FIELD(l2_file), "FILE",
	  "keep evicted L2 slices in FILE, on a faster disk" },
	{ NULL, "refcount-cache-size", NULL, OPT_TEXT, FIELD(refcount_size), "SIZE",
	  "refcount block cache" },
	{ NULL, "cache-size", NULL, OPT_TEXT, FIELD(cache_size), "SIZE", "both caches" },
	{ NULL, "cache-clean-interval", NULL, OPT_TEXT, FIELD(clean), "SECONDS",
	  "give tables unused for so long back" },
	{ NULL, "warm-up", NULL, OPT_FLAG, FIELD(warm_up), NULL,
	  "read the tables of the whole disk before the time starts" },
	{ NULL, "batch", NULL, OPT_TEXT, FIELD(batch), "N",
	  "base line: at most N requests in a system call" },
	{ NULL, "no-l2-cache", NULL, OPT_FLAG, FIELD(no_l2_cache), NULL,
	  "base line: each request reads its L2 slice" },
	{ NULL, "no-extents", NULL, OPT_FLAG, FIELD(no_extents), NULL,
	  "base line: one host operation for each cluster" },
	{ 0 },
};

/* One number of the command line; @text NULL keeps the default.  0, or 1: reported. */
static int number(const char *text, uint64_t min, uint64_t max, uint64_t *out, const char *error)
{
	uint64_t value;

	if (!text)
		return 0;
	if (bd_parse_u64(text, &value) < 0 || value < min || value > max) {
		report_error("%s", error);
		return 1;
	}
	*out = value;
	return 0;
}

static int take_size(const char *what, const char *text, uint64_t max, uint64_t *out)
{
	return text ? opts_size(what, text, 0, max, out) : 0;
}

static int take_mix(const struct bench_values *v, struct bench_load *load)
{
	uint64_t percent = v->write ? 0 : 100, seconds = 0;

	if (number(v->mix, 0, 100, &percent, "Invalid percentage of reads specified") ||
	    number(v->seed, 0, UINT64_MAX, &load->seed, "Invalid seed specified") ||
	    number(v->time, 1, 1000000, &seconds, "Invalid time specified"))
		return 1;
	load->read_percent = (unsigned)percent;
	load->time_ns = seconds * 1000000000u;
	if (seconds && !v->count)
		load->count = 0;
	return 0;
}

static int take_load(const struct bench_values *v, struct bench_load *load)
{
	uint64_t depth = 64, pattern = 0;

	*load = (struct bench_load){.count = 75000, .size = 4096, .seed = 1, .random = v->random,
				    .latency = v->latency, .no_drain = v->no_drain};
	if (number(v->count, 1, ULONG_MAX, &load->count, "Invalid request count specified") ||
	    number(v->depth, 1, 4096, &depth, "Invalid queue depth specified") ||
	    take_size("offset", v->offset, INT64_MAX, &load->offset) ||
	    take_size("buffer size", v->size, INT_MAX, &load->size))
		return 1;
	if (take_size("step_size", v->step, INT_MAX, &load->step) ||
	    number(v->pattern, 0, 255, &pattern, "Invalid pattern byte specified") ||
	    number(v->flush_interval, 0, INT_MAX, &load->flush_interval,
		   "Invalid flush interval specified") ||
	    take_mix(v, load))
		return 1;
	if (!load->step)
		load->step = load->size;
	load->depth = (unsigned)depth;
	load->pattern = (uint8_t)pattern;
	if (load->flush_interval && load->read_percent == 100) {
		report_error("--flush-interval is only available in write tests");
		return 1;
	}
	if (load->flush_interval && load->flush_interval < depth) {
		report_error("Flush interval can't be smaller than depth");
		return 1;
	}
	return 0;
}

/* What QEMU's option "aio" of a file knows; the other engines are ours alone. */
static const char *qemu_aio(const char *aio)
{
	return aio && (!strcmp(aio, "sync") || !strcmp(aio, "mmap")) ? NULL : aio;
}

/* The cache options as options of the image. */
static struct bd_opts *image_options(const struct bench_values *v)
{
	const char *const pairs[][2] = {
		{ "l2-cache-size", v->l2_size }, { "l2-cache-entry-size", v->l2_entry },
		{ "l2-cache-file", v->l2_file }, { "refcount-cache-size", v->refcount_size },
		{ "cache-size", v->cache_size }, { "cache-clean-interval", v->clean },
		{ "no-l2-cache", v->no_l2_cache ? "on" : NULL },
		{ "no-extents", v->no_extents ? "on" : NULL },
		{ "file.aio-max-batch", v->batch },
		{ "file.aio", v->native ? "native" : qemu_aio(v->aio) },
	};
	struct bd_opts *opts = bd_opts_new();

	for (unsigned i = 0; opts && i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		if (pairs[i][1] && bd_opts_set(opts, pairs[i][0], pairs[i][1]) < 0) {
			bd_opts_free(opts);
			return NULL;
		}
	}
	return opts;
}

static struct bd_queue *open_queue(const char *aio, unsigned depth)
{
	struct bd_queue *queue = NULL;
	struct bd_error err = {0};

	if (!aio)
		return image_queue(depth);
	if (bd_queue_new(aio, depth, &queue, &err) < 0)
		report_failure(&err, "%s", "");
	return queue;
}

static struct bd_node *open_image(const struct bench_values *v, const char *name,
				  struct bd_queue *queue, unsigned flags)
{
	struct bd_open_args args = {.filename = name, .format = v->image.format, .flags = flags};
	struct bd_opts *opts = image_options(v);
	struct bd_node *node = NULL;
	struct bd_error err = {0};
	int ret = opts ? 0 : bd_fail(&err, -ENOMEM, "Out of memory");

	if (v->image.cache && bd_cache_mode(v->image.cache, &args.flags) < 0) {
		report_error("Invalid cache mode");
		bd_opts_free(opts);
		return NULL;
	}
	if (v->image.force_share)
		args.flags |= BD_O_FORCE_SHARE;
	if (ret == 0 && v->image.image_opts) {
		report_short_forms(name, true);
		ret = bd_opts_parse(opts, name, "file", &err);
		args.filename = NULL;
	}
	args.opts = opts;
	if (ret == 0)
		ret = bd_open(queue, &args, &node, &err);
	bd_opts_free(opts);
	if (ret < 0)
		report_failure(&err, "Could not open '%s': ", name);
	return node;
}

static void announce(const struct bench_load *load)
{
	printf("Sending %" PRIu64 " %s requests, %" PRIu64 " bytes each, %u in parallel "
	       "(starting at offset %" PRIu64 ", step size %" PRIu64 ")\n", load->count,
	       load->read_percent == 100 ? "read" : load->read_percent ? "mixed" : "write",
	       load->size, load->depth, load->offset, load->step);
	if (load->flush_interval)
		printf("Sending flush every %" PRIu64 " requests\n", load->flush_interval);
}

/* Look up the whole disk once: each table is read, and lands where caching puts it. */
static int warm_up(struct bd_node *node)
{
	struct bd_extent ext[16];
	uint64_t off = 0;

	while (off < bd_size(node)) {
		int nr = bd_map(node, off, bd_size(node) - off, ext, 16);

		if (nr < 0) {
			report_error("Failed to read the tables: %s", strerror(-nr));
			return 1;
		}
		off = ext[nr - 1].guest_off + ext[nr - 1].len;
	}
	return 0;
}

static int run_load(const struct bench_values *v, const struct bench_load *load,
		    struct bd_node *node, bool json)
{
	struct bench_result result;
	struct bd_stats stats;
	int ret;

	if (load->size == 0 || load->size > bd_size(node)) {
		report_error("The request size must be between 1 and the size of the image");
		return 1;
	}
	if (v->warm_up && warm_up(node))
		return 1;
	if (!json)
		announce(load);
	ret = bench_run(node, load, &result);
	bd_stats_get(node, &stats);
	if (ret < 0) {
		report_error("Failed request: %s", strerror(-ret));
	} else if (json) {
		ret = bench_print_json(load, &result, &stats, bd_queue_engine(bd_node_queue(node)));
	} else {
		printf("Run completed in %3.3f seconds.\n", result.seconds);
		bench_print_latency(&result);
		if (v->stats)
			bench_print_stats(&stats);
	}
	bench_result_clear(&result);
	return ret != 0;
}

static int run(struct invocation *inv)
{
	const struct bench_values *v = inv->values;
	const char *aio = v->native ? "native" : v->aio;
	struct bench_load load;
	struct bd_queue *queue;
	struct bd_node *node;
	bool json;
	int ret;

	if (inv->nr_operands != 1)
		return report_usage("Expecting one image file name");
	if (opts_output(v->output, &json) || image_conflict(&v->image) || take_load(v, &load))
		return 1;
	queue = open_queue(aio, load.depth + 1);
	if (!queue)
		return 1;
	node = open_image(v, inv->operands[0], queue, load.read_percent < 100 ? BD_O_RDWR : 0);
	if (!node) {
		bd_queue_free(queue);
		return 1;
	}
	ret = run_load(v, &load, node, json);
	ret |= image_close(node);
	bd_queue_free(queue);
	return ret;
}

const struct command cmd_bench = {
	.name = "bench",
	.operands = "FILE",
	.summary = "put a load on an image and time it",
	.opts = bench_opts,
	.values_size = sizeof(struct bench_values),
	.look = look,
	.run = run,
};
