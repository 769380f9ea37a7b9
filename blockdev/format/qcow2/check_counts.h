/* SPDX-License-Identifier: MIT */
/*
 * Reference counts of all host clusters, as the check finds them.
 *
 * One bit per cluster says "used", one says "a reference that fits a count of 1"; only clusters
 * used more than once cost more.  Chunks come on first touch, so a long sparse file costs nothing.
 */
#ifndef QCOW2_CHECK_COUNTS_H
#define QCOW2_CHECK_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { QCOW2_CHUNK_BITS = 16, QCOW2_CHUNK_CLUSTERS = 1 << QCOW2_CHUNK_BITS };

struct qcow2_chunk {
	uint64_t used[QCOW2_CHUNK_CLUSTERS / 64];
	uint64_t single[QCOW2_CHUNK_CLUSTERS / 64]; /* has a reference that fits a count of 1 */
	uint32_t *more;                             /* count - 1 of each cluster; NULL: all 0 */
};

struct qcow2_counts {
	struct qcow2_chunk **chunks;
	uint64_t nr_chunks;
	uint64_t max;            /* largest count the image's refcount width can hold */
};

/* @clusters: of the file; @order: width of the image's refcounts.  -ENOMEM. */
int qcow2_counts_init(struct qcow2_counts *counts, uint64_t clusters, unsigned order);
void qcow2_counts_free(struct qcow2_counts *counts);
uint64_t qcow2_counts_get(const struct qcow2_counts *counts, uint64_t cluster);
/* One reference more.  -ERANGE: does not fit the width; -ENOMEM. */
int qcow2_counts_add(struct qcow2_counts *counts, uint64_t cluster, bool single);
/* The same for @nr clusters from @first.  *done: how many were counted before an error. */
int qcow2_counts_add_run(struct qcow2_counts *counts, uint64_t first, uint64_t nr, bool single,
			 uint64_t *done);
/* The chunk of @cluster; NULL: no cluster of it is used. */
static inline const struct qcow2_chunk *qcow2_counts_chunk(const struct qcow2_counts *counts,
							   uint64_t cluster)
{
	uint64_t idx = cluster >> QCOW2_CHUNK_BITS;

	return idx < counts->nr_chunks ? counts->chunks[idx] : NULL;
}

#endif
