/* SPDX-License-Identifier: MIT */
/*
 * The state that hands out clusters, takes them back, and writes metadata back in safe order.
 *
 * One write-back round at a time per image:
 *
 *   refcount blocks -> [barrier -> refcount table] -> barrier -> L2 slices
 *                   -> L1 -> barrier -> holes punched, counts lowered
 *
 * Counts are only ever raised before, and only lowered after, what refers to the cluster is
 * durable: a power cut at any point leaks at worst.  While the gate is closed nobody edits L2 or
 * L1; those who want to park.
 */
#ifndef QCOW2_ALLOC_H
#define QCOW2_ALLOC_H

#include "blockdev/format/qcow2/qcow2.h"

enum qcow2_free_type { QCOW2_FREE_REQUEST, QCOW2_FREE_SNAPSHOT, QCOW2_FREE_OTHER };

/* References to give back once their absence in L2 is durable. */
struct qcow2_free_run {
	uint64_t first, nr;       /* host clusters */
	enum qcow2_free_type type;
};

enum qcow2_round_step {
	ROUND_IDLE, ROUND_REFBLOCKS, ROUND_TABLE_BARRIER, ROUND_TABLE, ROUND_BARRIER, ROUND_L2,
	ROUND_L1, ROUND_FINAL, ROUND_DURABLE, ROUND_GRACE, ROUND_FREE,
};

/* Making the L2 table of one L1 entry ours: new, or a copy of a shared one. */
enum qcow2_l2_step { L2_IDLE, L2_ALLOC, L2_READ, L2_WRITE, L2_LINK, L2_ROUND, L2_UNLINK };

struct qcow2_alloc {
	struct qcow2 *q;
	uint64_t hint;            /* host cluster where the next search starts */
	uint64_t want_table;      /* refcount table entries wanted; slow lane grows it */

	/* frees */
	struct qcow2_free_run *runs;
	size_t nr_runs, cap_runs;
	size_t nr_due;            /* the first runs: due in this round */
	uint64_t run_pos;         /* clusters of runs[run_idx] done */
	size_t run_idx;
	bool punched;             /* the current piece has been discarded */
	struct link want_free_room;

	/* compressed tail */
	uint64_t packed_off;      /* next free byte in the host cluster last packed; 0: none */
	bool ragged;              /* the last cluster may end behind the end of the file */

	/* fresh.c */
	uint64_t fresh_from;      /* free clusters from this host offset on have never been written;
				   * 0: not known */
	uint64_t reserved;        /* host offset space is reserved up to; UINT64_MAX: no more */
	bool reserving;           /* reserve_op is in flight */
	struct io_op reserve_op;

	/* round */
	enum qcow2_round_step step;
	bool gate_closed, again;
	bool starting;            /* the round begins at the queue's next turn */
	bool want_counts;         /* lazy refcounts: the next round writes them nevertheless */
	int err;
	int failed;               /* what the last round ended with: 0 or a negative errno */
	uint64_t grace_seq;
	uint32_t table_pos;       /* next sector of the table being written */
	uint8_t *buf;             /* sectors being written; owned */
	struct link gate;         /* bd_wait: want to edit L2 or L1 */
	struct link table_gate;   /* bd_wait: want to edit the refcount table */
	struct link now, next;    /* bd_wait of flushes: this round's, the next one's */
	struct bd_wait wait;
	struct io_op op;
	struct iovec iov;

	/* L2 tables */
	enum qcow2_l2_step l2_step;
	uint64_t l2_idx;          /* L1 index */
	uint64_t l2_old, l2_new;  /* host offsets of tables */
	uint64_t l2_blank;        /* the newest table, as long as nobody has looked; 0: none */
	uint8_t *l2_buf;
	int l2_err;
	struct link want_l2;      /* bd_wait: look again when the turn is over */
	struct bd_wait l2_wait;
	struct io_op l2_op;
	struct iovec l2_iov;
};

/* alloc.c: a run of up to @want free clusters, counted 1.  1: *off, *got; 0: parked; -errno;
 * -EAGAIN: the refcount table must grow (slow lane). */
int qcow2_alloc_run(struct qcow2 *q, uint64_t want, struct bd_wait *wait, uint64_t *off,
		    uint64_t *got);
/* Raise the count of the cluster at @off by one (or take it if free and @fresh).  1, 0, -errno;
 * -ERANGE: saturated, or not free. */
