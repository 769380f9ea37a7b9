/* SPDX-License-Identifier: MIT */
/* Limits on the rate of a guest's requests.  Like: QEMU's throttling.*. */
#ifndef BD_THROTTLE_H
#define BD_THROTTLE_H

#include "blockdev/include/blockdev.h"

/* What is limited: of all requests, of reads, of writes. */
enum bd_throttle_kind {
	BD_THROTTLE_BPS, BD_THROTTLE_BPS_RD, BD_THROTTLE_BPS_WR,
	BD_THROTTLE_IOPS, BD_THROTTLE_IOPS_RD, BD_THROTTLE_IOPS_WR,
	BD_THROTTLE_KINDS,
};

struct bd_throttle_limits {
	uint64_t rate[BD_THROTTLE_KINDS]; /* a second; 0: no limit */
	uint64_t max[BD_THROTTLE_KINDS];  /* burst of one second; 0: a tenth of the rate */
	uint64_t iops_size;               /* a larger request counts as several; bytes, 0: no */
};

struct bd_throttle;

/* @wake: a request may pass now; from bd_queue_poll().  -ENOMEM. */
int bd_throttle_new(struct bd_queue *queue, void (*wake)(void *user), void *user,
		    struct bd_throttle **out);
void bd_throttle_free(struct bd_throttle *throttle);
/* New limits, with empty buckets. */
void bd_throttle_set(struct bd_throttle *throttle, const struct bd_throttle_limits *limits);
/*
 * May a request pass now?  true: yes, and it is counted, also one that is larger than the burst.
 * false: no; wake() will be called when it is worth asking again.
 */
bool bd_throttle_pass(struct bd_throttle *throttle, bool write, uint64_t bytes);
/*
 * The limit QEMU calls @name: "bps-total" or "bps", "iops-write-max" or "iops_wr_max",
 * "iops-size"...  NULL: there is none.
 */
uint64_t *bd_throttle_field(struct bd_throttle_limits *limits, const char *name);

#endif
