/* SPDX-License-Identifier: MIT */
/* A leaky bucket: limits a rate. */
#include "blockdev/base/bucket.h"

static void leak(struct bd_bucket *bucket, uint64_t now_ns)
{
	if (now_ns <= bucket->last_ns)
		return;
	bucket->level -= bucket->rate * (double)(now_ns - bucket->last_ns) / 1e9;
	if (bucket->level < 0)
		bucket->level = 0;
	bucket->last_ns = now_ns;
}

void bd_bucket_init(struct bd_bucket *bucket, double rate, double size, uint64_t now_ns)
{
	if (size <= 0)
		size = rate / 10;
	*bucket = (struct bd_bucket){ .rate = rate, .size = size < 1 ? 1 : size,
				      .last_ns = now_ns };
}

uint64_t bd_bucket_wait(struct bd_bucket *bucket, uint64_t now_ns)
{
	double over, ns;

	if (bucket->rate <= 0)
		return 0;
	leak(bucket, now_ns);
	over = bucket->level - bucket->size;
	if (over <= 0)
		return 0;
	ns = over / bucket->rate * 1e9;
	/* One nanosecond more, so that rounding cannot make a caller come back too early. */
	return ns < 1e18 ? (uint64_t)ns + 1 : (uint64_t)1e18;
}

void bd_bucket_fill(struct bd_bucket *bucket, double units, uint64_t now_ns)
{
	if (bucket->rate <= 0)
		return;
	leak(bucket, now_ns);
	bucket->level += units;
}
