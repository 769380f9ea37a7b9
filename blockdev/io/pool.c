/* SPDX-License-Identifier: MIT */
/* A pool of threads that run items of one kind. */
#include "blockdev/io/pool.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define STACK_SIZE (256u << 10)

struct chain {
	void *first, *last;
};

struct io_pool {
	struct io_pool_kind kind;
	pthread_mutex_t lock;   /* guards all below */
	pthread_cond_t wake;
	struct chain todo, done;
	unsigned max, nr, idle, nr_todo;
	bool stop;
	int fd;                 /* eventfd: set exactly while done is not empty */
	struct thread {
		struct io_pool *pool;
		pthread_t id;
		const void *lane;   /* of the item it runs */
	} threads[];            /* room for max */
};

static void **next_of(struct io_pool *pool, void *item)
{
	return (void **)((char *)item + pool->kind.next_at);
}

static void chain_push(struct io_pool *pool, struct chain *chain, void *item)
{
	*next_of(pool, item) = NULL;
	if (chain->last)
		*next_of(pool, chain->last) = item;
	else
		__atomic_store_n(&chain->first, item, __ATOMIC_RELEASE);
	chain->last = item;
}

/* Take out the item behind @before; NULL: the first one. */
static void *chain_take(struct io_pool *pool, struct chain *chain, void *before)
{
	void **from = before ? next_of(pool, before) : &chain->first;
	void *item = *from;

	*from = *next_of(pool, item);
	if (chain->last == item)
		chain->last = before;
	return item;
}

static const void *lane_of(const struct io_pool *pool, const void *item)
{
	return pool->kind.lane ? pool->kind.lane(item) : NULL;
}

static bool lane_is_busy(const struct io_pool *pool, const void *lane)
{
	for (unsigned i = 0; lane && i < pool->nr; i++) {
		if (pool->threads[i].lane == lane)
			return true;
	}
	return false;
}

/* The oldest item of @lane; NULL: the oldest that need not wait for a lane.  *before: as above. */
static void *find_todo(struct io_pool *pool, const void *lane, void **before)
{
	void *item = pool->todo.first;

	*before = NULL;
	while (item) {
		const void *own = lane_of(pool, item);

		if (lane ? own == lane : !lane_is_busy(pool, own))
			return item;
		*before = item;
		item = *next_of(pool, item);
	}
	return NULL;
}

/*
 * With the lock held.  The next item for @thread; NULL: none.  A thread stays in its lane while
 * there is work in it: so nobody has to be woken for that.
 */
static void *take_todo(struct io_pool *pool, struct thread *thread)
{
	const void *lane = thread->lane;
	void *before, *item = NULL;

	thread->lane = NULL;
	if (lane)
		item = find_todo(pool, lane, &before);
	if (!item)
		item = find_todo(pool, NULL, &before);
	if (!item)
		return NULL;
	thread->lane = lane_of(pool, item);
	pool->nr_todo--;
	return chain_take(pool, &pool->todo, before);
}

/* With the lock held. */
static void push_done(struct io_pool *pool, void *item)
{
	bool first = !pool->done.last;
	uint64_t one = 1;

	/* The item before the wake-up: who is woken finds it. */
	chain_push(pool, &pool->done, item);
	if (first && write(pool->fd, &one, sizeof(one)) < 0)
		abort(); /* a counter of 64 bits does not overflow */
}

static void *worker(void *arg)
{
	struct thread *self = arg;
	struct io_pool *pool = self->pool;

	pthread_mutex_lock(&pool->lock);
	while (!pool->stop) {
		void *item = take_todo(pool, self);

		if (!item) {
			pool->idle++;
			pthread_cond_wait(&pool->wake, &pool->lock);
			pool->idle--;
			continue;
		}
		pthread_mutex_unlock(&pool->lock);
		pool->kind.run(item);
		pthread_mutex_lock(&pool->lock);
		push_done(pool, item);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

/* With the lock held.  Fewer threads than wanted is fine. */
static void start_thread(struct io_pool *pool)
{
	struct thread *thread = &pool->threads[pool->nr];
	sigset_t all, old;
	pthread_attr_t attr;

	thread->pool = pool;
	if (pthread_attr_init(&attr))
		return;
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	/* Signals are for the program's own thread. */
	sigfillset(&all);
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	if (pthread_create(&thread->id, &attr, worker, thread) == 0)
		pool->nr++;
	else
		pool->max = pool->nr;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
}

int io_pool_new(const struct io_pool_kind *kind, unsigned max, struct io_pool **out)
{
	struct io_pool *pool = calloc(1, sizeof(*pool) + max * sizeof(struct thread));

	*out = NULL;
	if (!pool)
		return -ENOMEM;
	pool->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (pool->fd < 0) {
		int ret = -errno;

		free(pool);
		return ret;
	}
	pool->kind = *kind;
	pool->max = max;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->wake, NULL);
	*out = pool;
	return 0;
}

void io_pool_free(struct io_pool *pool)
{
	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->stop = true;
	pthread_cond_broadcast(&pool->wake);
	pthread_mutex_unlock(&pool->lock);
	for (unsigned i = 0; i < pool->nr; i++)
		pthread_join(pool->threads[i].id, NULL);
	pthread_cond_destroy(&pool->wake);
	pthread_mutex_destroy(&pool->lock);
	close(pool->fd);
	free(pool);
}

void io_pool_submit(struct io_pool *pool, void *item)
{
	bool inline_run, waits;

	pthread_mutex_lock(&pool->lock);
	/* The thread in its lane will take it. */
	waits = lane_is_busy(pool, lane_of(pool, item));
	if (!waits && pool->nr_todo >= pool->idle && pool->nr < pool->max)
		start_thread(pool);
	inline_run = !pool->nr;
	if (!inline_run) {
		chain_push(pool, &pool->todo, item);
		pool->nr_todo++;
		if (!waits)
			pthread_cond_signal(&pool->wake);
	}
	pthread_mutex_unlock(&pool->lock);
	if (!inline_run)
		return;
	pool->kind.run(item);
	pthread_mutex_lock(&pool->lock);
	push_done(pool, item);
	pthread_mutex_unlock(&pool->lock);
}

void *io_pool_collect(struct io_pool *pool)
{
	uint64_t count;
	void *items;

	if (!__atomic_load_n(&pool->done.first, __ATOMIC_ACQUIRE))
		return NULL;
	pthread_mutex_lock(&pool->lock);
	items = pool->done.first;
	__atomic_store_n(&pool->done.first, NULL, __ATOMIC_RELAXED);
	pool->done.last = NULL;
	if (read(pool->fd, &count, sizeof(count)) < 0)
		count = 0;
	pthread_mutex_unlock(&pool->lock);
	return items;
}

int io_pool_fd(const struct io_pool *pool)
{
	return pool->fd;
}
