/* SPDX-License-Identifier: MIT */
/* One queue for all runs of a target. */
#ifndef FUZZ_QUEUE_H
#define FUZZ_QUEUE_H

#include <stdlib.h>

#include "blockdev/include/blockdev.h"

static inline void no_report(const char *line, void *user)
{
	(void)line;
	(void)user;
}

/* Nothing waits for a kernel here, and runs repeat exactly. */
static inline struct bd_queue *the_queue(void)
{
	static struct bd_queue *queue;

	if (!queue) {
		bd_set_report(no_report, NULL);
		if (bd_queue_new("sync", 4, &queue, NULL) < 0)
			abort();
	}
	return queue;
}

#endif
