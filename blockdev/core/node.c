/* SPDX-License-Identifier: MIT */
/* Closing nodes, and what can be asked of them. */
#include "blockdev/core/node.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "blockdev/base/cleanup.h"
#include "blockdev/core/open.h"
#include "blockdev/core/queue.h"

void bd_node_init_links(struct bd_node *node)
{
	list_init(&node->active);
	list_init(&node->inflight);
	list_init(&node->grace);
	list_init(&node->parked);
	list_init(&node->packing);
	list_init(&node->slow_link);
}

void bd_node_free(struct bd_node *node)
{
	if (!node)
		return;
	list_del(&node->slow_link);
	if (node->data != node->file)
		io_close(node->data);
	io_close(node->file);
	bd_opts_free(node->opts);
	free(node->state);
	free(node->probe_head);
	free(node->filename);
	free(node->backing_name);
	free(node->backing_full);
	free(node->backing_format);
	free(node);
}

static int drain(struct bd_node *node)
{
	while (!list_empty(&node->active)) {
		int ret = bd_queue_poll(node->queue, true);

		if (ret < 0)
			return ret;
	}
	return 0;
}

int bd_close(struct bd_node *node)
{
	int first = 0;

	while (node) {
		struct bd_node *below = node->backing;
		int ret = drain(node);

		if (ret < 0 && !first)
			first = ret;
		ret = node->fmt->close ? node->fmt->close(node) : 0;
		if (ret < 0 && !first)
			first = ret;
		bd_node_free(node);
		node = below;
	}
	return first;
}

uint64_t bd_size(const struct bd_node *node)
{
	return node->size;
}

const char *bd_format_name(const struct bd_node *node)
{
	return node->protocol ? node->file->ops->name : node->fmt->name;
}

const char *bd_filename(const struct bd_node *node)
{
	return node->filename;
}

const char *bd_data_filename(const struct bd_node *node)
{
	return node->data && node->data != node->file ? node->data->filename : node->filename;
}

struct bd_node *bd_backing(const struct bd_node *node)
{
	return node->backing;
}

struct bd_queue *bd_node_queue(const struct bd_node *node)
{
	return node->queue;
}

bool bd_probed(const struct bd_node *node)
{
	return node->probed;
}

uint32_t bd_cluster_size(const struct bd_node *node)
{
	return node->cluster_size;
}

int bd_node_set_name(struct bd_node *node, struct bd_opts *opts, const char *last,
		     const char *value)
{
	__cleanup(free) char *json = NULL;
	char *name;

	if (bd_opts_set(opts, "file.driver", node->file->ops->name) < 0 ||
	    bd_opts_set(opts, "file.filename", node->filename) < 0 ||
	    (last && bd_opts_set(opts, last, value) < 0))
		return -ENOMEM;
	json = bd_opts_to_json(opts);
	if (!json || asprintf(&name, "json:%s", json) < 0)
		return -ENOMEM;
	free(node->filename);
	node->filename = name;
	return 0;
}

bool bd_can_compress(const struct bd_node *node)
{
	return node->fmt->deflate && (node->fmt->caps & BD_CAP_COMPRESS);
}

int bd_set_compression(struct bd_node *node, unsigned level, bool small_window,
		       struct bd_error *err)
{
	int ret = 0;

	if (node->fmt->check_packing)
		ret = node->fmt->check_packing(node, level, small_window, err);
	if (ret < 0)
		return ret;
	node->pack_level = level;
	node->pack_small_window = small_window;
	return 0;
}

uint32_t bd_request_align(const struct bd_node *node)
{
	uint32_t file_align = node->data->request_align;

	return node->request_align > file_align ? node->request_align : file_align;
}

bool bd_zero_init(const struct bd_node *node)
{
	return node->zero_init;
}

bool bd_encrypted(const struct bd_node *node)
{
	return node->encrypted;
}

void bd_stats_get(const struct bd_node *node, struct bd_stats *stats)
{
	*stats = node->stats;
	io_ctx_counters(bd_queue_ctx(node->queue), &stats->syscalls, &stats->ops);
	if (node->fmt->stats)
		node->fmt->stats(node, stats);
}
