/* SPDX-License-Identifier: MIT */
/* Counters at intervals: a live line on standard error, a line of JSON in a file. */
#ifndef VKVM_STATS_H
#define VKVM_STATS_H

#include "vkvm/block/drive.h"

struct control;

struct stats {
	unsigned interval;           /* seconds; 0: never */
	bool live;                   /* on standard error */
	int fd;                      /* of the file; -1: none */
	uint64_t next_ns;            /* of bd_clock_ns() */
	struct stats_total {
		double operations, bytes, interrupts;
	} last[DRIVES_MAX];
};

/* Milliseconds until stats_show() is due; -1: never. */
int stats_wait(const struct stats *stats);
/* Show, if it is time. */
void stats_show(struct stats *stats, struct control *control);

#endif
