/* SPDX-License-Identifier: MIT */
/*
 * What a repair must not decide alone.  Counting a cluster twice because two entries name it makes
 * one of them read the other's data for good; giving a lost L2 table back destroys the only way to
 * the data below it.  Spec: refcounts.
 */
#include <errno.h>
#include <stdlib.h>

#include "blockdev/base/bits.h"
#include "blockdev/base/cleanup.h"
#include "blockdev/base/zero.h"
#include "blockdev/format/qcow2/check.h"
#include "blockdev/format/qcow2/entry.h"

enum {
	MAX_ORPHANS = 1 << 20, /* remembered; those behind them are judged like these */
	HEAD = 4096,           /* bytes that tell most clusters of data from a table */
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

		if (!more)
			return; /* fewer are looked at */
		d->orphans = more;
		d->room = room;
	}
	if (d->nr_orphans < d->room)
		d->orphans[d->nr_orphans++] = cluster;
}

/* Does @entry name a place for data that nothing else uses?  -1: no entry of a table. */
static int names_orphan(const struct qcow2_checker *ck, struct qcow2_entry entry)
{
	const struct qcow2 *q = ck->q;
	uint64_t off = qcow2_entry_host(entry);
	uint32_t len;

	if (!entry.l2)
		return entry.bitmap ? -1 : 0;
	if (entry.l2 & QCOW2_L2_ENTRY_COMPRESSED)
		qcow2_entry_compressed(q, entry.l2, &off, &len);
	else if (entry.l2 & QCOW2_L2_ENTRY_RESERVED || off & (q->cluster_size - 1))
		return -1;
	if (off >= ck->file_len || (!off && !(entry.l2 & QCOW2_OFLAG_ZERO)))
		return -1;
	return off ? qcow2_counts_get(&ck->counts, off >> q->cluster_bits) == 0 : 0;
}

/*
 * Do @len bytes look like entries of an L2 table?  *orphans, *others: entries whose cluster has
 * lost its last reference with this table, and those that are reached in another way.
 */
static bool looks_like_table(const struct qcow2_checker *ck, const uint8_t *buf, size_t len,
			     uint64_t *orphans, uint64_t *others)
{
	unsigned step = ck->q->l2_entry_size / 8;
	const be64 *at = (const be64 *)buf;

	for (size_t i = 0; i < len / 8; i += step) {
		struct qcow2_entry entry = {
			be64_get(at[i]), step > 1 ? be64_get(at[i + 1]) : 0
		};
		int ret = names_orphan(ck, entry);

		if (ret < 0)
			return false;
		*orphans += ret > 0;
		*others += ret == 0 && qcow2_entry_host(entry);
	}
	return true;
}

/* Look at one lost cluster.  *data: has it any content? */
static bool is_lost_table(struct qcow2_checker *ck, uint64_t cluster, uint8_t *buf, bool *data)
{
	const struct qcow2 *q = ck->q;
	uint64_t off = cluster << q->cluster_bits, orphans = 0, others = 0;
	size_t head = min_u64(HEAD, q->cluster_size), rest = q->cluster_size - head;

	if (qcow2_read_padded(ck->q, off, buf, head) < 0)
		return false;
	*data = !bd_is_zero(buf, head);
	if (!looks_like_table(ck, buf, head, &orphans, &others))
		return false;
	if (!rest || qcow2_read_padded(ck->q, off + head, buf + head, rest) < 0)
		return orphans && !others;
	*data |= !bd_is_zero(buf + head, rest);
	return looks_like_table(ck, buf + head, rest, &orphans, &others) && orphans && !others;
}

/* Sets lost_tables.  Returns: is there any content in the orphans? */
static bool judge_orphans(struct qcow2_checker *ck)
{
	__cleanup(free) uint8_t *buf = malloc(ck->q->cluster_size);
	bool any = false;

	ck->res->lost_tables = 0;
	for (size_t i = 0; buf && i < ck->doubts.nr_orphans; i++) {
		bool data = false;

		ck->res->lost_tables += is_lost_table(ck, ck->doubts.orphans[i], buf, &data);
		any |= data;
	}
	/* Data without one table above them: the L1 table has been lost. */
	if (any && !ck->doubts.tables && !ck->res->lost_tables)
		ck->res->lost_tables = 1;
	return any;
}

bool qcow2_doubts_found(struct qcow2_checker *ck)
{
	const struct bd_check *res = ck->res;
	const struct qcow2_doubts *d = &ck->doubts;
	bool content = judge_orphans(ck), crossed, lost;

	/* Counts that tell of both users do not change; narrow ones cannot tell. */
	crossed = d->crossed && (ck->rebuild || d->overflow ||
				 res->corruptions > ck->before.corruptions);
	lost = content && (res->lost_tables || d->empty || d->broken);
	if (!ck->fix || ck->fix & BD_FIX_FORCE)
		return crossed || lost;
	if (crossed)
		qcow2_check_say(ck, "Not repaired: clusters are used twice, and one of the two "
				"would read the data of the other. Copy the data out first.");
	if (lost)
		qcow2_check_say(ck, "Not repaired: lost clusters may be guest data whose tables "
				"are damaged. Copy the image first.");
	ck->res->not_repaired = crossed || lost;
	return crossed || lost;
}
