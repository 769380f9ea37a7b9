/* SPDX-License-Identifier: MIT */
/*
 * Changing the active L1 table, the snapshot table and reference counts at once.
 *
 * Everything new is written to clusters nothing refers to yet: L2 tables whose COPIED marks
 * change, refcount blocks whose counts change, the refcount table, L1, snapshots.
 *
 *   take clusters -> write all of it -> barrier -> one write of header bytes 24..71 -> barrier
 *                 -> give the old clusters back
 *
 * So a power cut leaves the old state or the new one, and lost clusters at worst.
 */
#ifndef QCOW2_REWRITE_H
#define QCOW2_REWRITE_H

#include "blockdev/format/qcow2/check_counts.h"
#include "blockdev/format/qcow2/entry.h"
#include "blockdev/format/qcow2/qcow2.h"

/* Host clusters. */
struct qcow2_run {
	uint64_t off, len;        /* bytes */
};

struct qcow2_runs {
	struct qcow2_run *run;    /* owned */
	size_t nr, room;
};

struct qcow2_rewrite {
	struct qcow2 *q;
	/* Changes entries before their marks; gain and loss know of it.  NULL: none. */
	void (*edit)(struct qcow2_rewrite *rw, struct qcow2_entry *entry);
	void *user;                       /* of @edit */
	uint64_t file_len;                /* bytes of the image file at the start */
	struct qcow2_counts gain, loss;   /* references to come and to go */
	struct qcow2_runs fresh, stale;   /* clusters taken; clusters no longer used */
	uint8_t *table;                   /* one cluster, for whoever runs */
	uint64_t table_off, l1_idx, l2_idx; /* where it is and its entry at hand, for complaints */
	/* the new state; as the old one after begin, but for @l1 */
	uint64_t *l1;                     /* owned, host order */
	uint32_t l1_size;                 /* entries */
	uint64_t l1_off;
	uint64_t size;                    /* guest bytes */
	uint32_t nb_snapshots;
	uint64_t snapshots_off;
	/* refcounts; NULL: no count changes */
	uint64_t *reftable;               /* owned, host order */
	uint64_t reftable_off;
	uint32_t reftable_size;           /* entries */
};

/*
 * Before a verb changes metadata: all is written back, marks of features only others keep are
 * cleared (bitmaps stay: guest data do not change).  Blocks; drained.
 */
int qcow2_verb_begin(struct qcow2 *q, struct bd_error *err);

/* Write everything back and start.  Blocks; drained.  qcow2_rewrite_end() frees in any case. */
int qcow2_rewrite_begin(struct qcow2_rewrite *rw, struct qcow2 *q);
/* Take clusters for @len bytes; they go back if the rewrite does not come to its end. */
int qcow2_rewrite_alloc(struct qcow2_rewrite *rw, uint64_t len, uint64_t *off);
/* Clusters of [off, +len) go back at the end. */
int qcow2_rewrite_stale(struct qcow2_rewrite *rw, uint64_t off, uint64_t len);
/*
 * Add what the L1 table @l1 refers to: clusters, and if @tables the L2 tables.  -EIO: corrupt.
 */
int qcow2_rewrite_count(struct qcow2_rewrite *rw, struct qcow2_counts *counts,
			const uint64_t *l1, uint32_t l1_size, bool tables);
/* Call @found for each entry of the L2 tables below @l1 until it returns a negative errno. */
int qcow2_rewrite_each(struct qcow2_rewrite *rw, const uint64_t *l1, uint32_t l1_size,
		       int (*found)(struct qcow2_rewrite *rw, struct qcow2_entry entry, void *user),
		       void *user);
/* Count what @entry refers to. */
int qcow2_rewrite_count_entry(struct qcow2_rewrite *rw, struct qcow2_counts *counts,
			      struct qcow2_entry entry);
/* Do the counts with gain and loss fit their width?  -EINVAL: no. */
int qcow2_rewrite_fits(struct qcow2_rewrite *rw);
/*
 * COPIED marks of rw->l1 and of the L2 tables below it for the counts to come: tables that must
 * change are copied.  @shared: its tables belong to another L1 table, too.
 */
int qcow2_rewrite_marks(struct qcow2_rewrite *rw, bool shared);
/* Write counts and L1, switch over, give the old clusters back. */
int qcow2_rewrite_commit(struct qcow2_rewrite *rw);
/* The new state is in use, however it came to be: only the old clusters may go. */
void qcow2_rewrite_done(struct qcow2_rewrite *rw);
void qcow2_rewrite_end(struct qcow2_rewrite *rw);

/* rewrite_counts.c: refcount blocks with the new counts, and their table, not yet in use. */
int qcow2_rewrite_refcounts(struct qcow2_rewrite *rw);
/* The count @cluster will have.  -EIO: less than none, or it has no refcount block. */
int qcow2_rewrite_after(struct qcow2_rewrite *rw, uint64_t cluster, uint64_t *count);
/* Clusters that were used and are free now: tell the file.  A hint. */
void qcow2_rewrite_punch(struct qcow2_rewrite *rw);

#endif
