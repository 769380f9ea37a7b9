/* SPDX-License-Identifier: MIT */
/*
 * The metadata of an image: single clusters (L2 tables, refcount blocks) in a hash table with open
 * addressing, the few tables of many clusters as ranges.
 */
#include "blockdev/format/qcow2/overlap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/be.h"
#include "blockdev/base/bits.h"
#include "blockdev/base/cleanup.h"
#include "blockdev/format/qcow2/crypt.h"
#include "blockdev/format/qcow2/snapshot.h"

struct range {
	uint64_t off, end;          /* host bytes */
	unsigned kind;              /* QCOW2_OL_* */
};

/* A cluster that is no longer metadata keeps its place with kinds == 0. */
struct cell {
	uint64_t cluster;           /* host cluster number + 1; 0: free */
	unsigned kinds;             /* set of QCOW2_OL_* */
};

struct qcow2_overlap {
	struct range *ranges;       /* first inactive L1 tables, sorted and disjoint */
	size_t nr_inactive, nr_ranges;
	struct cell *cells;
	size_t nr_used, mask;       /* cells in use; number of cells - 1 */
};

static const char *const names[] = {
	"qcow2_header", "active L1 table", "active L2 table", "refcount block", "refcount table",
	"snapshot table", "inactive L1 table", "inactive L2 table", "bitmap directory",
};

/* --- single clusters ---------------------------------------------------------------------- */

static struct cell *find(const struct qcow2_overlap *o, uint64_t cluster)
{
	size_t at = (size_t)((cluster + 1) * UINT64_C(0x9e3779b97f4a7c15) >> 20) & o->mask;

	while (o->cells[at].cluster && o->cells[at].cluster != cluster + 1)
		at = (at + 1) & o->mask;
	return &o->cells[at];
}

/* Twice the cells; those that are metadata no longer are left out. */
static int grow(struct qcow2_overlap *o)
{
	size_t old_mask = o->mask;
	struct cell *old = o->cells, *cells;

	if (old_mask >= SIZE_MAX / 4 / sizeof(*cells))
		return -ENOMEM;
	cells = calloc((old_mask + 1) * 2, sizeof(*cells));
	if (!cells)
		return -ENOMEM;
	o->cells = cells;
	o->mask = old_mask * 2 + 1;
	o->nr_used = 0;
	for (size_t i = 0; i <= old_mask; i++) {
		if (old[i].kinds) {
			*find(o, old[i].cluster - 1) = old[i];
			o->nr_used++;
		}
	}
	free(old);
	return 0;
}

static int add(struct qcow2_overlap *o, uint64_t cluster, unsigned kind)
{
	struct cell *cell = find(o, cluster);

	if (!cell->cluster && (o->nr_used + 1) * 2 > o->mask) {
		if (grow(o) < 0)
			return -ENOMEM;
		cell = find(o, cluster);
	}
	o->nr_used += !cell->cluster;
	cell->cluster = cluster + 1;
	cell->kinds |= kind;
	return 0;
}

void qcow2_overlap_move(struct qcow2 *q, uint64_t old, uint64_t off, unsigned kind)
{
	struct qcow2_overlap *o = q->overlap;

	if (!o || !(q->overlap_check & kind))
		return;
	if (old)
		find(o, old >> q->cluster_bits)->kinds &= ~kind;
	/* Without memory for it the next write gathers anew, and says so if that fails too. */
	if (off && add(o, off >> q->cluster_bits, kind) < 0)
		qcow2_overlap_free(q);
}

/* --- gathering ---------------------------------------------------------------------------- */

static void add_range(const struct qcow2 *q, struct qcow2_overlap *o, uint64_t off, uint64_t len,
		      unsigned kind)
{
	uint64_t end;

	if (len && q->overlap_check & kind && checked_add(off, len, &end))
		o->ranges[o->nr_ranges++] = (struct range){off, end, kind};
}

static int by_offset(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->off < y->off ? -1 : x->off > y->off;
}

/* Sort the inactive L1 tables, and join those that meet. */
static void join(struct qcow2_overlap *o)
{
	size_t nr = 0;

	qsort(o->ranges, o->nr_ranges, sizeof(*o->ranges), by_offset);
	for (size_t i = 0; i < o->nr_ranges; i++) {
		if (nr && o->ranges[i].off <= o->ranges[nr - 1].end)
			o->ranges[nr - 1].end = max_u64(o->ranges[nr - 1].end, o->ranges[i].end);
		else
			o->ranges[nr++] = o->ranges[i];
	}
	o->nr_inactive = o->nr_ranges = nr;
}

