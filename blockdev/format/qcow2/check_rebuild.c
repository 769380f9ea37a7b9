/* SPDX-License-Identifier: MIT */
/*
 * Building the refcount structures anew from the references found.
 *
 * New ones go to the end of the file; the old ones are given back once the header has turned away
 * from them.  Where the file cannot grow by that much, old blocks and the old table stay where they
 * are if nothing else uses their clusters; what is still missing goes to the end, or into free
 * clusters.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/base/cleanup.h"
#include "blockdev/format/qcow2/check_repair.h"

enum mode {
	FRESH,    /* everything new, behind the end */
	KEEP,     /* what is missing, behind the end */
	INSIDE,   /* the file cannot grow */
};

struct plan {
	struct qcow2_checker *ck;
	uint64_t per_block;
	uint64_t *blocks;       /* host offset of each block; 0: none needed */
	uint64_t nr, room;      /* blocks */
	uint64_t table;         /* host offset of the refcount table; 0: not yet placed */
	uint64_t table_clusters;
	uint64_t end;           /* clusters: where the file ends, with what was placed */
	uint64_t free_from;     /* clusters below are not free */
	enum mode mode;
};

static bool is_free(const struct plan *p, uint64_t first, uint64_t nr)
{
	for (uint64_t c = first; c < first + nr; c++)
		if (qcow2_counts_get(&p->ck->counts, c))
			return false;
	return true;
}

static int take(struct plan *p, uint64_t first, uint64_t nr)
{
	for (uint64_t c = first; c < first + nr; c++) {
		int ret = qcow2_counts_add(&p->ck->counts, c, true);

		if (ret < 0)
			return ret;
	}
	p->ck->nr_clusters = max_u64(p->ck->nr_clusters, first + nr);
	return 0;
}

/* @nr clusters in a row. */
static int place(struct plan *p, uint64_t nr, uint64_t *off)
{
	uint64_t first = p->end;

	if (p->mode == INSIDE) {
		for (first = p->free_from; first + nr <= p->end && !is_free(p, first, nr);)
			first++;
		if (first + nr > p->end)
			return -ENOSPC;
		if (nr == 1)
			p->free_from = first + 1;
	} else {
		p->end += nr;
	}
	*off = first << p->ck->q->cluster_bits;
	return take(p, first, nr);
}

