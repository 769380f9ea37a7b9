/* SPDX-License-Identifier: MIT */
/* Encoding the snapshot table, and reading the L1 table of a snapshot.  Spec: snapshots. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/format/qcow2/header.h"
#include "blockdev/format/qcow2/snapshot.h"

static size_t entry_len(const struct qcow2_snapshot *sn)
{
	return round_up(sizeof(struct qcow2_disk_snapshot) +
			sizeof(struct qcow2_disk_snapshot_extra) + sn->unknown_len +
			strlen(sn->id) + strlen(sn->name), 8);
}

/* One entry at @to, which is zeroed. */
static void encode(const struct qcow2_snapshot *sn, uint8_t *to)
{
	const size_t id_len = strlen(sn->id), name_len = strlen(sn->name);
	struct qcow2_disk_snapshot_extra extra = {
		.vm_state_size = be64_make(sn->vm_state_size),
		.disk_size = be64_make(sn->disk_size),
		.icount = be64_make(sn->icount),
	};
	struct qcow2_disk_snapshot head = {
		.l1_off = be64_make(sn->l1_off),
		.l1_size = be32_make(sn->l1_size),
		.id_len = be16_make((uint16_t)id_len),
		.name_len = be16_make((uint16_t)name_len),
		.date_sec = be32_make(sn->date_sec),
		.date_nsec = be32_make(sn->date_nsec),
		.vm_clock_ns = be64_make(sn->vm_clock_ns),
		.vm_state_size = be32_make(sn->vm_state_size > UINT32_MAX
					   ? 0 : (uint32_t)sn->vm_state_size),
		.extra_len = be32_make((uint32_t)sizeof(extra) + sn->unknown_len),
	};

	memcpy(to, &head, sizeof(head));
	to += sizeof(head);
	memcpy(to, &extra, sizeof(extra));
	to += sizeof(extra);
	if (sn->unknown_len)
		memcpy(to, sn->unknown_extra, sn->unknown_len);
	to += sn->unknown_len;
	memcpy(to, sn->id, id_len);
	memcpy(to + id_len, sn->name, name_len);
}

int qcow2_snapshots_encode(const struct qcow2_snapshot *list, uint32_t nr, uint8_t **out,
			   size_t *len)
{
	size_t pos = 0;

	*out = NULL;
	*len = 0;
	if (nr > QCOW2_LIMIT_SNAPSHOTS)
		return -EFBIG;
	for (uint32_t i = 0; i < nr; i++) {
		if (strlen(list[i].id) > UINT16_MAX || strlen(list[i].name) > UINT16_MAX)
			return -EFBIG;
		*len += entry_len(&list[i]);
	}
	if (*len > QCOW2_LIMIT_SNAPSHOT_TABLE_BYTES)
		return -EFBIG;
	*out = calloc(1, *len + 1);
	if (!*out)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++) {
		encode(&list[i], *out + pos);
		pos += entry_len(&list[i]);
	}
	return 0;
}

void qcow2_snapshot_clear(struct qcow2_snapshot *sn)
{
	free(sn->unknown_extra);
	free(sn->id);
	free(sn->name);
	memset(sn, 0, sizeof(*sn));
}

int qcow2_snapshot_l1(struct qcow2 *q, const struct qcow2_snapshot *sn, uint64_t entries,
		      uint64_t **l1, struct bd_error *err)
{
	uint64_t *table;
	int ret = qcow2_check_table(q, sn->l1_off, sn->l1_size, 8, QCOW2_LIMIT_L1_BYTES,
				    "Snapshot L1 table", err);

	*l1 = NULL;
	if (ret < 0)
		return ret;
	table = calloc(max_u64(entries, sn->l1_size) + 1, 8);
	if (!table)
		return bd_fail(err, -ENOMEM, "Out of memory");
	ret = sn->l1_size ? io_pread(q->node->file, sn->l1_off, table, (size_t)sn->l1_size * 8) : 0;
	if (ret < 0) {
		free(table);
		return bd_fail_errno(err, ret, "Failed to read l1 table for snapshot");
	}
	for (uint32_t i = 0; i < sn->l1_size; i++) {
		be64 disk;

		memcpy(&disk, &table[i], sizeof(disk));
		table[i] = be64_get(disk);
	}
	*l1 = table;
	return 0;
}
