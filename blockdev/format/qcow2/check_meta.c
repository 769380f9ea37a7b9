/* SPDX-License-Identifier: MIT */
/* Metadata outside the cluster mapping: snapshot table, refcount table, bitmaps, LUKS header. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/base/cleanup.h"
#include "blockdev/format/qcow2/bitmap.h"
#include "blockdev/format/qcow2/check.h"

int qcow2_check_snapshot_table(struct qcow2_checker *ck, struct bd_error *err)
{
	const size_t entry = sizeof(struct qcow2_disk_snapshot);
	struct qcow2 *q = ck->q;
	struct bd_error why = {0};
	int ret = qcow2_check_table(q, q->snapshots_off, q->nb_snapshots, entry,
				    entry * QCOW2_LIMIT_SNAPSHOTS, "snapshot table", &why);

	if (ret < 0) {
		qcow2_check_say(ck, "%s: ERROR %s", program_invocation_short_name, why.msg);
		if (q->nb_snapshots > QCOW2_LIMIT_SNAPSHOTS)
			qcow2_check_say(ck, "You can force-remove all %u overhanging snapshots "
					"with qemu-img check -r all",
					q->nb_snapshots - QCOW2_LIMIT_SNAPSHOTS);
	} else {
		if (!q->snapshots)
			ret = qcow2_snapshots_read(q, &why);
		if (ret < 0)
			qcow2_check_say(ck, "%s: ERROR failed to read the snapshot table: %s",
					program_invocation_short_name, why.msg);
	}
	if (ret < 0) {
		ck->res->check_errors++;
		return bd_fail(err, ret, "%s", strerror(-ret));
	}
	for (uint32_t i = 0; q->version >= 3 && i < q->nb_snapshots; i++) {
		if (q->snapshots[i].extra_len >= 16)
			continue;
		ck->res->corruptions++;
		qcow2_check_say(ck, "ERROR snapshot table entry %u is incomplete", i);
	}
	return 0;
}

/* A table of its own: no two of them share a cluster, nor one with the guest's data. */
static int count_meta(struct qcow2_checker *ck, uint64_t off, uint64_t len)
{
	qcow2_doubts_exclusive(ck, off, len);
	return qcow2_check_count(ck, off, len, true);
}

static int check_snapshot(struct qcow2_checker *ck, const struct qcow2_snapshot *sn)
{
	if (sn->l1_off & (ck->q->cluster_size - 1)) {
		ck->res->corruptions++;
		qcow2_check_say(ck, "ERROR snapshot %s (%s) l1_offset=%#llx: L1 table is not "
				"cluster aligned; snapshot table entry corrupted", sn->id, sn->name,
				(unsigned long long)sn->l1_off);
		return 0;
	}
	if (sn->l1_size > QCOW2_LIMIT_L1_BYTES / 8) {
		ck->res->corruptions++;
		qcow2_check_say(ck, "ERROR snapshot %s (%s) l1_size=%#x: L1 table is too large; "
				"snapshot table entry corrupted", sn->id, sn->name, sn->l1_size);
		return 0;
	}
	return qcow2_check_l1(ck, sn->l1_off, sn->l1_size, false);
}

static int check_snapshots(struct qcow2_checker *ck)
{
	struct qcow2 *q = ck->q;
	int ret = 0;

	if (q->nb_snapshots && q->incompatible & QCOW2_INCOMPAT_DATA_FILE) {
		ck->res->corruptions++;
		qcow2_check_say(ck, "ERROR %u snapshots in image with data file", q->nb_snapshots);
	} else {
		for (uint32_t i = 0; i < q->nb_snapshots && ret == 0; i++)
			ret = check_snapshot(ck, &q->snapshots[i]);
	}
	return ret < 0 ? ret : count_meta(ck, q->snapshots_off, q->snapshots_size);
}

struct bitmap_walk {
	struct qcow2_checker *ck;
	be64 *buf;
};

enum { BITMAP_ENTRIES = 8192 };

static int count_bits(struct qcow2_checker *ck, uint64_t entry)
{
	uint64_t off = entry & QCOW2_BITMAP_ENTRY_OFFSET;

	if (entry & QCOW2_BITMAP_ENTRY_RESERVED || off & (ck->q->cluster_size - 1) ||
	    (off && entry & QCOW2_BITMAP_ENTRY_ALL_ONES)) {
		ck->res->corruptions++;
		return 0;
	}
	return off ? count_meta(ck, off, ck->q->cluster_size) : 0;
}

static int check_bitmap(const struct qcow2_bitmap *bitmap, void *user)
{
	struct bitmap_walk *w = user;
	struct qcow2_checker *ck = w->ck;
	int ret = count_meta(ck, bitmap->table_off, bitmap->table_size * UINT64_C(8));

	for (uint32_t i = 0; i < bitmap->table_size && ret == 0; i += BITMAP_ENTRIES) {
		size_t nr = min_u64(bitmap->table_size - i, BITMAP_ENTRIES);

		ret = qcow2_read_padded(ck->q, bitmap->table_off + i * UINT64_C(8), w->buf, nr * 8);
		if (ret < 0)
			ck->res->corruptions++;
		for (size_t k = 0; k < nr && ret == 0; k++)
			ret = count_bits(ck, be64_get(w->buf[k]));
	}
	return ret;
}

static int check_bitmaps(struct qcow2_checker *ck)
{
	__cleanup(free) be64 *buf = malloc(BITMAP_ENTRIES * sizeof(*buf));
	struct bitmap_walk w = { ck, buf };
	struct bd_error why = {0};
	struct qcow2 *q = ck->q;
	int ret;

	if (!q->bitmaps.nr)
		return 0;
	if (!buf)
		return -ENOMEM;
	ret = count_meta(ck, q->bitmaps.dir_off, q->bitmaps.dir_size);
	if (ret == 0)
		ret = qcow2_bitmaps_each(q, check_bitmap, &w, &why);
	if (ret < 0) {
		ck->res->corruptions++;
		qcow2_check_say(ck, "ERROR %s", why.msg);
	}
	return ret;
}

int qcow2_check_meta(struct qcow2_checker *ck, bool with_reftable)
{
	struct qcow2 *q = ck->q;
	int ret = check_snapshots(ck);

	if (ret == 0 && with_reftable)
		ret = count_meta(ck, q->reftable_off, q->reftable_size * UINT64_C(8));
	if (ret == 0)
		ret = count_meta(ck, q->crypto_off, q->crypto_len);
	return ret < 0 ? ret : check_bitmaps(ck);
}
