/* SPDX-License-Identifier: MIT */
/* A pool of threads that run items of one kind; finished ones are collected by one thread. */
#ifndef IO_POOL_H
#define IO_POOL_H

#include <stddef.h>

struct io_pool;

/* What a pool runs: any struct that has a pointer to spare. */
struct io_pool_kind {
	size_t next_at;             /* offset of that pointer in the item */
	void (*run)(void *item);    /* on a thread of the pool */
	/*
	 * Optional: what only one thread can work on at a time, so that others would wait for it;
	 * NULL: nothing.  Items of one lane are run one after the other, oldest first.
	 */
	const void *(*lane)(const void *item);
};

/*
 * @max: threads at most; they are started when there is work for them, with 256 KiB stacks.
 * 0 or a negative errno.
 */
int io_pool_new(const struct io_pool_kind *kind, unsigned max, struct io_pool **out);
/* Waits for what runs; what has not been started is dropped.  NULL is fine. */
void io_pool_free(struct io_pool *pool);
/* Hand over an item.  If the system gives no thread at all it is run here and now. */
void io_pool_submit(struct io_pool *pool, void *item);
/* The finished items, oldest first, linked through the pointer; NULL: none. */
void *io_pool_collect(struct io_pool *pool);
/* Readable while there are finished items. */
int io_pool_fd(const struct io_pool *pool);

#endif
