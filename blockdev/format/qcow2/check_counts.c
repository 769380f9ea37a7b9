/* SPDX-License-Identifier: MIT */
/* Reference counts of all host clusters, in about two bits each: see check_counts.h. */
#include "blockdev/format/qcow2/check_counts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int qcow2_counts_init(struct qcow2_counts *counts, uint64_t clusters, unsigned order)
{
	counts->nr_chunks = (clusters >> QCOW2_CHUNK_BITS) + 1;
	counts->chunks = calloc(counts->nr_chunks, sizeof(*counts->chunks));
	counts->max = order >= 5 ? UINT32_MAX : (UINT64_C(1) << (1 << order)) - 1;
	return counts->chunks ? 0 : -ENOMEM;
}

void qcow2_counts_free(struct qcow2_counts *counts)
{
	for (uint64_t i = 0; counts->chunks && i < counts->nr_chunks; i++) {
		if (counts->chunks[i])
			free(counts->chunks[i]->more);
		free(counts->chunks[i]);
	}
	free(counts->chunks);
	memset(counts, 0, sizeof(*counts));
}

/* The list grows when a cluster behind the end of the file is referenced. */
static int grow(struct qcow2_counts *counts, uint64_t idx)
{
	struct qcow2_chunk **chunks = realloc(counts->chunks, (idx + 1) * sizeof(*chunks));

	if (!chunks)
		return -ENOMEM;
	memset(chunks + counts->nr_chunks, 0, (idx + 1 - counts->nr_chunks) * sizeof(*chunks));
	counts->chunks = chunks;
	counts->nr_chunks = idx + 1;
	return 0;
}

static struct qcow2_chunk *chunk_make(struct qcow2_counts *counts, uint64_t cluster)
{
	uint64_t idx = cluster >> QCOW2_CHUNK_BITS;

	if (idx >= counts->nr_chunks && grow(counts, idx) < 0)
		return NULL;
	if (!counts->chunks[idx])
		counts->chunks[idx] = calloc(1, sizeof(struct qcow2_chunk));
	return counts->chunks[idx];
}

uint64_t qcow2_counts_get(const struct qcow2_counts *counts, uint64_t cluster)
{
	const struct qcow2_chunk *chunk = qcow2_counts_chunk(counts, cluster);
	unsigned at = cluster % QCOW2_CHUNK_CLUSTERS;

	if (!chunk || !(chunk->used[at / 64] >> at % 64 & 1))
		return 0;
	return chunk->more ? UINT64_C(1) + chunk->more[at] : 1;
}

int qcow2_counts_add(struct qcow2_counts *counts, uint64_t cluster, bool single)
{
	struct qcow2_chunk *chunk = chunk_make(counts, cluster);
	unsigned at = cluster % QCOW2_CHUNK_CLUSTERS;
	uint64_t bit = UINT64_C(1) << at % 64;

	if (!chunk)
		return -ENOMEM;
	if (single)
		chunk->single[at / 64] |= bit;
	if (!(chunk->used[at / 64] & bit)) {
		chunk->used[at / 64] |= bit;
		return 0;
	}
	if (!chunk->more) {
		if (counts->max < 2)
			return -ERANGE;
		chunk->more = calloc(QCOW2_CHUNK_CLUSTERS, sizeof(*chunk->more));
		if (!chunk->more)
			return -ENOMEM;
	}
	if (chunk->more[at] + UINT64_C(1) >= counts->max)
		return -ERANGE;
	chunk->more[at]++;
	return 0;
}

int qcow2_counts_add_run(struct qcow2_counts *counts, uint64_t first, uint64_t nr, bool single,
			 uint64_t *done)
{
	*done = 0;
	while (*done < nr) {
		uint64_t cluster = first + *done;
		struct qcow2_chunk *chunk = chunk_make(counts, cluster);
		unsigned at = cluster % QCOW2_CHUNK_CLUSTERS;
		int ret;

		if (!chunk)
			return -ENOMEM;
		/* 64 clusters nobody has used yet, at once. */
		if (at % 64 == 0 && nr - *done >= 64 && !chunk->used[at / 64]) {
			chunk->used[at / 64] = UINT64_MAX;
			chunk->single[at / 64] = single ? UINT64_MAX : 0;
			*done += 64;
			continue;
		}
		ret = qcow2_counts_add(counts, cluster, single);
		if (ret < 0)
			return ret;
		(*done)++;
	}
	return 0;
}
