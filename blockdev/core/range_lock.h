/* SPDX-License-Identifier: MIT */
/*
 * Which guest ranges of a node have a write in flight.
 *
 * Shared: writes in place.  Exclusive, until their last host operation completes: writes that
 * allocate, zero, discard.  Ranges are cluster-aligned.  Reads take nothing.
 */
#ifndef BD_RANGE_LOCK_H
#define BD_RANGE_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "blockdev/base/list.h"
#include "blockdev/core/metacache.h"

struct bd_queue;

struct range_lock {
	struct link link;          /* the node's list, unordered */
	struct link waiters;       /* bd_wait, first in first out */
	uint64_t start, end;       /* guest bytes, cluster-aligned */
	bool exclusive, held;
};

/*
 * The first range in @list that overlaps [start, end) and conflicts, i.e. is exclusive or
 * @exclusive is set; the one with the smallest start.  NULL: none.
 */
struct range_lock *bd_range_conflict(const struct link *list, uint64_t start, uint64_t end,
				     bool exclusive);
void bd_range_take(struct link *list, struct range_lock *range, uint64_t start, uint64_t end,
		   bool exclusive);
/* Give the range back and wake everyone who waits for it. */
void bd_range_release(struct range_lock *range, struct bd_queue *queue);

#endif
