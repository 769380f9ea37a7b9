/* SPDX-License-Identifier: MIT */
/* Internal snapshots: look-up by ID and name; the work is the format's. */
#include "blockdev/include/snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "blockdev/core/format.h"

static int writable(const struct bd_node *node, struct bd_error *err)
{
	if (node->flags & BD_O_RDWR)
		return 0;
	return bd_fail(err, -EACCES, "Image is read-only");
}

/* Position of a snapshot; NULL matches any.  -ENOENT. */
static int find(struct bd_node *node, const char *id, const char *name)
{
	struct bd_info info;
	int ret = bd_info_get(node, &info, NULL), found = -ENOENT;

	if (ret < 0)
		return ret;
	for (size_t i = 0; i < info.nr_snapshots && found < 0; i++) {
		const struct bd_snapshot_info *sn = &info.snapshots[i];

		if ((!id || !strcmp(sn->id, id)) && (!name || !strcmp(sn->name, name)))
			found = (int)i;
	}
	bd_info_clear(&info);
	return found;
}

static int find_any(struct bd_node *node, const char *which)
{
	int idx = find(node, which, NULL);

	return idx == -ENOENT ? find(node, NULL, which) : idx;
}

int bd_snapshot_create(struct bd_node *node, const char *name, struct bd_error *err)
{
	struct bd_snapshot_info info = {0};
	struct timespec now;
	char *copy;
	int ret;

	if (!node->fmt->snapshot)
		return bd_fail_errno(err, -ENOTSUP, "Block driver does not support snapshots");
	ret = writable(node, err);
	if (ret < 0)
		return ret;
	copy = strdup(name);
	if (!copy)
		return bd_fail(err, -ENOMEM, "Out of memory");
	clock_gettime(CLOCK_REALTIME, &now);
	info.name = copy;
	info.date_sec = (uint32_t)now.tv_sec;
	info.date_nsec = (uint32_t)(now.tv_nsec / 1000 * 1000);
	ret = node->fmt->snapshot->create(node, &info, err);
	free(copy);
	return ret;
}

int bd_snapshot_apply(struct bd_node *node, const char *which, struct bd_error *err)
{
	struct bd_bitmap_info *bitmaps = NULL;
	size_t nr = 0;
	int idx, ret;

	if (!node->fmt->snapshot)
		return bd_fail(err, -ENOTSUP, "Block driver does not support snapshots");
	ret = writable(node, err);
	if (ret < 0)
		return ret;
	if (!node->fmt->snapshot->can(node))
		return bd_fail_errno(err, -ENOTSUP, "Failed to load snapshot");
	/* They would tell of changes that have been undone. */
	ret = bd_bitmaps_get(node, &bitmaps, &nr, err);
	if (ret < 0)
		return ret;
	bd_bitmaps_free(bitmaps, nr);
	if (nr)
		return bd_fail(err, -EBUSY, "Device has active dirty bitmaps");
	idx = find_any(node, which);
	if (idx < 0)
		return bd_fail_errno(err, idx, "Failed to load snapshot");
	return node->fmt->snapshot->apply(node, (size_t)idx, err);
}

int bd_snapshot_delete(struct bd_node *node, const char *name, struct bd_error *err)
{
	int idx = node->fmt->snapshot ? find(node, NULL, name) : -ENOENT;
	int ret;

	if (idx < 0)
		return bd_fail(err, idx, "snapshot not found");
	ret = writable(node, err);
	return ret < 0 ? ret : node->fmt->snapshot->remove(node, (size_t)idx, err);
}

static int load(struct bd_node *node, int idx, struct bd_error *err)
{
	if (idx < 0)
		return bd_fail(err, idx, "Can't find snapshot");
	if (node->flags & BD_O_RDWR)
		return bd_fail(err, -EINVAL, "Device is not readonly");
	return node->fmt->snapshot->load(node, (size_t)idx, err);
}

static int cannot_load(const struct bd_node *node, struct bd_error *err)
{
	return bd_fail(err, -ENOTSUP, "Block format '%s' used by device '' does not support "
				      "temporarily loading internal snapshots",
		       bd_format_name(node));
}

int bd_snapshot_load(struct bd_node *node, const char *id, const char *name, struct bd_error *err)
{
	if (!node->fmt->snapshot)
		return cannot_load(node, err);
	if (!id && !name)
		return bd_fail(err, -EINVAL, "snapshot_id and name are both NULL");
	return load(node, find(node, id, name), err);
}

int bd_snapshot_load_any(struct bd_node *node, const char *which, struct bd_error *err)
{
	if (!node->fmt->snapshot)
		return cannot_load(node, err);
	return load(node, find_any(node, which), err);
}

int bd_vmstate_read(struct bd_node *node, uint64_t off, void *buf, size_t len)
{
	const struct bd_snapshot_ops *ops = node->fmt->snapshot;

	return ops && ops->vmstate ? ops->vmstate(node, off, buf, len, false) : -ENOTSUP;
}

int bd_vmstate_write(struct bd_node *node, uint64_t off, const void *buf, size_t len)
{
	const struct bd_snapshot_ops *ops = node->fmt->snapshot;

	return ops && ops->vmstate ?
	       ops->vmstate(node, off, (void *)(uintptr_t)buf, len, true) : -ENOTSUP;
}
