/* SPDX-License-Identifier: MIT */
/*
 * What a repair must not decide alone.  Counting a cluster twice because two entries name it makes
 * one of them read the other's data for good; giving a lost L2 table back destroys the only way to
 * the data below it.  Spec: refcounts.
 */
#include <errno.h>
#include <stdlib.h>

#include "blockdev/base/bits.h"
#include "blockdev/format/qcow2/check.h"

enum {
	MAX_ORPHANS = 1 << 20, /* remembered; those behind them are judged like these */
};

void qcow2_doubts_exclusive(struct qcow2_checker *ck, uint64_t off, uint64_t len)
{
	unsigned bits = ck->q->cluster_bits;
	uint64_t end;

	if (!len || !checked_add(off, len, &end) || off >= ck->file_len)
		return;
	end = min_u64(end, ck->file_len);
	for (uint64_t c = off >> bits; c <= (end - 1) >> bits; c++)
		ck->doubts.crossed += qcow2_counts_get(&ck->counts, c) != 0;
}

void qcow2_doubts_orphan(struct qcow2_checker *ck, uint64_t cluster)
{
	struct qcow2_doubts *d = &ck->doubts;

	if (d->nr_orphans == d->room && d->room < MAX_ORPHANS) {
		size_t room = d->room ? d->room * 2 : 256;
		uint64_t *more = realloc(d->orphans, room * sizeof(*more));

		if (!more) {
			d->forgotten = true; /* fewer are looked at */
			return;
		}
		d->orphans = more;
		d->room = room;
	}
	if (d->nr_orphans < d->room && !d->forgotten)
		d->orphans[d->nr_orphans++] = cluster;
	else
		d->forgotten = true;
}

bool qcow2_doubts_found(struct qcow2_checker *ck)
{
	const struct bd_check *res = ck->res;
	const bool dirty = ck->q->incompatible & QCOW2_INCOMPAT_DIRTY;
	const struct qcow2_doubts *d = &ck->doubts;
	bool content = qcow2_orphans_judge(ck), crossed, lost, cut = ck->rebuild && d->behind;

	/* Counts that tell of both users do not change; narrow ones cannot tell. */
	crossed = d->crossed && (ck->rebuild || d->overflow ||
				 res->corruptions > ck->before.corruptions);
	/* Where counts are not kept any crash leaves that, and the next writer mends it. */
	if (dirty)
		ck->res->lost_tables = 0;
	lost = content && (res->lost_tables || d->empty || d->broken) && !dirty;
	if (!ck->fix || ck->fix & BD_FIX_FORCE)
		return crossed || lost || cut;
	if (cut)
		qcow2_check_say(ck, "Not repaired: what lies behind the end of the file would be "
				"overwritten by new refcounts. Get the whole file.");
	if (crossed)
		qcow2_check_say(ck, "Not repaired: clusters are used twice, and one of the two "
				"would read the data of the other. Copy the data out first.");
	if (lost)
		qcow2_check_say(ck, "Not repaired: lost clusters may be guest data whose tables "
				"are damaged. Copy the image first.");
	ck->res->not_repaired = crossed || lost || cut;
	return crossed || lost || cut;
}
