/* SPDX-License-Identifier: MIT */
/* Counters at intervals. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vkvm/control/control.h"
#include "vkvm/report.h"

int stats_wait(const struct stats *stats)
{
	uint64_t now = bd_clock_ns();

	if (!stats->interval)
		return -1;
	return now >= stats->next_ns ? 0 : (int)((stats->next_ns - now) / 1000000 + 1);
}

static double number(const json_t *json, const char *key)
{
	return json_number_value(json_object_get(json, key));
}

static void show_disk(struct stats *stats, unsigned idx, const json_t *disk)
{
	const json_t *own = json_object_get(disk, "stats");
	const json_t *image = json_object_get(disk, "driver-specific");
	const json_t *l2 = json_object_get(image, "l2-cache");
	struct stats_total now = {
		number(own, "rd_operations") + number(own, "wr_operations"),
		number(own, "rd_bytes") + number(own, "wr_bytes"), number(own, "x-interrupts"),
	}, *last = &stats->last[idx];
	double ops = now.operations - last->operations, seconds = stats->interval;
	double lookups = number(l2, "hits") + number(l2, "misses");

	report_error("%s: %.0f requests/s, %.1f MiB/s, %.2f interrupts each, L2 hits %.1f %%, "
		     "%.0f KiB resident, %.0f cleaned",
		     json_string_value(json_object_get(disk, "device")), ops / seconds,
		     (now.bytes - last->bytes) / seconds / 1048576,
		     ops > 0 ? (now.interrupts - last->interrupts) / ops : 0,
		     lookups > 0 ? 100 * number(l2, "hits") / lookups : 100,
		     number(l2, "resident-bytes") / 1024, number(l2, "cleaned"));
	*last = now;
}

static json_t *counters(struct control *control)
{
	struct bd_error err;
	struct command cmd = { .control = control, .err = &err };

	command_run(&cmd, "query-blockstats");
	return cmd.out;
}

/* false: the line could not be written. */
static bool write_line(int fd, const json_t *json)
{
	char *text = json_dumps(json, JSON_COMPACT);
	size_t len = text ? strlen(text) : 0;
	bool written;

	if (!text)
		return true;
	text[len] = '\n'; /* the line's end instead of the string's */
	written = write(fd, text, len + 1) > 0;
	free(text);
	return written;
}

void stats_now(struct control *control)
{
	json_t *json = counters(control);

	write_line(STDERR_FILENO, json);
	json_decref(json);
}

void stats_show(struct stats *stats, struct control *control)
{
	json_t *json, *disk;
	size_t i;

	if (stats_wait(stats) != 0)
		return;
	stats->next_ns = bd_clock_ns() + stats->interval * 1000000000ull;
	json = counters(control);
	json_array_foreach(json, i, disk) {
		if (stats->live && i < DRIVES_MAX)
			show_disk(stats, (unsigned)i, disk);
	}
	if (stats->fd >= 0 && !write_line(stats->fd, json))
		stats->fd = -1;
	json_decref(json);
}
