/* SPDX-License-Identifier: MIT */
/* Changing L1, snapshots and counts at once: see rewrite.h for the order. */
#include "blockdev/format/qcow2/rewrite.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/core/metacache_file.h"
#include "blockdev/format/qcow2/alloc.h"
#include "blockdev/format/qcow2/layout.h"
#include "blockdev/format/qcow2/overlap.h"

int qcow2_verb_begin(struct qcow2 *q, struct bd_error *err)
{
	uint64_t keep = QCOW2_AUTOCLEAR_BITMAPS |
			(q->node->data != q->node->file ? QCOW2_AUTOCLEAR_RAW_DATA : 0);
	int ret;

	qcow2_overlap_free(q);
	if (q->l2_second)
		metacache_file_invalidate(q->l2_second);
	ret = qcow2_flush_all(q);
	if (ret == 0 && q->autoclear & ~keep) {
		q->autoclear &= keep;
		ret = qcow2_header_write_features(q);
	}
	return ret < 0 ? bd_fail_errno(err, ret, "Could not update the image header") : 0;
}

static int add_run(struct qcow2_runs *runs, uint64_t off, uint64_t len)
{
	struct qcow2_run *last = runs->nr ? &runs->run[runs->nr - 1] : NULL;

	if (last && last->off + last->len == off) {
		last->len += len;
		return 0;
	}
	if (runs->nr == runs->room) {
		size_t room = runs->room ? runs->room * 2 : 64;
		struct qcow2_run *more = realloc(runs->run, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		runs->run = more;
		runs->room = room;
	}
	runs->run[runs->nr++] = (struct qcow2_run){off, len};
	return 0;
}

int qcow2_rewrite_stale(struct qcow2_rewrite *rw, uint64_t off, uint64_t len)
{
	return len ? add_run(&rw->stale, off, round_up(len, rw->q->cluster_size)) : 0;
}

int qcow2_rewrite_alloc(struct qcow2_rewrite *rw, uint64_t len, uint64_t *off)
{
	int ret;

	len = round_up(max_u64(len, 1), rw->q->cluster_size);
	ret = qcow2_alloc_meta(rw->q, len, off);
	return ret < 0 ? ret : add_run(&rw->fresh, *off, len);
}

int qcow2_rewrite_begin(struct qcow2_rewrite *rw, struct qcow2 *q)
{
	int64_t length;
	uint64_t clusters;
	int ret = qcow2_flush_all(q);

	*rw = (struct qcow2_rewrite){
		.q = q, .l1_size = q->l1_size, .l1_off = q->l1_off, .size = q->node->size,
		.nb_snapshots = q->nb_snapshots, .snapshots_off = q->snapshots_off,
	};
	qcow2_overlap_free(q);
	length = io_length(q->node->file);
	if (ret < 0 || length < 0)
		return ret < 0 ? ret : (int)length;
	rw->file_len = (uint64_t)length;
	clusters = div_up(rw->file_len, q->cluster_size);
	rw->table = malloc(q->cluster_size);
	if (!rw->table || qcow2_counts_init(&rw->gain, clusters, 6) < 0 ||
	    qcow2_counts_init(&rw->loss, clusters, 6) < 0)
		return -ENOMEM;
	return 0;
}

void qcow2_rewrite_end(struct qcow2_rewrite *rw)
{
	/* Not committed: nothing refers to what was taken. */
	for (size_t i = 0; i < rw->fresh.nr; i++)
		qcow2_free_later(rw->q, rw->fresh.run[i].off, rw->fresh.run[i].len,
				 QCOW2_FREE_OTHER);
	if (rw->fresh.nr)
		qcow2_flush_all(rw->q);
	qcow2_counts_free(&rw->gain);
	qcow2_counts_free(&rw->loss);
	free(rw->fresh.run);
	free(rw->stale.run);
	free(rw->table);
	free(rw->l1);
	free(rw->reftable);
}

void qcow2_rewrite_done(struct qcow2_rewrite *rw)
{
	rw->fresh.nr = 0;
	for (size_t i = 0; i < rw->stale.nr; i++)
		qcow2_free_later(rw->q, rw->stale.run[i].off, rw->stale.run[i].len,
				 QCOW2_FREE_SNAPSHOT);
	rw->stale.nr = 0;
}

/* Count host range [off, +len); it must lie in the file, but for the last cluster's end. */
static int count_range(struct qcow2_rewrite *rw, struct qcow2_counts *counts, uint64_t off,
		       uint64_t len)
{
	unsigned bits = rw->q->cluster_bits;
	uint64_t first = off >> bits, last = (off + len - 1) >> bits, done;

	if (last << bits >= rw->file_len)
		return bd_corrupt(rw->q->node, "Reference to %#llx, behind the end of the "
				  "file", (unsigned long long)off);
	return qcow2_counts_add_run(counts, first, last - first + 1, true, &done);
}

int qcow2_rewrite_count_entry(struct qcow2_rewrite *rw, struct qcow2_counts *counts,
			      struct qcow2_entry entry)
{
	struct qcow2 *q = rw->q;
	uint64_t host = qcow2_entry_host(entry);

	if (q->incompatible & QCOW2_INCOMPAT_DATA_FILE)
		return 0; /* clusters of a data file have no counts */
	if (entry.l2 & QCOW2_OFLAG_COMPRESSED) {
		uint64_t off;
		uint32_t len;

		qcow2_entry_compressed(q, entry.l2, &off, &len);
		return count_range(rw, counts, off, len);
	}
	if (!host)
		return 0;
	if (host & (q->cluster_size - 1))
		return bd_corrupt(q->node, "Cluster allocation offset %#llx unaligned "
					   "(L2 offset: %#llx, L2 index: %#llx)",
				  (unsigned long long)host, (unsigned long long)rw->table_off,
				  (unsigned long long)rw->l2_idx);
	return count_range(rw, counts, host, q->cluster_size);
}

static struct qcow2_entry table_entry(const struct qcow2 *q, const uint8_t *table, uint64_t idx)
{
	const be64 *at = (const be64 *)(table + idx * q->l2_entry_size);

	return (struct qcow2_entry){be64_get(at[0]), q->extended_l2 ? be64_get(at[1]) : 0};
}

/* The L2 table an L1 entry names into rw->table; *off 0: none. */
static int read_table(struct qcow2_rewrite *rw, uint64_t l1_entry, uint64_t *off)
{
	struct qcow2 *q = rw->q;

	*off = l1_entry & QCOW2_L1_ENTRY_OFFSET;
	if (*off & (q->cluster_size - 1))
		return bd_corrupt(q->node, "L2 table offset %#llx unaligned (L1 index: %#llx)",
				  (unsigned long long)*off, (unsigned long long)rw->l1_idx);
	rw->table_off = *off;
	return *off ? io_pread(q->node->file, *off, rw->table, q->cluster_size) : 0;
}

int qcow2_rewrite_each(struct qcow2_rewrite *rw, const uint64_t *l1, uint32_t l1_size,
		       int (*found)(struct qcow2_rewrite *rw, struct qcow2_entry entry, void *user),
		       void *user)
{
	for (uint32_t i = 0; i < l1_size; i++) {
		uint64_t off;
		int ret;

		rw->l1_idx = i;
		ret = read_table(rw, l1[i], &off);
		for (uint64_t e = 0; ret == 0 && off && e >> rw->q->l2_bits == 0; e++) {
			rw->l2_idx = e;
			ret = found(rw, table_entry(rw->q, rw->table, e), user);
		}
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int count_one(struct qcow2_rewrite *rw, struct qcow2_entry entry, void *user)
{
	return qcow2_rewrite_count_entry(rw, user, entry);
}

int qcow2_rewrite_count(struct qcow2_rewrite *rw, struct qcow2_counts *counts,
			const uint64_t *l1, uint32_t l1_size, bool tables)
{
	int ret = 0;

	for (uint32_t i = 0; i < l1_size && tables && ret == 0; i++) {
		if (l1[i] & QCOW2_L1_ENTRY_OFFSET)
			ret = count_range(rw, counts, l1[i] & QCOW2_L1_ENTRY_OFFSET,
					  rw->q->cluster_size);
	}
	return ret < 0 ? ret : qcow2_rewrite_each(rw, l1, l1_size, count_one, counts);
}

/* Edit entry @idx of rw->table, set or clear its COPIED mark.  *changed is only ever set. */
static int mark_entry(struct qcow2_rewrite *rw, uint64_t idx, bool *changed)
{
	struct qcow2_entry old = table_entry(rw->q, rw->table, idx), entry = old;
	be64 *at = (be64 *)(rw->table + idx * rw->q->l2_entry_size);
	uint64_t count;
	int ret;

	if (rw->edit)
		rw->edit(rw, &entry);
	if (qcow2_entry_has_host(rw->q, entry)) {
		ret = qcow2_rewrite_after(rw, qcow2_entry_host(entry) >> rw->q->cluster_bits,
					  &count);
		if (ret < 0)
			return ret;
		entry.l2 &= ~QCOW2_OFLAG_COPIED;
		if (count == 1)
			entry.l2 |= QCOW2_OFLAG_COPIED;
	} else {
		entry.l2 &= ~QCOW2_OFLAG_COPIED;
	}
	if (entry.l2 == old.l2)
		return 0;
	at[0] = be64_make(entry.l2);
	*changed = true;
	return 0;
}

/* The marks of one L2 table; *entry: the L1 entry, changed. */
static int mark_table(struct qcow2_rewrite *rw, uint64_t *entry, bool shared)
{
	struct qcow2 *q = rw->q;
	bool changed = false;
	uint64_t off, place;
	int ret = read_table(rw, *entry, &off);

	*entry = off;
	for (uint64_t e = 0; ret == 0 && off && e >> q->l2_bits == 0; e++)
		ret = mark_entry(rw, e, &changed);
	if (ret < 0 || !off)
		return ret;
	if (!changed)
		return shared ? count_range(rw, &rw->gain, off, q->cluster_size) : 0;
	ret = qcow2_rewrite_alloc(rw, q->cluster_size, &place);
	if (ret == 0)
		ret = io_pwrite(q->node->file, place, rw->table, q->cluster_size);
	if (ret == 0 && !shared)
		ret = count_range(rw, &rw->loss, off, q->cluster_size);
	*entry = place | QCOW2_OFLAG_COPIED;
	return ret;
}

int qcow2_rewrite_marks(struct qcow2_rewrite *rw, bool shared)
{
	int ret = 0;

	for (uint32_t i = 0; i < rw->l1_size && ret == 0; i++) {
		rw->l1_idx = i;
		ret = mark_table(rw, &rw->l1[i], shared);
	}
	/* Counts of tables that stay are known only now. */
	for (uint32_t i = 0; i < rw->l1_size && ret == 0; i++) {
		uint64_t count = 0;

		if (!rw->l1[i] || rw->l1[i] & QCOW2_OFLAG_COPIED)
			continue;
		ret = qcow2_rewrite_after(rw, rw->l1[i] >> rw->q->cluster_bits, &count);
		if (count == 1)
			rw->l1[i] |= QCOW2_OFLAG_COPIED;
	}
	return ret;
}

static int write_l1(struct qcow2_rewrite *rw)
{
	size_t len = round_up(max_u64((uint64_t)rw->l1_size * 8, 1), rw->q->cluster_size);
	be64 *out = calloc(1, len);
	int ret;

	if (!out)
		return -ENOMEM;
	for (uint32_t i = 0; i < rw->l1_size; i++)
		out[i] = be64_make(rw->l1[i]);
	ret = io_pwrite(rw->q->node->file, rw->l1_off, out, len);
	free(out);
	return ret;
}

/* One write inside the header's sector makes all of it true. */
static int switch_header(struct qcow2_rewrite *rw)
{
	const size_t from = offsetof(struct qcow2_disk_header, size);
	const size_t to = offsetof(struct qcow2_disk_header, incompatible);
	struct qcow2 *q = rw->q;
	struct qcow2_disk_header header = {
		.size = be64_make(rw->size),
		.crypt_method = be32_make(q->crypt_method),
		.l1_size = be32_make(rw->l1_size),
		.l1_off = be64_make(rw->l1_off),
		.reftable_off = be64_make(rw->reftable ? rw->reftable_off : q->reftable_off),
		.reftable_clusters = be32_make(q->reftable_clusters),
		.nb_snapshots = be32_make(rw->nb_snapshots),
		.snapshots_off = be64_make(rw->snapshots_off),
	};
	int ret = io_pflush(q->node->file);

	if (ret == 0)
		ret = io_pwrite(q->node->file, from, (uint8_t *)&header + from, to - from);
	/* Whatever came of it: what is on disk may refer to the new clusters now. */
	if (ret < 0)
		rw->fresh.nr = 0;
	return ret == 0 ? io_pflush(q->node->file) : ret;
}

/* The memory of the old state goes, the new one's stays. */
static void take_over(struct qcow2_rewrite *rw, uint8_t *l1_dirty)
{
	struct qcow2 *q = rw->q;

	free(q->l1);
	free(q->l1_dirty);
	q->l1 = rw->l1;
	q->l1_dirty = l1_dirty;
	q->l1_size = rw->l1_size;
	q->l1_off = rw->l1_off;
	rw->l1 = NULL;
	if (rw->reftable) {
		free(q->reftable);
		q->reftable = rw->reftable;
		q->reftable_off = rw->reftable_off;
		rw->reftable = NULL;
	}
	q->node->size = rw->size;
	q->nb_snapshots = rw->nb_snapshots;
	q->snapshots_off = rw->snapshots_off;
	q->alloc->packed_off = 0;
	metacache_empty(q->l2_cache);
	metacache_empty(q->refcount_cache);
	rw->fresh.nr = 0;
}

int qcow2_rewrite_commit(struct qcow2_rewrite *rw)
{
	struct qcow2 *q = rw->q;
	uint8_t *l1_dirty = calloc(1, rw->l1_size / 64 + 1);
	uint64_t old_l1 = q->l1_off, old_len = (uint64_t)q->l1_size * 8;
	int ret = l1_dirty ? 0 : -ENOMEM;

	if (ret < 0 ||
	    (ret = qcow2_rewrite_alloc(rw, (uint64_t)rw->l1_size * 8, &rw->l1_off)) < 0 ||
	    (ret = qcow2_rewrite_stale(rw, old_l1, old_len)) < 0 ||
	    (ret = qcow2_rewrite_refcounts(rw)) < 0 ||
	    (ret = write_l1(rw)) < 0 ||
	    (ret = switch_header(rw)) < 0) {
		free(l1_dirty);
		return ret;
	}
	take_over(rw, l1_dirty);
	qcow2_rewrite_punch(rw);
	qcow2_rewrite_done(rw);
	return qcow2_flush_all(q);
}
