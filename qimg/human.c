/* SPDX-License-Identifier: MIT */
/* Sizes, dates and clocks as text. */
#include "qimg/human.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

void human_size(char *text, size_t room, uint64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = (double)bytes;
	unsigned unit = 0;

	while (value >= 1000 && unit < 6) {
		value /= 1024;
		unit++;
	}
	snprintf(text, room, "%0.3g %s", value, units[unit]);
}

void human_date(char *text, size_t room, uint32_t seconds)
{
	time_t when = (time_t)seconds;
	struct tm local;

	if (!localtime_r(&when, &local) || !strftime(text, room, "%Y-%m-%d %H:%M:%S", &local))
		snprintf(text, room, "-");
}

void human_clock(char *text, size_t room, uint64_t ns)
{
	uint64_t seconds = ns / 1000000000;

	snprintf(text, room, "%02" PRIu64 ":%02u:%02u.%03u", seconds / 3600,
		 (unsigned)(seconds / 60 % 60), (unsigned)(seconds % 60),
		 (unsigned)(ns / 1000000 % 1000));
}
