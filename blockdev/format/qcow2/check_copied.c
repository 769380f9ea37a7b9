/* SPDX-License-Identifier: MIT */
/* COPIED marks of the active tables against the counts on disk.  Spec: cluster-mapping. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/cleanup.h"
#include "blockdev/format/qcow2/check.h"
#include "blockdev/format/qcow2/entry.h"

struct marks {
	struct qcow2_checker *ck;
	bool repair;
	uint8_t *block;          /* the refcount block last asked for */
	uint64_t block_idx;      /* its index; UINT64_MAX: none */
	int block_res;
	uint32_t ahead_idx;
	uint8_t *edit;           /* copy of the L2 table, when repairing */
};

/* The count of @cluster on disk; negative errno: it cannot be known. */
static int get_count(struct marks *m, uint64_t cluster, uint64_t *count)
{
	struct qcow2 *q = m->ck->q;
	uint64_t per_block = (uint64_t)q->cluster_size * 8 >> q->refcount_order;
	uint64_t idx = cluster / per_block, off;

	*count = 0;
	if (idx >= q->reftable_size)
		return 0;
	off = q->reftable[idx] & QCOW2_REFTABLE_ENTRY_OFFSET;
	if (!off)
		return 0;
	if (off & (q->cluster_size - 1))
		return -EIO;
	if (idx != m->block_idx) {
		m->block_idx = idx;
		m->block_res = qcow2_read_padded(q, off, m->block, q->cluster_size);
	}
	if (m->block_res < 0)
		return m->block_res;
	*count = qcow2_refcount_get(m->block, cluster % per_block, q->refcount_order);
	return 0;
}

static void note(struct marks *m)
{
	if (m->repair)
		m->ck->res->corruptions_fixed++;
	else
		m->ck->res->corruptions++;
}

static const char *verb(const struct marks *m)
{
	return m->repair ? "Repairing" : "ERROR";
}

static bool wrong(struct marks *m, uint64_t entry, uint64_t *count)
{
	uint64_t off = entry & QCOW2_OFFSET_MASK;

	if (get_count(m, off >> m->ck->q->cluster_bits, count) < 0)
		return false;
	return (*count == 1) != !!(entry & QCOW2_OFLAG_COPIED);
}

/* As wrong(), for the entry of a data cluster.  Those of an external data file are never shared. */
static bool wrong_data(struct marks *m, uint64_t entry, uint64_t *count)
{
	if (!(m->ck->q->incompatible & QCOW2_INCOMPAT_DATA_FILE))
		return wrong(m, entry, count);
	*count = 1;
	return !(entry & QCOW2_OFLAG_COPIED);
}

/* Data clusters of one table.  True: @m->edit was changed. */
static bool check_table(struct marks *m, const uint8_t *table)
{
	struct qcow2 *q = m->ck->q;
	unsigned nr = 1u << q->l2_bits, step = q->l2_entry_size / 8;
	const be64 *at = (const be64 *)table;
	bool edited = false;

	for (unsigned i = 0; i < nr; i++, at += step) {
		uint64_t l2 = be64_get(*at), count;

		if (l2 & QCOW2_OFLAG_COMPRESSED || !(l2 & QCOW2_OFFSET_MASK) ||
		    !wrong_data(m, l2, &count))
			continue;
		note(m);
		qcow2_check_say(m->ck, "%s OFLAG_COPIED data cluster: l2_entry=%llx refcount=%llu",
				verb(m), (unsigned long long)l2, (unsigned long long)count);
		if (!m->repair)
			continue;
		l2 = count == 1 ? l2 | QCOW2_OFLAG_COPIED : l2 & ~QCOW2_OFLAG_COPIED;
		((be64 *)m->edit)[(size_t)i * step] = be64_make(l2);
		edited = true;
	}
	return edited;
}

static int check_l1_entry(struct marks *m, uint32_t idx, bool *edited)
{
	struct qcow2 *q = m->ck->q;
	uint64_t count;

	if (!wrong(m, q->l1[idx], &count))
		return 0;
	note(m);
	qcow2_check_say(m->ck, "%s OFLAG_COPIED L2 cluster: l1_index=%u l1_entry=%llx "
			"refcount=%llu", verb(m), idx, (unsigned long long)q->l1[idx],
			(unsigned long long)count);
	if (!m->repair)
		return 0;
	q->l1[idx] ^= QCOW2_OFLAG_COPIED;
	*edited = true;
	return 0;
}

static uint64_t next_table(void *user)
{
	struct marks *m = user;
	const struct qcow2 *q = m->ck->q;

	while (m->ahead_idx < q->l1_size) {
		uint64_t off = q->l1[m->ahead_idx++] & QCOW2_OFFSET_MASK;

		if (off)
			return off;
	}
	return UINT64_MAX;
}

static int write_l1(struct qcow2 *q)
{
	size_t len = (size_t)q->l1_size * 8;
	__cleanup(free) be64 *disk = malloc(len + 8);

	if (!disk)
		return -ENOMEM;
	for (uint32_t i = 0; i < q->l1_size; i++)
		disk[i] = be64_make(q->l1[i]);
	return io_pwrite(q->node->file, q->l1_off, disk, len);
}

static int check_all(struct marks *m, struct qcow2_ahead *ahead)
{
	struct qcow2 *q = m->ck->q;
	bool l1_edited = false;
	int ret = 0;

	for (uint32_t i = 0; i < q->l1_size && ret == 0; i++) {
		const uint8_t *table;
		uint64_t off;
		int res;

		if (!(q->l1[i] & QCOW2_OFFSET_MASK))
			continue;
		check_l1_entry(m, i, &l1_edited);
		table = qcow2_ahead_get(ahead, &off, &res);
		if (res < 0) {
			m->ck->res->check_errors++;
			qcow2_check_say(m->ck, "ERROR: I/O error in check_oflag_copied: %s",
					strerror(-res));
			ret = res;
			break;
		}
		if (m->repair)
			memcpy(m->edit, table, q->cluster_size);
		if (check_table(m, table))
			ret = io_pwrite(q->node->file, off, m->edit, q->cluster_size);
	}
	if (ret == 0 && l1_edited)
		ret = write_l1(q);
	return ret;
}

int qcow2_check_copied(struct qcow2_checker *ck)
{
	const struct bd_check *res = ck->res;
	struct qcow2 *q = ck->q;
	__cleanup(free) uint8_t *block = malloc(q->cluster_size);
	__cleanup(free) uint8_t *edit = malloc(q->cluster_size);
	struct marks m = { .ck = ck, .block = block, .edit = edit, .block_idx = UINT64_MAX };
	struct qcow2_ahead *ahead;
	int ret;

	if (!ck->suspicious)
		return 0;
	/* Marks are only as good as the counts: with anything else wrong they wait for -r all. */
	if (ck->fix & BD_FIX_ERRORS)
		m.repair = true;
	else if (ck->fix & BD_FIX_LEAKS)
		m.repair = !res->check_errors && !res->corruptions && !res->leaks;
	if (!block || !edit)
		return -ENOMEM;
	ret = qcow2_ahead_new(q, next_table, &m, &ahead);
	if (ret == 0)
		ret = check_all(&m, ahead);
	qcow2_ahead_free(ahead);
	return ret;
}
