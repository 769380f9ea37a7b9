/* SPDX-License-Identifier: MIT */
/* A queue on a thread of its own: its loop, and calls into it. */
#include "blockdev/include/thread.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/core/report.h"
#include "blockdev/include/backend.h"
#include "blockdev/include/notifier.h"

enum { MAX_HOOKS = 64, POLL_LEAST_NS = 4000 };

struct bd_thread {
	pthread_t id;
	struct bd_queue *queue;
	struct bd_notifier *wake;
	pthread_mutex_t lock;        /* of task and stop */
	pthread_cond_t cond;
	struct thread_task *task;    /* the call that waits to be carried out, or NULL */
	bool stop;
	struct bd_thread_hook hooks[MAX_HOOKS];
	unsigned nr_hooks;
	uint64_t poll_ns;            /* how long to look before sleeping */
	uint64_t poll_max_ns;
};

/* A call, on its caller's stack. */
struct thread_task {
	void (*fn)(void *arg);
	void *arg;
	bool done;
};

/* What the thread needs to begin, and how that went. */
struct start {
	struct bd_thread *thread;
	const char *engine;
	unsigned depth;
	struct bd_error *err;
	int ret;
	bool ready;
};

/* The signal itself ends the sleep; the call is carried out at top level. */
static void woken(void *user)
{
	(void)user;
}

/* Carry out the call that waits, if there is one.  false: the thread ends. */
static bool serve(struct bd_thread *thread)
{
	struct thread_task *task;
	bool stop;

	pthread_mutex_lock(&thread->lock);
	task = thread->task;
	stop = thread->stop;
	pthread_mutex_unlock(&thread->lock);
	if (!task)
		return !stop;
	task->fn(task->arg);
	pthread_mutex_lock(&thread->lock);
	task->done = true;
	thread->task = NULL;
	pthread_cond_broadcast(&thread->cond);
	pthread_mutex_unlock(&thread->lock);
	return true;
}

/* --- looking before sleeping ------------------------------------------------------------- */

static bool watch(struct bd_thread *thread, bool on)
{
	bool found = false;

	for (unsigned i = 0; i < thread->nr_hooks; i++)
		found |= thread->hooks[i].watch(thread->hooks[i].arg, on);
	return found;
}

/* For as long as it pays: true: there is something to do, and hooks are still watched. */
static bool look(struct bd_thread *thread)
{
	uint64_t end = bd_clock_ns() + thread->poll_ns;
	bool found = false;

	if (!thread->poll_ns || !thread->nr_hooks)
		return false;
	watch(thread, true);
	do {
		for (unsigned i = 0; i < thread->nr_hooks; i++)
			found |= thread->hooks[i].look(thread->hooks[i].arg);
		found |= bd_queue_poll(thread->queue, false) != 0;
	} while (!found && bd_clock_ns() < end);
	return found || watch(thread, false);
}

/* Work came @ns after there was none: would looking a little longer have found it? */
static void adapt(struct bd_thread *thread, uint64_t ns)
{
	uint64_t next = thread->poll_ns ? thread->poll_ns * 2 : POLL_LEAST_NS;

	if (ns > thread->poll_max_ns)
		thread->poll_ns = 0;
	else if (ns > thread->poll_ns)
		thread->poll_ns = next < thread->poll_max_ns ? next : thread->poll_max_ns;
}

/* One turn of the queue; sleeps if there is nothing to do. */
static int turn(struct bd_thread *thread)
{
	uint64_t start = bd_clock_ns();
	bool found = look(thread);
	int ret = bd_queue_poll(thread->queue, !found);

	if (!found && thread->poll_max_ns)
		adapt(thread, bd_clock_ns() - start);
	for (unsigned i = 0; i < thread->nr_hooks; i++)
		thread->hooks[i].turned(thread->hooks[i].arg);
	return ret;
}

/* --- life -------------------------------------------------------------------------------- */

static int set_up(struct start *start)
{
	struct bd_thread *thread = start->thread;
	int ret = bd_queue_new(start->engine, start->depth, &thread->queue, start->err);

	if (ret < 0)
		return ret;
	ret = bd_notifier_new(thread->queue, woken, thread, &thread->wake);
	if (ret < 0) {
		bd_queue_free(thread->queue);
		bd_fail_errno(start->err, ret, "Could not start the I/O thread");
	}
	return ret;
}

static void *run(void *arg)
{
	struct start *start = arg;
	struct bd_thread *thread = start->thread;
	int ret = set_up(start);

	pthread_mutex_lock(&thread->lock);
	start->ret = ret;
	start->ready = true;
	pthread_cond_broadcast(&thread->cond);
	pthread_mutex_unlock(&thread->lock);
	if (ret < 0)
		return NULL;
	while (serve(thread)) {
		ret = turn(thread);
		if (ret < 0) {
			/* Requests of the guest would never end: nobody can go on from here. */
			bd_report("The I/O engine failed: %s", strerror(-ret));
			abort();
		}
	}
	bd_notifier_free(thread->wake);
	bd_queue_free(thread->queue);
	return NULL;
}

void bd_thread_call(struct bd_thread *thread, void (*fn)(void *arg), void *arg)
{
	struct thread_task task = { fn, arg, false };

	if (pthread_equal(pthread_self(), thread->id)) {
		fn(arg);
		return;
	}
	pthread_mutex_lock(&thread->lock);
	while (thread->task)
		pthread_cond_wait(&thread->cond, &thread->lock);
	thread->task = &task;
	bd_notifier_signal(thread->wake);
	while (!task.done)
		pthread_cond_wait(&thread->cond, &thread->lock);
	pthread_mutex_unlock(&thread->lock);
}

int bd_thread_new(const char *engine, unsigned depth, struct bd_thread **out, struct bd_error *err)
{
	struct bd_thread *thread = calloc(1, sizeof(*thread));
	struct start start = { .thread = thread, .engine = engine, .depth = depth, .err = err };
	int ret;

	*out = NULL;
	if (!thread)
		return bd_fail(err, -ENOMEM, "Out of memory");
	pthread_mutex_init(&thread->lock, NULL);
	pthread_cond_init(&thread->cond, NULL);
	ret = pthread_create(&thread->id, NULL, run, &start);
	if (ret) {
		free(thread);
		return bd_fail_errno(err, -ret, "Could not start the I/O thread");
	}
	pthread_mutex_lock(&thread->lock);
	while (!start.ready)
		pthread_cond_wait(&thread->cond, &thread->lock);
	pthread_mutex_unlock(&thread->lock);
	if (start.ret < 0) {
		pthread_join(thread->id, NULL);
		free(thread);
		return start.ret;
	}
	*out = thread;
	return 0;
}

struct bd_queue *bd_thread_queue(const struct bd_thread *thread)
{
	return thread->queue;
}

void bd_thread_free(struct bd_thread *thread)
{
	if (!thread)
		return;
	pthread_mutex_lock(&thread->lock);
	thread->stop = true;
	bd_notifier_signal(thread->wake);
	pthread_mutex_unlock(&thread->lock);
	pthread_join(thread->id, NULL);
	free(thread);
}

void bd_thread_add_hook(struct bd_thread *thread, const struct bd_thread_hook *hook)
{
	assert(thread->nr_hooks < MAX_HOOKS);
	thread->hooks[thread->nr_hooks++] = *hook;
}

void bd_thread_set_poll(struct bd_thread *thread, uint64_t max_ns)
{
	thread->poll_max_ns = max_ns;
}

void bd_thread_drop_hooks(struct bd_thread *thread)
{
	thread->nr_hooks = 0;
}
