/* SPDX-License-Identifier: MIT */
/* What `info` shows of an image beyond what every format has. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/format/qcow2/bitmap.h"
#include "blockdev/format/qcow2/crypt.h"
#include "blockdev/format/qcow2/header.h"

/* Add text that may not be UTF-8, as names on disk are. */
static void set_text(json_t *obj, const char *key, const char *text)
{
	json_t *value = json_string(text);

	if (!value) {
		char clean[1024];
		size_t i;

		for (i = 0; text[i] && i < sizeof(clean) - 1; i++)
			clean[i] = (unsigned char)text[i] < 0x80 ? text[i] : '?';
		clean[i] = '\0';
		value = json_string(clean);
	}
	json_object_set_new(obj, key, value);
}

static int add_bitmap(const struct qcow2_bitmap *bitmap, void *user)
{
	json_t *list = user, *one = json_object(), *flags = json_array();

	if (bitmap->flags & QCOW2_BITMAP_FLAG_IN_USE)
		json_array_append_new(flags, json_string("in-use"));
	if (bitmap->flags & QCOW2_BITMAP_FLAG_AUTO)
		json_array_append_new(flags, json_string("auto"));
	json_object_set_new(one, "flags", flags);
	set_text(one, "name", bitmap->name);
	json_object_set_new(one, "granularity",
			    json_integer((json_int_t)1 << bitmap->granularity_bits));
	return json_array_append_new(list, one) < 0 ? -ENOMEM : 0;
}

static int add_bitmaps(struct qcow2 *q, json_t *data, struct bd_error *err)
{
	json_t *list;
	int ret;

	if (!q->bitmaps.nr)
		return 0;
	list = json_array();
	ret = qcow2_bitmaps_each(q, add_bitmap, list, err);
	json_object_set_new(data, "bitmaps", list);
	return ret;
}

static int add_data(struct qcow2 *q, json_t *data, struct bd_error *err)
{
	bool v3 = q->version >= 3;
	int ret;

	json_object_set_new(data, "compat", json_string(v3 ? "1.1" : "0.10"));
	json_object_set_new(data, "compression-type",
			    json_string(q->compression_type ? "zstd" : "zlib"));
	if (v3)
		json_object_set_new(data, "lazy-refcounts",
				    json_boolean(q->compatible & QCOW2_COMPAT_LAZY_REFCOUNTS));
	ret = v3 ? add_bitmaps(q, data, err) : 0;
	if (ret < 0)
		return ret;
	json_object_set_new(data, "refcount-bits", json_integer(1 << q->refcount_order));
	if (v3 && q->incompatible & QCOW2_INCOMPAT_DATA_FILE) {
		if (q->data_file_name)
			set_text(data, "data-file", q->data_file_name);
		json_object_set_new(data, "data-file-raw",
				    json_boolean(q->autoclear & QCOW2_AUTOCLEAR_RAW_DATA));
	}
	ret = qcow2_crypt_info(q, data, err);
	if (!v3)
		return ret;
	json_object_set_new(data, "corrupt",
			    json_boolean(q->incompatible & QCOW2_INCOMPAT_CORRUPT));
	json_object_set_new(data, "extended-l2", json_boolean(q->extended_l2));
	return ret;
}

static int add_snapshots(const struct qcow2 *q, struct bd_info *info)
{
	if (!q->snapshots)
		return 0;
	info->snapshots = calloc(q->nb_snapshots, sizeof(*info->snapshots));
	if (!info->snapshots)
		return -ENOMEM;
	for (uint32_t i = 0; i < q->nb_snapshots; i++) {
		const struct qcow2_snapshot *sn = &q->snapshots[i];
		struct bd_snapshot_info *to = &info->snapshots[info->nr_snapshots++];

		*to = (struct bd_snapshot_info){
			.id = strdup(sn->id),
			.name = strdup(sn->name),
			.vm_state_size = sn->vm_state_size,
			.disk_size = sn->disk_size,
			.date_sec = sn->date_sec,
			.date_nsec = sn->date_nsec,
			.vm_clock_ns = sn->vm_clock_ns,
			.icount = sn->icount,
		};
		if (!to->id || !to->name)
			return -ENOMEM;
	}
	return 0;
}

int qcow2_info(struct bd_node *node, struct bd_info *info, struct bd_error *err)
{
	struct qcow2 *q = qcow2_of(node);
	json_t *data = json_object();
	int ret;

	info->vm_state_off = qcow2_l1_needed(q, node->size) << (q->cluster_bits + q->l2_bits);
	info->limits.zero_align = UINT32_C(1) << q->subcluster_bits;
	info->dirty = q->incompatible & QCOW2_INCOMPAT_DIRTY;
	info->specific = json_object();
	json_object_set_new(info->specific, "type", json_string("qcow2"));
	json_object_set_new(info->specific, "data", data);
	if (!data || add_snapshots(q, info) < 0)
		return bd_fail(err, -ENOMEM, "Out of memory");
	ret = add_data(q, data, err);
	if (ret < 0)
		bd_prefix(err, "Could not open '%s': ", node->filename);
	return ret;
}
