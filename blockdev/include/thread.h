/* SPDX-License-Identifier: MIT */
/*
 * A queue on a thread of its own.
 *
 * It sleeps in one place, for I/O, notifiers, timers and calls of other threads together.
 */
#ifndef BD_THREAD_H
#define BD_THREAD_H

#include "blockdev/include/blockdev.h"

struct bd_thread;

/* Start a thread with a queue of @depth requests; @engine and errors as of bd_queue_new(). */
int bd_thread_new(const char *engine, unsigned depth, struct bd_thread **out,
		  struct bd_error *err);
/* End it, after all images are closed and notifiers freed.  NULL is fine. */
void bd_thread_free(struct bd_thread *thread);
/* For use on the thread. */
struct bd_queue *bd_thread_queue(const struct bd_thread *thread);
/*
 * Run @fn(@arg) on the thread, at top level, and wait for its end.  On the thread itself: at once.
 */
void bd_thread_call(struct bd_thread *thread, void (*fn)(void *arg), void *arg);
/* From now on run @fn(@arg) after each turn of the queue (64 at most).  On the thread. */
void bd_thread_add_hook(struct bd_thread *thread, void (*fn)(void *arg), void *arg);
/* Forget all of them.  On the thread. */
void bd_thread_drop_hooks(struct bd_thread *thread);

#endif
