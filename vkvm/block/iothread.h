/* SPDX-License-Identifier: MIT */
/*
 * The I/O thread: one thread, one queue of the engine, all disks.
 *
 * It sleeps in one place, for doorbells, completions, timers and calls of other threads together.
 */
#ifndef VKVM_IOTHREAD_H
#define VKVM_IOTHREAD_H

#include <pthread.h>

#include "blockdev/include/notifier.h"
#include "vkvm/virtio/virtio.h"

enum { IOTHREAD_MAX_HOOKS = 32 };

struct iothread {
	struct virtio_thread thread; /* first member: calls from other threads */
	pthread_t id;
	bool started;
	struct bd_queue *queue;
	struct bd_notifier *wake;
	pthread_mutex_t lock;        /* of the fields below */
	pthread_cond_t cond;
	struct iothread_task *task;  /* the call that waits to be carried out, or NULL */
	bool stop;

	/* run after each turn of the queue; changed by calls only */
	struct iothread_hook {
		void (*fn)(void *arg);
		void *arg;
	} hooks[IOTHREAD_MAX_HOOKS];
	unsigned nr_hooks;
};

/* Start it, with an engine of @depth requests.  @engine as for bd_queue_new(). */
int iothread_start(struct iothread *iot, const char *engine, unsigned depth, struct bd_error *err);
/* After all images are closed and notifiers freed. */
void iothread_stop(struct iothread *iot);
/* Run @fn there, at top level, and wait for its end; on the thread itself: at once. */
void iothread_call(struct iothread *iot, void (*fn)(void *arg), void *arg);
/* Run @fn after each turn.  On the thread. */
void iothread_add_hook(struct iothread *iot, void (*fn)(void *arg), void *arg);

#endif
