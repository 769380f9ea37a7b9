/* SPDX-License-Identifier: MIT */
/* Reading the snapshot table.  Spec: snapshots. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/base/cleanup.h"
#include "blockdev/format/qcow2/header.h"

/* Reads the table front to back through one buffer. */
struct reader {
	struct qcow2 *q;
	uint64_t off;       /* file byte behind the buffer */
	uint8_t *buf;
	size_t pos, len;
	uint64_t total;     /* bytes taken so far */
};

enum { READ_AHEAD = 64 * 1024 };

static int fill(struct reader *r)
{
	r->pos = 0;
	r->len = READ_AHEAD;
	r->off += r->len;
	return qcow2_read_padded(r->q, r->off - r->len, r->buf, r->len);
}

/* The next @len bytes; @out may be NULL: skip. */
static int take(struct reader *r, void *out, size_t len)
{
	uint8_t *to = out;

	r->total += len;
	while (len) {
		size_t part = min_u64(len, r->len - r->pos);
		int ret = 0;

		if (!part) {
			ret = fill(r);
			if (ret < 0)
				return ret;
			continue;
		}
		if (to) {
			memcpy(to, r->buf + r->pos, part);
			to += part;
		}
		r->pos += part;
		len -= part;
	}
	return 0;
}

static int take_text(struct reader *r, size_t len, char **out)
{
	*out = calloc(1, len + 1);
	return *out ? take(r, *out, len) : -ENOMEM;
}

static int take_extra(struct reader *r, struct qcow2_snapshot *sn)
{
	struct qcow2_disk_snapshot_extra extra;
	size_t known = min_u64(sn->extra_len, sizeof(extra));
	int ret;

	memset(&extra, 0, sizeof(extra));
	ret = take(r, &extra, known);
	if (ret < 0)
		return ret;
	if (sn->extra_len >= 8)
		sn->vm_state_size = be64_get(extra.vm_state_size);
	sn->disk_size = sn->extra_len >= 16 ? be64_get(extra.disk_size) : r->q->node->size;
	sn->icount = sn->extra_len >= 24 ? be64_get(extra.icount) : UINT64_MAX;
	sn->unknown_len = sn->extra_len - (uint32_t)known;
	if (!sn->unknown_len)
		return 0;
	sn->unknown_extra = malloc(sn->unknown_len);
	return sn->unknown_extra ? take(r, sn->unknown_extra, sn->unknown_len) : -ENOMEM;
}

static int read_one(struct reader *r, struct qcow2_snapshot *sn, struct bd_error *err)
{
	struct qcow2_disk_snapshot head;
	int ret = take(r, &head, sizeof(head));

	if (ret < 0)
		return bd_fail_errno(err, ret, "Failed to read snapshot table");
	sn->l1_off = be64_get(head.l1_off);
	sn->l1_size = be32_get(head.l1_size);
	sn->date_sec = be32_get(head.date_sec);
	sn->date_nsec = be32_get(head.date_nsec);
	sn->vm_clock_ns = be64_get(head.vm_clock_ns);
	sn->vm_state_size = be32_get(head.vm_state_size);
	sn->extra_len = be32_get(head.extra_len);
	if (sn->extra_len > QCOW2_LIMIT_SNAPSHOT_EXTRA_BYTES)
		return bd_fail(err, -EINVAL, "Too much extra metadata in snapshot table entry %zu",
			       (size_t)(sn - r->q->snapshots));
	if ((ret = take_extra(r, sn)) < 0 ||
	    (ret = take_text(r, be16_get(head.id_len), &sn->id)) < 0 ||
	    (ret = take_text(r, be16_get(head.name_len), &sn->name)) < 0)
		return bd_fail_errno(err, ret, "Failed to read snapshot table");
	/* Entries start at multiples of 8. */
	if (r->total % 8 && sn + 1 < r->q->snapshots + r->q->nb_snapshots)
		ret = take(r, NULL, 8 - r->total % 8);
	if (ret < 0)
		return bd_fail_errno(err, ret, "Failed to read snapshot table");
	if (r->total > QCOW2_LIMIT_SNAPSHOT_TABLE_BYTES)
		return bd_fail(err, -EFBIG, "Snapshot table is too big");
	return 0;
}

int qcow2_snapshots_read(struct qcow2 *q, struct bd_error *err)
{
	__cleanup(free) uint8_t *buf = NULL;
	struct reader r = { .q = q, .off = q->snapshots_off };
	int ret = 0;

	if (!q->nb_snapshots)
		return 0;
	r.buf = buf = malloc(READ_AHEAD);
	q->snapshots = calloc(q->nb_snapshots, sizeof(*q->snapshots));
	if (!buf || !q->snapshots)
		return bd_fail(err, -ENOMEM, "Out of memory");
	for (uint32_t i = 0; i < q->nb_snapshots && ret == 0; i++)
		ret = read_one(&r, &q->snapshots[i], err);
	q->snapshots_size = r.total;
	return ret;
}

void qcow2_snapshots_free(struct qcow2 *q)
{
	for (uint32_t i = 0; q->snapshots && i < q->nb_snapshots; i++) {
		free(q->snapshots[i].unknown_extra);
		free(q->snapshots[i].id);
		free(q->snapshots[i].name);
	}
	free(q->snapshots);
	q->snapshots = NULL;
}
