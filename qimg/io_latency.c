/* SPDX-License-Identifier: MIT */
/* qimg-io: how long operations took, as JSON at the end. */
#include "qimg/io_latency.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qimg/report.h"

enum { MAX_SAMPLES = 1 << 20 };

/* The operations that report a time. */
static const char *const verbs[] = { "read", "wrote", "discard" };
static const char *const names[] = { "read", "write", "discard" };

enum { NR_VERBS = sizeof(verbs) / sizeof(verbs[0]) };

struct io_latency {
	struct {
		uint64_t nr, bytes, sum; /* operations, bytes, nanoseconds */
		uint64_t *ns;            /* of the first MAX_SAMPLES */
		size_t kept, room;
	} verb[NR_VERBS];
};

struct io_latency *io_latency_new(void)
{
	return calloc(1, sizeof(struct io_latency));
}

void io_latency_add(struct io_latency *latency, const char *verb, uint64_t ns, uint64_t bytes)
{
	for (int i = 0; latency && i < NR_VERBS; i++) {
		if (strcmp(verbs[i], verb))
			continue;
		latency->verb[i].nr++;
		latency->verb[i].bytes += bytes;
		latency->verb[i].sum += ns;
		if (latency->verb[i].kept == latency->verb[i].room &&
		    latency->verb[i].room < MAX_SAMPLES) {
			size_t room = latency->verb[i].room ? latency->verb[i].room * 2 : 64;
			uint64_t *more = realloc(latency->verb[i].ns, room * sizeof(*more));

			if (!more)
				return;
			latency->verb[i].ns = more;
			latency->verb[i].room = room;
		}
		if (latency->verb[i].kept < latency->verb[i].room)
			latency->verb[i].ns[latency->verb[i].kept++] = ns;
	}
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void add(json_t *json, const char *name, uint64_t value)
{
	json_object_set_new(json, name, json_integer((json_int_t)value));
}

/* Sorts the samples. */
static json_t *to_json(struct io_latency *latency, int i)
{
	json_t *json = json_object();
	uint64_t *ns = latency->verb[i].ns;
	size_t nr = latency->verb[i].kept;

	add(json, "count", latency->verb[i].nr);
	add(json, "bytes", latency->verb[i].bytes);
	if (!nr)
		return json;
	qsort(ns, nr, sizeof(*ns), by_value);
	add(json, "min-ns", ns[0]);
	add(json, "mean-ns", latency->verb[i].sum / latency->verb[i].nr);
	add(json, "p50-ns", ns[nr / 2]);
	add(json, "p90-ns", ns[nr * 9 / 10]);
	add(json, "p99-ns", ns[nr * 99 / 100]);
	add(json, "max-ns", ns[nr - 1]);
	return json;
}

int io_latency_write(struct io_latency *latency, const char *file)
{
	json_t *json = json_object();
	int ret;

	for (int i = 0; i < NR_VERBS; i++) {
		if (latency->verb[i].nr)
			json_object_set_new(json, names[i], to_json(latency, i));
	}
	ret = json ? json_dump_file(json, file, JSON_INDENT(4) | JSON_PRESERVE_ORDER) : -1;
	json_decref(json);
	if (ret == 0)
		return 0;
	report_error("Could not write '%s': %s", file, strerror(errno ? errno : EIO));
	return 1;
}

void io_latency_free(struct io_latency *latency)
{
	for (int i = 0; latency && i < NR_VERBS; i++)
		free(latency->verb[i].ns);
	free(latency);
}