static int set_block(struct plan *p, uint64_t idx, uint64_t off)
{
	if (idx >= p->room) {
		uint64_t room = max_u64(p->room * 2, idx + 64);
		uint64_t *grown = realloc(p->blocks, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		memset(grown + p->room, 0, (room - p->room) * sizeof(*grown));
		p->blocks = grown;
		p->room = room;
	}
	p->blocks[idx] = off;
	p->nr = max_u64(p->nr, idx + 1);
	return 0;
}

/* Old structures whose clusters nobody else uses are used again. */
static int keep_old(struct plan *p)
{
	struct qcow2 *q = p->ck->q;
	uint64_t table = q->reftable_off >> q->cluster_bits;
	int ret = 0;

	if (table && q->reftable_clusters && table + q->reftable_clusters <= p->end &&
	    is_free(p, table, q->reftable_clusters)) {
		p->table = q->reftable_off;
		p->table_clusters = q->reftable_clusters;
		ret = take(p, table, q->reftable_clusters);
	}
	for (uint64_t i = 0; i < q->reftable_size && ret == 0; i++) {
		uint64_t off = q->reftable[i], cluster = off >> q->cluster_bits;

		if (!off || off & (q->cluster_size - 1) || cluster >= p->end ||
		    !is_free(p, cluster, 1))
			continue;
		ret = set_block(p, i, off);
		if (ret == 0)
			ret = take(p, cluster, 1);
	}
	return ret;
}

static bool range_used(const struct plan *p, uint64_t idx)
{
	uint64_t first = idx * p->per_block;
	uint64_t end = min_u64(first + p->per_block, p->ck->nr_clusters);

	while (first < end) {
		if (!qcow2_counts_chunk(&p->ck->counts, first)) {
			first = round_down(first, QCOW2_CHUNK_CLUSTERS) + QCOW2_CHUNK_CLUSTERS;
			continue;
		}
		if (qcow2_counts_get(&p->ck->counts, first))
			return true;
		first++;
	}
	return false;
}

/* Each used cluster is counted by some block, new blocks included. */
static int place_blocks(struct plan *p)
{
	for (uint64_t i = 0; i < div_up(p->ck->nr_clusters, p->per_block); i++) {
		uint64_t off;
		int ret;

		if ((i < p->nr && p->blocks[i]) || !range_used(p, i))
			continue;
		ret = place(p, 1, &off);
		if (ret == 0)
			ret = set_block(p, i, off);
		if (ret < 0)
			return ret;
		i = UINT64_MAX; /* a block placed below may need one itself: look again */
	}
	return 0;
}

static int place_table(struct plan *p)
{
	uint64_t per_table = p->ck->q->cluster_size / 8;
	int ret;

	if (p->table && p->nr <= p->table_clusters * per_table)
		return 0;
	/* Room for the blocks that count the new table. */
	p->table_clusters = div_up(p->nr + 2, per_table);
	p->table_clusters = div_up(p->nr + 2 + p->table_clusters / p->per_block, per_table);
	if (p->table_clusters * p->ck->q->cluster_size > QCOW2_LIMIT_REFTABLE_BYTES)
		return -EFBIG;
	ret = place(p, p->table_clusters, &p->table);
	return ret < 0 ? ret : place_blocks(p);
}

static int write_blocks(const struct plan *p)
{
	struct qcow2 *q = p->ck->q;
	__cleanup(free) uint8_t *block = malloc(q->cluster_size);

	if (!block)
		return -ENOMEM;
	for (uint64_t i = 0; i < p->nr; i++) {
		uint64_t first = i * p->per_block;
		int ret;

		if (!p->blocks[i])
			continue;
		memset(block, 0, q->cluster_size);
		for (uint64_t c = 0; c < p->per_block && first + c < p->ck->nr_clusters; c++)
			qcow2_refcount_set(block, c, q->refcount_order,
					   qcow2_counts_get(&p->ck->counts, first + c));
		ret = io_pwrite(q->node->file, p->blocks[i], block, q->cluster_size);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* The new table on disk, then the header that names it; then the same in memory. */
static int switch_over(const struct plan *p)
{
	struct { be64 off; be32 clusters; } field = {
		be64_make(p->table), be32_make((uint32_t)p->table_clusters)
	};
	struct qcow2 *q = p->ck->q;
	uint64_t entries = p->table_clusters * (q->cluster_size / 8);
	__cleanup(free) be64 *disk = calloc(entries, sizeof(*disk));
	uint64_t *table = calloc(entries, sizeof(*table));
	uint8_t *dirty = calloc(1, entries / 64 + 1);
	int ret = disk && table && dirty ? 0 : -ENOMEM;

	for (uint64_t i = 0; ret == 0 && i < p->nr; i++) {
		table[i] = p->blocks[i];
		disk[i] = be64_make(table[i]);
	}
	if (ret < 0 || (ret = io_pflush(q->node->file)) < 0 ||
	    (ret = io_pwrite(q->node->file, p->table, disk, entries * sizeof(*disk))) < 0 ||
	    (ret = io_pflush(q->node->file)) < 0 ||
	    (ret = io_pwrite(q->node->file, offsetof(struct qcow2_disk_header, reftable_off),
			     &field, 12)) < 0 ||
	    (ret = io_pflush(q->node->file)) < 0) {
		free(table);
		free(dirty);
		return ret;
	}
	free(q->reftable);
	free(q->reftable_dirty);
	q->reftable = table;
	q->reftable_dirty = dirty;
	q->reftable_off = p->table;
	q->reftable_clusters = (uint32_t)p->table_clusters;
	q->reftable_size = (uint32_t)entries;
	return 0;
}

static int rebuild(struct qcow2_checker *ck, enum mode mode)
{
	struct qcow2 *q = ck->q;
	struct plan p = {
		.ck = ck,
		.per_block = (uint64_t)q->cluster_size * 8 >> q->refcount_order,
		.mode = mode,
	};
	int ret = qcow2_check_references(ck, false);

	p.end = ck->nr_clusters;
	if (ret == 0 && mode != FRESH)
		ret = keep_old(&p);
	if (ret < 0 || (ret = place_blocks(&p)) < 0 || (ret = place_table(&p)) < 0)
		goto out;
	/* Claim the space first: running out of it half-way would leave things worse. */
	if (p.end << q->cluster_bits > ck->file_len)
		ret = io_resize(q->node->file, p.end << q->cluster_bits, "off", NULL);
	if (ret == 0)
		ret = write_blocks(&p);
	if (ret == 0)
		ret = switch_over(&p);
out:
	free(p.blocks);
	return ret;
}

/* --- the old structures ------------------------------------------------------------------ */

struct old {
	uint64_t *clusters;     /* host clusters */
	size_t nr;
};

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int old_list(const struct qcow2 *q, struct old *old)
{
	uint64_t table = q->reftable_off >> q->cluster_bits;

	old->clusters = calloc((size_t)q->reftable_clusters + q->reftable_size + 1,
			       sizeof(*old->clusters));
	if (!old->clusters)
		return -ENOMEM;
	for (uint64_t i = 0; i < q->reftable_clusters; i++)
		old->clusters[old->nr++] = table + i;
	for (uint64_t i = 0; i < q->reftable_size; i++)
		if (q->reftable[i] && !(q->reftable[i] & (q->cluster_size - 1)))
			old->clusters[old->nr++] = q->reftable[i] >> q->cluster_bits;
	qsort(old->clusters, old->nr, sizeof(*old->clusters), by_number);
	return 0;
}

/* As QEMU says it, which counts them once more to find that nobody refers to them. */
static void say_given_back(struct qcow2_checker *ck, const struct old *old)
{
	for (size_t i = 0; i < old->nr; i++) {
		uint64_t c = old->clusters[i];

		if ((i && c == old->clusters[i - 1]) || c >= ck->nr_clusters ||
		    qcow2_counts_get(&ck->counts, c))
			continue;
		qcow2_check_say(ck, "Repairing cluster %llu refcount=1 reference=0",
				(unsigned long long)c);
	}
}

int qcow2_check_rebuild(struct qcow2_checker *ck)
{
	void (*report)(const char *line, void *user) = ck->res->report;
	struct old old = {0};
	int ret = old_list(ck->q, &old);

	/* All findings have been reported already. */
	ck->res->report = NULL;
	if (ret == 0)
		ret = rebuild(ck, FRESH);
	for (enum mode mode = KEEP; mode <= INSIDE; mode++)
		if (ret == -ENOSPC || ret == -EINVAL || ret == -EFBIG)
			ret = rebuild(ck, mode);
	ck->res->report = report;
	if (ret == 0)
		say_given_back(ck, &old);
	free(old.clusters);
	return ret;
}
