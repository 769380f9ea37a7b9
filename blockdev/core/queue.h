/* SPDX-License-Identifier: MIT */
/* A thread's I/O context: the io layer's context, a pool of requests, a list of continuations. */
#ifndef BD_QUEUE_H
#define BD_QUEUE_H

#include "blockdev/base/list.h"
#include "blockdev/core/metacache.h"
#include "blockdev/include/blockdev.h"
#include "blockdev/io/engine.h"

/* Run @wait->resume() with @res at the next turn of the queue (or this one, if it is running). */
void bd_queue_wake(struct bd_queue *queue, struct bd_wait *wait, int res);
/* Wake every continuation on @list with @res. */
void bd_queue_wake_all(struct bd_queue *queue, struct link *list, int res);
struct io_ctx *bd_queue_ctx(struct bd_queue *queue);

#endif
