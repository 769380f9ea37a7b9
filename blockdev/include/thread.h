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

/* Something that takes part in the thread's loop.  All run on the thread and must not block. */
struct bd_thread_hook {
	/* After each turn of the queue. */
	void (*turned)(void *arg);
	/* Start work that has come without a signal; true: there was some. */
	bool (*look)(void *arg);
	/*
	 * Before it sleeps the thread looks for such work, again and again for a short time;
	 * from watch(@arg, true) to watch(@arg, false) no notifier has to be signalled for it.
	 * The latter looks once more, and returns as look() does.
	 */
	bool (*watch)(void *arg, bool on);
	void *arg;
};

/* From now on @hook takes part (64 at most); it is copied.  On the thread. */
void bd_thread_add_hook(struct bd_thread *thread, const struct bd_thread_hook *hook);
/*
 * How long the thread may look before it sleeps, in nanoseconds; how long it does adapts to how
 * soon work has come of late.  0: never.  Before the first hook is added.
 */
void bd_thread_set_poll(struct bd_thread *thread, uint64_t max_ns);
/* Forget all of them.  On the thread. */
void bd_thread_drop_hooks(struct bd_thread *thread);

#endif
