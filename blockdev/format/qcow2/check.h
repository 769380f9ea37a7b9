/* SPDX-License-Identifier: MIT */
/* What the parts of the consistency check share. */
#ifndef QCOW2_CHECK_H
#define QCOW2_CHECK_H

#include "blockdev/format/qcow2/check_counts.h"
#include "blockdev/format/qcow2/header.h"

/* What speaks against a repair: it would make damage final, or free what is still needed. */
struct qcow2_doubts {
	uint64_t crossed;            /* references to clusters that something else uses, too */
	uint64_t tables, empty;      /* active L2 tables; those without an entry */
	bool broken;                 /* entries that cannot be followed */
	bool behind;                 /* something is named that lies behind the end of the file */
	bool overflow;               /* more references to a cluster than its count can tell */
	uint64_t *orphans;           /* clusters that are counted and not used, in order; owned */
	size_t nr_orphans, room;
	bool forgotten;              /* there are more behind them */
};

struct qcow2_checker {
	struct qcow2 *q;
	struct bd_check *res;
	unsigned fix;                /* BD_FIX_* */
	struct qcow2_counts counts;  /* references found */
	uint64_t file_len;           /* bytes of the image file */
	uint64_t nr_clusters;        /* of the file, and what is referenced just behind */
	uint64_t highest;            /* last cluster in use */
	bool rebuild;                /* the refcount structures cannot be mended in place */
	bool suspicious;             /* a COPIED mark may be wrong: look closer */
	struct { uint64_t corruptions, leaks; } before; /* found before counts were compared */
	struct qcow2_doubts doubts;
};

/* One line to the caller. */
void qcow2_check_say(struct qcow2_checker *ck, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/*
 * Count a reference to each cluster of host range [off, +len).  @single: the reference is right
 * only if it is the only one (marked COPIED), or is none a COPIED mark speaks about.
 * 0, also if the range is refused with a message; negative errno: cannot go on.
 */
int qcow2_check_count(struct qcow2_checker *ck, uint64_t off, uint64_t len, bool single);

/* check_walk.c: count tables and clusters below an L1 table; the active one gives statistics. */
int qcow2_check_l1(struct qcow2_checker *ck, uint64_t off, uint64_t entries, bool active);
/* check_meta.c: snapshot table, snapshots; refcount table; bitmaps; LUKS header. */
int qcow2_check_snapshot_table(struct qcow2_checker *ck, struct bd_error *err);
int qcow2_check_meta(struct qcow2_checker *ck, bool with_reftable);
/* check_refcounts.c: the refcount table's entries; then counts on disk against those found. */
int qcow2_check_refblocks(struct qcow2_checker *ck);
int qcow2_check_compare(struct qcow2_checker *ck, unsigned fix);
/* check_copied.c: COPIED marks of the active tables against counts on disk. */
int qcow2_check_copied(struct qcow2_checker *ck);

/* --- check_doubts.c -------------------------------------------------------------------------- */

/*
 * Host range [off, +len) is about to be counted for something that shares clusters with nothing:
 * is one of them counted already?
 */
void qcow2_doubts_exclusive(struct qcow2_checker *ck, uint64_t off, uint64_t len);
/* Cluster @cluster is counted on disk and nothing refers to it.  As many as fit are kept. */
void qcow2_doubts_orphan(struct qcow2_checker *ck, uint64_t cluster);
/*
 * After the first comparison: look at the orphans, set lost_tables of the result.  True: a repair
 * could lose guest data, which has been reported if one is wanted.
 */
bool qcow2_doubts_found(struct qcow2_checker *ck);

/*
 * check_orphans.c: sets lost_tables of the result: orphans that look like L2 tables of guest data.
 * Returns: is there any content in the orphans?
 */
bool qcow2_orphans_judge(struct qcow2_checker *ck);

/* --- check_reader.c: tables read ahead ------------------------------------------------------- */

struct qcow2_ahead;

/*
 * Read tables of one cluster each, ahead of their use.  @next gives the host offset of the next
 * table to read, in order, or UINT64_MAX at the end.
 */
int qcow2_ahead_new(struct qcow2 *q, uint64_t (*next)(void *user), void *user,
		    struct qcow2_ahead **out);
/* The next table, valid until the next call; *res: errno of its read.  NULL: there is no more. */
const uint8_t *qcow2_ahead_get(struct qcow2_ahead *ahead, uint64_t *off, int *res);
void qcow2_ahead_free(struct qcow2_ahead *ahead);

#endif
