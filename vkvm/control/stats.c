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

void stats_show(struct stats *stats, struct control *control)
{
	struct bd_error err;
	struct command cmd = { control, NULL, NULL, &err };
	json_t *disk;
	char *text;
	size_t i;

	if (stats_wait(stats) != 0)
		return;
	stats->next_ns = bd_clock_ns() + stats->interval * 1000000000ull;
	block_query_stats(&cmd);
	json_array_foreach(cmd.out, i, disk) {
		if (stats->live && i < DRIVES_MAX)
			show_disk(stats, (unsigned)i, disk);
	}
	text = stats->fd >= 0 ? json_dumps(cmd.out, JSON_COMPACT) : NULL;
	if (text) {
		size_t len = strlen(text);

		text[len] = '\n';
		if (write(stats->fd, text, len + 1) < 0)
			stats->fd = -1;
	}
	free(text);
	json_decref(cmd.out);
}
