/* SPDX-License-Identifier: MIT */
/* The guest's end of an image: what is counted, what becomes of errors.  In QEMU's words. */
#ifndef BD_BACKEND_H
#define BD_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blockdev/include/error.h"

struct json_t;

enum bd_op_kind { BD_OP_READ, BD_OP_WRITE, BD_OP_FLUSH, BD_OP_UNMAP, BD_OP_KINDS };

enum { BD_HISTOGRAM_MAX = 64 };

/* How many requests took how long: bin i is below bound i and not below the one before it. */
struct bd_histogram {
	unsigned nr;                 /* bounds; 0: nothing is counted */
	uint64_t bounds[BD_HISTOGRAM_MAX]; /* ns, ascending */
	uint64_t bins[BD_HISTOGRAM_MAX + 1];
};

/* Belongs to one thread; all zeros at the start. */
struct bd_account {
	struct bd_op_stats {
		uint64_t bytes, operations, failed, invalid;
		uint64_t total_time_ns;
		struct bd_histogram latency;
	} op[BD_OP_KINDS];
	uint64_t wr_highest_offset;  /* bytes */
	uint64_t last_ns;            /* end of the last request, of bd_clock_ns() */
};

uint64_t bd_clock_ns(void); /* monotonic */
/* A request of @len bytes at @off that began at @start_ns has ended. */
void bd_account_done(struct bd_account *account, enum bd_op_kind op, uint64_t off, uint64_t len,
		     uint64_t start_ns, bool failed);
/* Count from now on by these bounds.  -EINVAL: not ascending from above 0, or too many. */
int bd_histogram_set(struct bd_histogram *histogram, const uint64_t *bounds, size_t nr);
/* As query-blockstats has it.  NULL: no memory. */
struct json_t *bd_account_json(const struct bd_account *account);

/* What becomes of a request whose I/O failed: QEMU's werror and rerror. */
enum bd_policy { BD_POLICY_REPORT, BD_POLICY_IGNORE, BD_POLICY_STOP, BD_POLICY_ENOSPC };

/* "report", "ignore", "stop", "enospc" (not @for_read).  -EINVAL with QEMU's text. */
int bd_policy_parse(const char *name, bool for_read, enum bd_policy *policy,
		    struct bd_error *err);
/* What to do about @error, a negative errno: one of the first three. */
enum bd_policy bd_policy_action(enum bd_policy policy, int error);

#endif
