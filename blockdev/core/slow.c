/* SPDX-License-Identifier: MIT */
/* The slow lane of a node: see slow.h. */
#include "blockdev/core/slow.h"

#include <errno.h>

#include "blockdev/core/request.h"

void bd_slow_park(struct request *req)
{
	struct bd_node *node = req->pub.node;

	req->quiet_parked = true;
	list_add_tail(&node->parked, &req->wait.link);
	node->slow_wanted = true;
	bd_queue_slow(req->queue, node);
}

bool bd_slow_pending(const struct bd_node *node)
{
	return node->slow_wanted;
}

static bool quiet(const struct bd_node *node)
{
	for (struct link *it = node->active.next; it != &node->active; it = it->next) {
		const struct request *req = container_of(it, struct request, link);

		if (!req->quiet_parked)
			return false;
	}
	return true;
}

bool bd_slow_run(struct bd_node *node)
{
	int ret = 0;

	if (!node->slow_wanted)
		return true;
	if (!quiet(node))
		return false;
	if (!node->wrote && node->fmt->write && node->fmt->write->first_write)
		ret = node->fmt->write->first_write(node, NULL);
	if (ret >= 0)
		node->wrote = true;
	if (ret >= 0 && node->fmt->write && node->fmt->write->slow)
		ret = node->fmt->write->slow(node);
	node->slow_wanted = false;
	for (struct link *it = node->active.next; it != &node->active; it = it->next)
		container_of(it, struct request, link)->quiet_parked = false;
	bd_queue_wake_all(node->queue, &node->parked, ret < 0 ? ret : 0);
	return true;
}
