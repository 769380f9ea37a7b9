/* SPDX-License-Identifier: MIT */
/* Which guest ranges of a node have a write in flight: see range_lock.h. */
#include "blockdev/core/range_lock.h"

#include "blockdev/core/queue.h"

struct range_lock *bd_range_conflict(const struct link *list, uint64_t start, uint64_t end,
				     bool exclusive)
{
	struct range_lock *first = NULL;

	for (struct link *it = list->next; it != list; it = it->next) {
		struct range_lock *range = container_of(it, struct range_lock, link);

		if (range->start >= end || range->end <= start)
			continue;
		if (!exclusive && !range->exclusive)
			continue;
		if (!first || range->start < first->start)
			first = range;
	}
	return first;
}

void bd_range_take(struct link *list, struct range_lock *range, uint64_t start, uint64_t end,
		   bool exclusive)
{
	list_init(&range->waiters);
	range->start = start;
	range->end = end;
	range->exclusive = exclusive;
	range->held = true;
	list_add_tail(list, &range->link);
}

void bd_range_release(struct range_lock *range, struct bd_queue *queue)
{
	if (!range->held)
		return;
	range->held = false;
	list_del(&range->link);
	bd_queue_wake_all(queue, &range->waiters, 0);
}