int qcow2_refcount_raise(struct qcow2 *q, uint64_t off, bool fresh, struct bd_wait *wait);
/* The refcount block that counts cluster @cluster: made if missing.  1, 0, -errno, -EAGAIN. */
int qcow2_refblock_get(struct qcow2 *q, uint64_t cluster, bool make, struct bd_wait *wait,
		       struct meta_slot **slot);

/*
 * span.c: @nr contiguous clusters behind all that is in use, with their refcount blocks in front
 * of them.  Blocks; drained image.  0 or negative errno.
 */
int qcow2_alloc_span(struct qcow2 *q, uint64_t nr, uint64_t *off);
/* alloc.c: cluster @cluster and others behind it are free now. */
void qcow2_alloc_again(struct qcow2 *q, uint64_t cluster);
/* alloc.c: enter a refcount block into the table; the table's gate is open. */
void qcow2_reftable_set(struct qcow2 *q, uint64_t idx, uint64_t off);

/* free.c */
int qcow2_free_room(struct qcow2 *q, struct bd_wait *wait); /* 1, or 0: parked until there is */
void qcow2_free_later(struct qcow2 *q, uint64_t off, uint64_t len, enum qcow2_free_type type);
/* Apply due runs.  1: all done; 0: waits (resumes the round); negative errno. */
int qcow2_free_apply(struct qcow2 *q);
/* The round failed: runs applied so far leave the list, the others stay. */
void qcow2_free_stop(struct qcow2 *q);

/*
 * fresh.c: drop the head and tail of a plan for new clusters (PRIV_HOST, PRIV_NR) where the guest
 * sees zeros and the host has never written; reserve space ahead.  Stop: wait for that.
 */
void qcow2_fresh_plan(struct qcow2 *q, struct bd_plan *plan, const struct meta_slot *slice);
void qcow2_fresh_stop(struct qcow2 *q);

/* round.c */
void qcow2_round_want(struct qcow2 *q); /* start a round, or another after this one */
/* May L2 and L1 be edited?  1: yes; 0: parked.  @wait NULL: blocks until they may, or -EIO. */
int qcow2_gate(struct qcow2 *q, struct bd_wait *wait);
/*
 * The same for the refcount table: a new block's entry must not reach the disk in a round that
 * does not write the block.
 */
int qcow2_table_gate(struct qcow2 *q, struct bd_wait *wait);
void qcow2_l1_set(struct qcow2 *q, uint64_t idx, uint64_t entry); /* gate open */
int qcow2_flush(struct bd_node *node, struct bd_wait *wait);
void qcow2_round_need(void *owner); /* the caches' need_round */
/* As qcow2_flush(), and counts are written although they are lazy.  @wait is resumed. */
void qcow2_flush_counts(struct qcow2 *q, struct bd_wait *wait);

/* l2_table.c: 1: l1[idx] is ours; 0: parked; negative errno. */
int qcow2_l2_own(struct qcow2 *q, uint64_t idx, struct bd_wait *wait);
/* The slice that maps guest @off, of a table that is ours.  1, 0, negative errno. */
int qcow2_slice_own(struct qcow2 *q, uint64_t off, struct bd_wait *wait, struct meta_slot **slice);

/* plan.c, publish.c, zero.c, compress.c: hooks of qcow2_write_ops */
int qcow2_plan(struct bd_node *node, struct bd_plan *plan, struct bd_wait *wait);
int qcow2_plan_compressed(struct bd_node *node, struct bd_plan *plan, uint32_t len,
			  struct bd_wait *wait);
int qcow2_publish(struct bd_node *node, struct bd_plan *plan, struct bd_wait *wait);
void qcow2_abort(struct bd_node *node, struct bd_plan *plan);
int qcow2_zero(struct bd_node *node, uint64_t *off, uint64_t *len, unsigned req_flags,
	       struct bd_wait *wait);
int qcow2_discard(struct bd_node *node, uint64_t *off, uint64_t *len, struct bd_wait *wait);
int qcow2_first_write(struct bd_node *node, struct bd_error *err);
int qcow2_slow(struct bd_node *node);

/* What a plan decided, kept in bd_plan.priv. */
enum qcow2_plan_kind {
	PLAN_IN_PLACE,   /* nothing to publish */
	PLAN_REUSE,      /* host clusters are ours but do not hold the data yet */
	PLAN_NEW,        /* new host clusters */
	PLAN_PACKED,     /* compressed bytes */
};
enum { PRIV_KIND, PRIV_HOST, PRIV_NR, PRIV_FULL };

/* Give back what an old entry refers to, because a new one replaces it. */
void qcow2_free_entry(struct qcow2 *q, uint64_t l2, enum qcow2_free_type type);

#endif
