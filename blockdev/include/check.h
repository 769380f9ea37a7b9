/* SPDX-License-Identifier: MIT */
/* Consistency check of an image's metadata. */
#ifndef BD_CHECK_H
#define BD_CHECK_H

#include "blockdev/include/blockdev.h"

enum {
	BD_FIX_LEAKS = 1,
	BD_FIX_ERRORS = 2,
	BD_FIX_FORCE = 4,  /* also where that may destroy what is left of guest data */
};

struct bd_check {
	uint64_t check_errors, corruptions, leaks;
	uint64_t corruptions_fixed, leaks_fixed;
	/* Lost clusters that look like the mapping of guest data.  A repair leaves them alone. */
	uint64_t lost_tables;
	bool not_repaired;                         /* a repair would have lost data: see report */
	uint64_t image_end_offset;                 /* bytes: behind the last used cluster */
	uint64_t total_clusters, allocated_clusters, fragmented_clusters, compressed_clusters;
	/* Gets a line per finding ("ERROR ...", "Leaked ...", "Repairing ..."), no newline. */
	void (*report)(const char *line, void *user);
	void *user;
};

/*
 * Check @node (opened with BD_O_CHECK).
 * @fix: BD_FIX_* or 0.  Counters in @check are set, its report callback is used.
 * 0: finished, whatever was found; -ENOTSUP: the format has no check; other: could not finish.
 * Blocks.  Like: qemu-img check.
 */
int bd_check(struct bd_node *node, unsigned fix, struct bd_check *check, struct bd_error *err);

#endif
