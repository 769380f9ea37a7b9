/* SPDX-License-Identifier: MIT */
/* What wakes a queue beside its I/O: signals of other threads (or of a kernel) and timers. */
#ifndef BD_NOTIFIER_H
#define BD_NOTIFIER_H

#include "blockdev/include/blockdev.h"

/* An eventfd a queue waits for together with its I/O. */
struct bd_notifier;

/*
 * Make a notifier.  From now on bd_queue_poll(queue, true) sleeps even when nothing else is in
 * flight, until the notifier is signalled.
 * @ready: runs inside bd_queue_poll(), also one of a blocking function, once for all signals since
 * the last time; may start requests, must not block.
 * -EMFILE, -ENOMEM: no descriptor, no memory.
 */
int bd_notifier_new(struct bd_queue *queue, void (*ready)(void *user), void *user,
		    struct bd_notifier **out);
/* Its ready() never runs again.  Polls the queue: top level only.  NULL is fine. */
void bd_notifier_free(struct bd_notifier *notifier);
/* The eventfd, for whoever signals by writing to it (KVM's ioeventfd); stays the notifier's. */
int bd_notifier_fd(const struct bd_notifier *notifier);
/* Signal it.  From any thread, also from a signal handler. */
void bd_notifier_signal(const struct bd_notifier *notifier);

#endif
