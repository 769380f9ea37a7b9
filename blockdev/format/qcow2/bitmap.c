/* SPDX-License-Identifier: MIT */
/* Reading the bitmap directory.  Spec: bitmaps. */
#include "blockdev/format/qcow2/bitmap.h"

#include <errno.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/format/qcow2/layout.h"

#define MAX_BITMAP_BYTES UINT64_C(0x20000000)
#define KNOWN_FLAGS (QCOW2_BITMAP_FLAG_IN_USE | QCOW2_BITMAP_FLAG_AUTO)

static bool acceptable(const struct qcow2 *q, const struct qcow2_bitmap *b,
		       const struct qcow2_disk_bitmap *disk)
{
	uint64_t bytes = (uint64_t)b->table_size << q->cluster_bits;
	uint16_t name_len = be16_get(disk->name_len);

	if (!b->table_size || b->table_size > QCOW2_LIMIT_BITMAP_TABLE_ENTRIES || !b->table_off ||
	    b->table_off & (q->cluster_size - 1) || bytes > MAX_BITMAP_BYTES)
		return false;
	if (b->granularity_bits < 9 || b->granularity_bits > 31 || disk->type != 1)
		return false;
	if (b->flags & ~(uint32_t)KNOWN_FLAGS || !name_len ||
	    name_len > QCOW2_LIMIT_BITMAP_NAME)
		return false;
	/* A bitmap that was not saved may be of a disk that has been resized since. */
	return b->flags & QCOW2_BITMAP_FLAG_IN_USE ||
	       q->node->size <= (bytes * 8) << b->granularity_bits;
}

/* One entry of @left bytes at most; *len: its bytes. */
static int read_one(struct qcow2 *q, uint64_t off, uint64_t left, struct qcow2_bitmap *b,
		    uint64_t *len, struct bd_error *err)
{
	struct qcow2_disk_bitmap disk;
	uint16_t name_len;
	int ret;

	if (left < sizeof(disk))
		return bd_fail(err, -EINVAL, "Broken bitmap directory");
	ret = io_pread(q->node->file, off, &disk, sizeof(disk));
	if (ret < 0)
		return bd_fail_errno(err, ret, "Failed to read bitmap directory");
	name_len = be16_get(disk.name_len);
	*len = round_up(sizeof(disk) + (uint64_t)name_len + be32_get(disk.extra_len), 8);
	if (*len > left)
		return bd_fail(err, -EINVAL, "Broken bitmap directory");
	if (be32_get(disk.extra_len))
		return bd_fail(err, -EINVAL, "Bitmap extra data is not supported");
	*b = (struct qcow2_bitmap){
		.table_off = be64_get(disk.table_off),
		.table_size = be32_get(disk.table_size),
		.flags = be32_get(disk.flags),
		.granularity_bits = disk.granularity_bits,
	};
	ret = io_pread(q->node->file, off + sizeof(disk), b->name,
		       min_u64(name_len, QCOW2_LIMIT_BITMAP_NAME));
	if (ret < 0)
		return bd_fail_errno(err, ret, "Failed to read bitmap directory");
	if (!acceptable(q, b, &disk))
		return bd_fail(err, -EINVAL, "Bitmap '%s' doesn't satisfy the constraints",
			       b->name);
	return 0;
}

int qcow2_bitmaps_each(struct qcow2 *q,
		       int (*found)(const struct qcow2_bitmap *bitmap, void *user), void *user,
		       struct bd_error *err)
{
	uint64_t off = q->bitmaps.dir_off, left = q->bitmaps.dir_size, len = 0;
	struct qcow2_bitmap bitmap;
	uint32_t nr = 0;
	int ret;

	if (!q->bitmaps.nr)
		return 0;
	if (!left)
		return bd_fail(err, -EINVAL, "Requested bitmap directory size is zero");
	for (; left; off += len, left -= len) {
		if (++nr > q->bitmaps.nr)
			return bd_fail(err, -EINVAL, "More bitmaps found than specified in header "
						     "extension");
		ret = read_one(q, off, left, &bitmap, &len, err);
		if (ret == 0)
			ret = found(&bitmap, user);
		if (ret < 0)
			return ret;
	}
	if (nr < q->bitmaps.nr)
		return bd_fail(err, -EINVAL,
			       "Less bitmaps found than specified in header extension");
	return 0;
}
