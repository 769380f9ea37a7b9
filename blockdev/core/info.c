/* SPDX-License-Identifier: MIT */
/* What is known about an opened image. */
#include "blockdev/include/info.h"

#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/core/format.h"

static int64_t actual_size(const struct bd_node *node)
{
	int64_t size = io_allocated(node->file), more;

	if (size < 0 || node->data == node->file)
		return size;
	more = io_allocated(node->data);
	return more < 0 ? more : size + more;
}

int bd_info_get(struct bd_node *node, struct bd_info *info, struct bd_error *err)
{
	int ret;

	memset(info, 0, sizeof(*info));
	info->virtual_size = node->size;
	info->actual_size = actual_size(node);
	info->cluster_size = node->cluster_size;
	info->encrypted = node->encrypted;
	info->dirty = node->dirty;
	info->backing_name = node->backing_name;
	info->backing_full = node->backing_full;
	info->backing_format = node->backing_format;
	info->limits = (struct bd_limits){
		.request_align = node->request_align > 1 ? node->request_align :
							   node->file->request_align,
		.discard_align = node->cluster_size,
		.zero_align = node->cluster_size,
		.max_transfer = node->data->max_transfer,
		.max_iov = IOV_MAX,
		.mem_align = node->data->buffer_align,
	};
	if (!node->fmt->info)
		return 0;
	ret = node->fmt->info(node, info, err);
	if (ret < 0)
		bd_info_clear(info);
	return ret;
}

void bd_info_clear(struct bd_info *info)
{
	for (size_t i = 0; i < info->nr_snapshots; i++) {
		free(info->snapshots[i].id);
		free(info->snapshots[i].name);
	}
	free(info->snapshots);
	json_decref(info->specific);
	memset(info, 0, sizeof(*info));
}
