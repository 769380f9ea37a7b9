/* SPDX-License-Identifier: MIT */
/* qimg-io: numbers in, figures out, in qemu-io's shapes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qimg/io.h"
#include "qimg/io_latency.h"

int64_t io_number(const char *text)
{
	uint64_t bytes;
	int ret = bd_parse_size(text, &bytes);

	if (ret == -EINVAL)
		printf("Parsing error: non-numeric argument, or extraneous/unrecognized suffix"
		       " -- %s\n", text);
	else if (ret == -ERANGE || (ret == 0 && bytes > INT64_MAX))
		printf("Parsing error: argument too large -- %s\n", text);
	else if (ret < 0)
		printf("Parsing error: %s\n", text);
	if (ret < 0)
		return ret;
	return bytes > INT64_MAX ? -ERANGE : (int64_t)bytes;
}

int io_pattern(const char *text)
{
	char *end = NULL;
	long value = strtol(text, &end, 0);

	if (end == text || *end || value < 0 || value > 255) {
		printf("%s is not a valid pattern byte\n", text);
		return -1;
	}
	return (int)value;
}

void io_size_text(char *text, size_t room, double bytes)
{
	static const char *const units[] = {" EiB", " PiB", " TiB", " GiB", " MiB", " KiB"};
	double unit = (double)(UINT64_C(1) << 60);
	const char *suffix = " bytes";
	double value = bytes;
	size_t len;

	for (unsigned i = 0; i < 6; i++, unit /= 1024) {
		if (bytes >= unit) {
			value = bytes / unit;
			suffix = units[i];
			break;
		}
	}
	snprintf(text, room, "%.3f", value);
	len = strlen(text);
	if (len > 4 && !strcmp(text + len - 4, ".000"))
		text[len - 4] = 0;
	strncat(text, suffix, room - strlen(text) - 1);
}

struct timespec io_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now;
}

static void time_text(char *text, size_t room, double seconds, bool fixed)
{
	unsigned whole = (unsigned)seconds;
	unsigned centi = (unsigned)((seconds - whole) * 100);

	if (fixed || whole >= 3600)
		snprintf(text, room, "%u:%02u:%02u.%02u", whole / 3600, whole / 60 % 60,
			 whole % 60, centi);
	else if (whole >= 60)
		snprintf(text, room, "%u:%02u.%02u", whole / 60, whole % 60, centi);
	else
		snprintf(text, room, "%02u.%02u sec", whole, centi);
}

void io_report(const struct io_state *io, const char *verb, struct timespec start, uint64_t off,
	       uint64_t len, bool csv)
{
	struct timespec now = io_now();
	double seconds = (double)(now.tv_sec - start.tv_sec) +
			 (double)(now.tv_nsec - start.tv_nsec) / 1e9;
	char size[64], rate[64], spent[64];

	io_latency_add(io->latency, verb, (uint64_t)(seconds * 1e9), len);
	if (seconds <= 0)
		seconds = 1e-9;
	time_text(spent, sizeof(spent), seconds, csv);
	if (csv) {
		printf("%llu,1,%s,%.3f,%.3f\n", (unsigned long long)len, spent,
		       (double)len / seconds, 1 / seconds);
		return;
	}
	io_size_text(size, sizeof(size), (double)len);
	io_size_text(rate, sizeof(rate), (double)len / seconds);
	printf("%s %llu/%llu bytes at offset %llu\n", verb, (unsigned long long)len,
	       (unsigned long long)len, (unsigned long long)off);
	printf("%s, 1 ops; %s (%s/sec and %.4f ops/sec)\n", size, spent, rate, 1 / seconds);
}