static int gather_ranges(const struct qcow2 *q, struct qcow2_overlap *o)
{
	o->ranges = calloc((size_t)q->nb_snapshots + 6, sizeof(*o->ranges));
	if (!o->ranges)
		return -ENOMEM;
	for (uint32_t i = 0; q->snapshots && i < q->nb_snapshots; i++)
		add_range(q, o, q->snapshots[i].l1_off, (uint64_t)q->snapshots[i].l1_size * 8,
			  QCOW2_OL_INACTIVE_L1);
	join(o);
	add_range(q, o, 0, q->cluster_size, QCOW2_OL_MAIN_HEADER);
	/* Without its key slots the whole disk is lost. */
	add_range(q, o, q->crypto_off, qcow2_crypt_header_len(q), QCOW2_OL_MAIN_HEADER);
	add_range(q, o, q->l1_off, (uint64_t)q->l1_size * 8, QCOW2_OL_ACTIVE_L1);
	add_range(q, o, q->reftable_off, (uint64_t)q->reftable_clusters << q->cluster_bits,
		  QCOW2_OL_REFCOUNT_TABLE);
	add_range(q, o, q->snapshots_off, q->snapshots_size, QCOW2_OL_SNAPSHOT_TABLE);
	if (q->bitmaps.nr)
		add_range(q, o, q->bitmaps.dir_off, q->bitmaps.dir_size,
			  QCOW2_OL_BITMAP_DIRECTORY);
	return 0;
}

static int gather_tables(const struct qcow2 *q, struct qcow2_overlap *o, const uint64_t *table,
			 uint64_t entries, unsigned kind)
{
	for (uint64_t i = 0; q->overlap_check & kind && i < entries; i++) {
		uint64_t off = table[i] & QCOW2_OFFSET_MASK;

		if (off && add(o, off >> q->cluster_bits, kind) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* The L2 tables of snapshots are named on disk only. */
static int gather_inactive(struct qcow2 *q, struct qcow2_overlap *o)
{
	for (uint32_t i = 0; q->snapshots && i < q->nb_snapshots; i++) {
		__cleanup(free) uint64_t *l1 = NULL;
		int ret = qcow2_snapshot_l1(q, &q->snapshots[i], 0, &l1, NULL);

		if (ret == 0)
			ret = gather_tables(q, o, l1, q->snapshots[i].l1_size,
					    QCOW2_OL_INACTIVE_L2);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int gather(struct qcow2 *q, struct qcow2_overlap *o)
{
	int ret = gather_ranges(q, o);

	o->mask = 63;
	o->cells = calloc(o->mask + 1, sizeof(*o->cells));
	if (ret == 0 && !o->cells)
		ret = -ENOMEM;
	if (ret == 0)
		ret = gather_tables(q, o, q->l1, q->l1_size, QCOW2_OL_ACTIVE_L2);
	if (ret == 0)
		ret = gather_tables(q, o, q->reftable, q->reftable_size,
				    QCOW2_OL_REFCOUNT_BLOCK);
	if (ret == 0 && q->overlap_check & QCOW2_OL_INACTIVE_L2)
		ret = gather_inactive(q, o);
	return ret;
}

static void overlap_free(struct qcow2_overlap *o)
{
	if (!o)
		return;
	free(o->ranges);
	free(o->cells);
	free(o);
}

int qcow2_overlap_build(struct qcow2 *q)
{
	struct qcow2_overlap *o;
	int ret;

	o = calloc(1, sizeof(*o));
	ret = o ? gather(q, o) : -ENOMEM;
	if (ret < 0) {
		overlap_free(o);
		return ret;
	}
	overlap_free(q->overlap);
	q->overlap = o;
	return 0;
}

void qcow2_overlap_free(struct qcow2 *q)
{
	overlap_free(q->overlap);
	q->overlap = NULL;
}

/* --- asking ------------------------------------------------------------------------------- */

static unsigned inactive_l1(const struct qcow2_overlap *o, uint64_t off, uint64_t end)
{
	size_t low = 0, high = o->nr_inactive;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (o->ranges[mid].end <= off)
			low = mid + 1;
		else
			high = mid;
	}
	return low < o->nr_inactive && o->ranges[low].off < end ? QCOW2_OL_INACTIVE_L1 : 0;
}

int qcow2_overlap_check(struct qcow2 *q, uint64_t off, uint64_t len, unsigned own)
{
	const struct qcow2_overlap *o = q->overlap;
	uint64_t end = off + len;
	unsigned kinds, bit = 0;

	if (!o || !len)
		return 0;
	kinds = o->nr_inactive ? inactive_l1(o, off, end) : 0;
	for (size_t i = o->nr_inactive; i < o->nr_ranges; i++) {
		if (off < o->ranges[i].end && o->ranges[i].off < end)
			kinds |= o->ranges[i].kind;
	}
	for (uint64_t i = off >> q->cluster_bits; i <= (end - 1) >> q->cluster_bits; i++)
		kinds |= find(o, i)->kinds;
	kinds &= ~own;
	if (!kinds)
		return 0;
	while (!(kinds & 1u << bit))
		bit++;
	return bd_corrupt(q->node, "Preventing invalid write on metadata (overlaps with %s)",
			  names[bit]);
}
