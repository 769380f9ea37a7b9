/* SPDX-License-Identifier: MIT */
/*
 * The slow lane: rare blocking procedures (first write, growth of a table) on a quiet node.
 * Requests that need one park; new requests park too; when nothing of the node is in flight the
 * procedure runs as plain blocking code from bd_queue_poll(), and everyone goes on.
 */
#ifndef BD_SLOW_H
#define BD_SLOW_H

#include "blockdev/core/node.h"

struct request;

/* Park @req until the slow lane of its node has run. */
void bd_slow_park(struct request *req);
/* Must new requests of @node park? */
bool bd_slow_pending(const struct bd_node *node);
/* Run if the node is quiet.  False: not yet. */
bool bd_slow_run(struct bd_node *node);
/* queue.c: look at @node's slow lane each turn. */
void bd_queue_slow(struct bd_queue *queue, struct bd_node *node);

#endif
