/* SPDX-License-Identifier: MIT */
/* Limits on the rate of a guest's requests: six buckets and a timer. */
#include "blockdev/include/throttle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/base/bucket.h"
#include "blockdev/core/queue.h"

struct bd_throttle {
	struct io_ctx *ctx;
	struct bd_throttle_limits limits;
	struct bd_bucket buckets[BD_THROTTLE_KINDS];
	struct io_timer timer;
	bool waiting, on;
	void (*wake)(void *user);
	void *user;
};

static void fire(struct io_timer *timer)
{
	struct bd_throttle *throttle = timer->user;

	throttle->waiting = false;
	throttle->wake(throttle->user);
}

int bd_throttle_new(struct bd_queue *queue, void (*wake)(void *user), void *user,
		    struct bd_throttle **out)
{
	struct bd_throttle *throttle = calloc(1, sizeof(*throttle));

	*out = throttle;
	if (!throttle)
		return -ENOMEM;
	throttle->ctx = bd_queue_ctx(queue);
	throttle->wake = wake;
	throttle->user = user;
	throttle->timer.fire = fire;
	throttle->timer.user = throttle;
	list_init(&throttle->timer.link);
	return 0;
}

void bd_throttle_free(struct bd_throttle *throttle)
{
	if (throttle)
		io_timer_cancel(&throttle->timer);
	free(throttle);
}

void bd_throttle_set(struct bd_throttle *throttle, const struct bd_throttle_limits *limits)
{
	uint64_t now = io_ctx_now(throttle->ctx);

	throttle->limits = *limits;
	throttle->on = false;
	for (unsigned i = 0; i < BD_THROTTLE_KINDS; i++) {
		bd_bucket_init(&throttle->buckets[i], (double)limits->rate[i],
			       (double)limits->max[i], now);
		throttle->on |= limits->rate[i] != 0;
	}
	/* Whoever waits asks again, by the new rules. */
	if (throttle->waiting) {
		io_timer_cancel(&throttle->timer);
		io_timer_add(throttle->ctx, &throttle->timer, now);
	}
}

static bool concerns(unsigned kind, bool write)
{
	return kind % 3 == 0 || (kind % 3 == 2) == write;
}

bool bd_throttle_pass(struct bd_throttle *throttle, bool write, uint64_t bytes)
{
	uint64_t now, wait = 0, size = throttle->limits.iops_size;
	double ops = size && bytes > size ? (double)bytes / (double)size : 1;

	if (!throttle->on)
		return true;
	now = io_ctx_now(throttle->ctx);
	for (unsigned i = 0; i < BD_THROTTLE_KINDS; i++) {
		if (concerns(i, write))
			wait = max_u64(wait, bd_bucket_wait(&throttle->buckets[i], now));
	}
	if (wait) {
		if (!throttle->waiting)
			io_timer_add(throttle->ctx, &throttle->timer, now + wait);
		throttle->waiting = true;
		return false;
	}
	for (unsigned i = 0; i < BD_THROTTLE_KINDS; i++) {
		if (concerns(i, write))
			bd_bucket_fill(&throttle->buckets[i],
				       i < BD_THROTTLE_IOPS ? (double)bytes : ops, now);
	}
	return true;
}

uint64_t *bd_throttle_field(struct bd_throttle_limits *limits, const char *name)
{
	/* On the command line; in QMP, which has no word for the total before "_max". */
	static const char *const names[BD_THROTTLE_KINDS][2] = {
		{ "bps-total", "bps" }, { "bps-read", "bps_rd" }, { "bps-write", "bps_wr" },
		{ "iops-total", "iops" }, { "iops-read", "iops_rd" }, { "iops-write", "iops_wr" },
	};

	if (!strcmp(name, "iops-size") || !strcmp(name, "iops_size"))
		return &limits->iops_size;
	for (unsigned i = 0; i < 2 * BD_THROTTLE_KINDS; i++) {
		const char *known = names[i / 2][i % 2];
		size_t len = strlen(known);

		if (strncmp(name, known, len))
			continue;
		if (!name[len])
			return &limits->rate[i / 2];
		if (!strcmp(name + len, i % 2 ? "_max" : "-max"))
			return &limits->max[i / 2];
	}
	return NULL;
}
