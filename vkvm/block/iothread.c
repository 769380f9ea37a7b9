/* SPDX-License-Identifier: MIT */
/* The I/O thread's loop, and calls into it. */
#include "vkvm/block/iothread.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vkvm/report.h"

/* A call, on its caller's stack. */
struct iothread_task {
	void (*fn)(void *arg);
	void *arg;
	bool done;
};

/* What the thread needs to begin, and how that went. */
struct start {
	struct iothread *iot;
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
static bool serve(struct iothread *iot)
{
	struct iothread_task *task;
	bool stop;

	pthread_mutex_lock(&iot->lock);
	task = iot->task;
	stop = iot->stop;
	pthread_mutex_unlock(&iot->lock);
	if (!task)
		return !stop;
	task->fn(task->arg);
	pthread_mutex_lock(&iot->lock);
	task->done = true;
	iot->task = NULL;
	pthread_cond_broadcast(&iot->cond);
	pthread_mutex_unlock(&iot->lock);
	return true;
}

static int set_up(struct start *start)
{
	struct iothread *iot = start->iot;
	int ret = bd_queue_new(start->engine, start->depth, &iot->queue, start->err);

	if (ret < 0)
		return ret;
	ret = bd_notifier_new(iot->queue, woken, iot, &iot->wake);
	if (ret < 0) {
		bd_queue_free(iot->queue);
		bd_fail_errno(start->err, ret, "Could not start the I/O thread");
	}
	return ret;
}

static void *run(void *arg)
{
	struct start *start = arg;
	struct iothread *iot = start->iot;
	int ret = set_up(start);

	pthread_mutex_lock(&iot->lock);
	start->ret = ret;
	start->ready = true;
	pthread_cond_broadcast(&iot->cond);
	pthread_mutex_unlock(&iot->lock);
	if (ret < 0)
		return NULL;
	while (serve(iot)) {
		ret = bd_queue_poll(iot->queue, true);
		if (ret < 0) {
			report_error("The I/O engine failed: %s", strerror(-ret));
			abort();
		}
		for (unsigned i = 0; i < iot->nr_hooks; i++)
			iot->hooks[i].fn(iot->hooks[i].arg);
	}
	bd_notifier_free(iot->wake);
	bd_queue_free(iot->queue);
	return NULL;
}

void iothread_call(struct iothread *iot, void (*fn)(void *arg), void *arg)
{
	struct iothread_task task = { fn, arg, false };

	if (pthread_equal(pthread_self(), iot->id)) {
		fn(arg);
		return;
	}
	pthread_mutex_lock(&iot->lock);
	while (iot->task)
		pthread_cond_wait(&iot->cond, &iot->lock);
	iot->task = &task;
	bd_notifier_signal(iot->wake);
	while (!task.done)
		pthread_cond_wait(&iot->cond, &iot->lock);
	pthread_mutex_unlock(&iot->lock);
}

static void call(struct virtio_thread *thread, void (*fn)(void *arg), void *arg)
{
	iothread_call((struct iothread *)thread, fn, arg);
}

int iothread_start(struct iothread *iot, const char *engine, unsigned depth, struct bd_error *err)
{
	struct start start = { .iot = iot, .engine = engine, .depth = depth, .err = err };
	int ret;

	*iot = (struct iothread){ .thread.call = call };
	pthread_mutex_init(&iot->lock, NULL);
	pthread_cond_init(&iot->cond, NULL);
	ret = pthread_create(&iot->id, NULL, run, &start);
	if (ret)
		return bd_fail_errno(err, -ret, "Could not start the I/O thread");
	pthread_mutex_lock(&iot->lock);
	while (!start.ready)
		pthread_cond_wait(&iot->cond, &iot->lock);
	pthread_mutex_unlock(&iot->lock);
	if (start.ret < 0)
		pthread_join(iot->id, NULL);
	else
		iot->started = true;
	return start.ret;
}

void iothread_stop(struct iothread *iot)
{
	if (!iot->started)
		return;
	pthread_mutex_lock(&iot->lock);
	iot->stop = true;
	bd_notifier_signal(iot->wake);
	pthread_mutex_unlock(&iot->lock);
	pthread_join(iot->id, NULL);
	iot->started = false;
}

void iothread_add_hook(struct iothread *iot, void (*fn)(void *arg), void *arg)
{
	assert(iot->nr_hooks < IOTHREAD_MAX_HOOKS);
	iot->hooks[iot->nr_hooks++] = (struct iothread_hook){ fn, arg };
}
