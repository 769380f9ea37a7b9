/* SPDX-License-Identifier: MIT */
/* A leaky bucket: limits a rate.  The one used by throttle, delay and rate limits. */
#ifndef BD_BUCKET_H
#define BD_BUCKET_H

#include <stdint.h>

struct bd_bucket {
	double rate;       /* units per second; 0: no limit */
	double size;       /* units it holds before it makes wait */
	double level;      /* units in it at last_ns */
	uint64_t last_ns;
};

/* @size 0: a tenth of a second's worth, at least one unit. */
void bd_bucket_init(struct bd_bucket *bucket, double rate, double size, uint64_t now_ns);
/* Nanoseconds until the next request may pass; 0: now. */
uint64_t bd_bucket_wait(struct bd_bucket *bucket, uint64_t now_ns);
/* Account for a request that passes.  A request larger than the bucket passes, later ones wait. */
void bd_bucket_fill(struct bd_bucket *bucket, double units, uint64_t now_ns);

#endif
