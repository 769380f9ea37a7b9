/* SPDX-License-Identifier: MIT */
/* Persistent bitmaps: checks of names and states, merging; storing is the format's. */
#include "blockdev/include/bitmap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/core/format.h"

bool bd_can_bitmaps(const struct bd_node *node)
{
	return node->fmt->bitmap && node->fmt->bitmap->can(node);
}

int bd_bitmaps_get(struct bd_node *node, struct bd_bitmap_info **list, size_t *nr,
		   struct bd_error *err)
{
	*list = NULL;
	*nr = 0;
	return node->fmt->bitmap ? node->fmt->bitmap->list(node, list, nr, err) : 0;
}

void bd_bitmaps_free(struct bd_bitmap_info *list, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		free(list[i].name);
	free(list);
}

/* Is there a bitmap of that name, and can it be used?  -ENOENT, -EINVAL. */
static int find(struct bd_node *node, const char *name, bool usable, struct bd_error *err)
{
	struct bd_bitmap_info *list;
	bool found = false, inconsistent = false;
	size_t nr;
	int ret = bd_bitmaps_get(node, &list, &nr, err);

	for (size_t i = 0; ret == 0 && i < nr; i++) {
		if (strcmp(list[i].name, name))
			continue;
		found = true;
		inconsistent = list[i].inconsistent;
	}
	bd_bitmaps_free(list, nr);
	if (ret < 0)
		return ret;
	if (!found)
		return bd_fail(err, -ENOENT, "Dirty bitmap '%s' not found", name);
	if (!usable || !inconsistent)
		return 0;
	bd_fail(err, -EINVAL, "Bitmap '%s' is inconsistent and cannot be used", name);
	bd_hint(err, "Try block-dirty-bitmap-remove to delete this bitmap from disk");
	return -EINVAL;
}

static int writable(struct bd_node *node, const char *name, bool usable, struct bd_error *err)
{
	if (!(node->flags & BD_O_RDWR))
		return bd_fail(err, -EACCES, "Bitmap '%s' is readonly and cannot be modified",
			       name);
	return find(node, name, usable, err);
}

int bd_bitmap_add(struct bd_node *node, const char *name, uint64_t granularity, bool enabled,
		  struct bd_error *err)
{
	struct bd_bitmap_info info = { .enabled = enabled };
	int ret;

	if (!*name)
		return bd_fail(err, -EINVAL, "Bitmap name cannot be empty");
	if (!granularity)
		granularity = node->cluster_size ? max_u64(4096, min_u64(node->cluster_size, 65536))
						 : 65536;
	if (granularity < 512 || !is_pow2(granularity) || granularity > UINT32_MAX)
		return bd_fail(err, -EINVAL, "Granularity must be power of 2 and at least 512");
	if (!node->fmt->bitmap)
		return bd_fail_errno(err, -ENOTSUP, "Can't store persistent bitmaps to %s",
				     node->filename);
	if (!(node->flags & BD_O_RDWR))
		return bd_fail(err, -EACCES, "Image is read-only");
	ret = find(node, name, false, NULL);
	if (ret == 0)
		return bd_fail(err, -EEXIST, "Bitmap already exists: %s", name);
	if (ret != -ENOENT)
		return bd_fail_errno(err, ret, "Could not read the bitmaps");
	info.name = strdup(name);
	info.granularity = (uint32_t)granularity;
	if (!info.name)
		return bd_fail(err, -ENOMEM, "Out of memory");
	ret = node->fmt->bitmap->add(node, &info, err);
	free(info.name);
	return ret;
}

int bd_bitmap_remove(struct bd_node *node, const char *name, struct bd_error *err)
{
	int ret = writable(node, name, false, err);

	return ret < 0 ? ret : node->fmt->bitmap->remove(node, name, err);
}

int bd_bitmap_clear(struct bd_node *node, const char *name, struct bd_error *err)
{
	int ret = writable(node, name, true, err);

	return ret < 0 ? ret : node->fmt->bitmap->store(node, name, NULL, err);
}

int bd_bitmap_enable(struct bd_node *node, const char *name, bool enabled, struct bd_error *err)
{
	int ret = writable(node, name, true, err);

	return ret < 0 ? ret : node->fmt->bitmap->enable(node, name, enabled, err);
}

/* Set the bits of disk range [off, end). */
static void set_range(struct bd_bits *to, uint64_t off, uint64_t end)
{
	uint64_t last = (min_u64(end, to->disk) - 1) / to->granularity;

	for (uint64_t i = off / to->granularity; i <= last; i++)
		to->bits[i / 8] |= (uint8_t)(1 << i % 8);
}

static void merge_bits(struct bd_bits *to, const struct bd_bits *from)
{
	uint64_t step = from->granularity;

	if (to->granularity == step) {
		for (uint64_t i = 0; i < min_u64(to->bytes, from->bytes); i++)
			to->bits[i] |= from->bits[i];
		return;
	}
	for (uint64_t i = 0; i < from->bytes * 8 && i * step < to->disk; i++) {
		if (from->bits[i / 8] >> i % 8 & 1)
			set_range(to, i * step, (i + 1) * step);
	}
}

int bd_bitmap_merge(struct bd_node *node, const char *name, struct bd_node *src, const char *from,
		    struct bd_error *err)
{
	struct bd_bits to_bits = {0}, from_bits = {0};
	int ret = writable(node, name, true, err);

	if (ret == 0)
		ret = find(src, from, true, err);
	if (ret < 0)
		return ret;
	if (src->size != node->size)
		return bd_fail(err, -EINVAL, "Bitmaps are of different sizes (destination size is "
			       "%llu, source size is %llu) and can't be merged",
			       (unsigned long long)node->size, (unsigned long long)src->size);
	ret = node->fmt->bitmap->load(node, name, &to_bits, err);
	if (ret == 0)
		ret = src->fmt->bitmap->load(src, from, &from_bits, err);
	if (ret == 0) {
		merge_bits(&to_bits, &from_bits);
		ret = node->fmt->bitmap->store(node, name, &to_bits, err);
	}
	free(to_bits.bits);
	free(from_bits.bits);
	return ret;
}
