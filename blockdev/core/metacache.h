/* SPDX-License-Identifier: MIT */
/*
 * A cache of metadata tables (L2 slices, refcount blocks) of one file.
 *
 * O(1) look-up by host offset, O(1) LRU.  Slots come in chunks on demand.  A miss is an
 * asynchronous read that parks only the requests that need it.  No slot stays pinned while a
 * request is parked: a caller looks tables up again each time it runs.
 */
#ifndef BD_METACACHE_H
#define BD_METACACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "blockdev/base/list.h"
#include "blockdev/include/blockdev.h"
#include "blockdev/io/file.h"

struct metacache;
struct metacache_file;
struct meta_chunk;

/* A parked continuation.  resume() runs from bd_queue_poll(), never from the parking call. */
struct bd_wait {
	struct link link;                   /* on one waiting list at a time */
	void (*resume)(struct bd_wait *wait);
	int res;                            /* < 0: what was waited for failed */
};

/* One cached table. */
struct meta_slot {
	struct link lru;       /* the cache's clean or dirty list, or alone */
	struct link waiters;   /* bd_wait of requests that need the load */
	uint64_t off;          /* host offset in the file, the key */
	uint8_t *buf;          /* table_size bytes */
	struct meta_slot *hash_next;
	uint32_t gen;          /* changes with each edit */
	uint32_t written_gen;  /* gen when the write in flight began */
	uint8_t state;         /* SLOT_* */
	bool dirty, writing;
	bool used;             /* since the last clean-up tick */
	bool unused;           /* no_reuse: this load has served nobody yet */
	bool fresh;            /* loaded, but those who asked have not run yet: do not evict */
	struct metacache *cache;
	struct meta_chunk *chunk;
	struct io_op op;       /* load or write in flight */
	uint8_t *copy;         /* what is being written, if that is not @buf; owned */
	struct iovec iov;
	struct bd_wait settle; /* ends @fresh after the waiters ran */
};

struct metacache_args {
	struct bd_queue *queue;
	struct io_file *file;
	uint32_t table_size;       /* bytes of one table: a slice or a cluster */
	uint32_t max_slots;
	uint32_t clean_interval;   /* seconds; 0: never */
	bool edited_in_flight;     /* tables may be edited while they are written: write copies */
	bool no_reuse;             /* each use loads its clean table anew: a bench's base line */
	const char *load_event;    /* blkdebug event before a load */
	const char *write_event;   /* blkdebug event before a write-back */
	/* Called when a dirty table must go before room can be made: start a write-back round. */
	void (*need_round)(void *owner);
	void *owner;
	struct metacache_file *second; /* clean tables on disk; owned by the caller; NULL: none */
};

int metacache_new(const struct metacache_args *args, struct metacache **out);
void metacache_free(struct metacache *cache); /* drops everything; dirty tables are lost */

/*
 * Get the table at @off.
 * 1: *slot is valid until the caller returns to the queue; 0: not there, @wait will be resumed;
 * negative errno: the load failed.  With @wait == NULL it blocks (drained node, top level).
 */
int metacache_get(struct metacache *cache, uint64_t off, struct bd_wait *wait,
		  struct meta_slot **slot);
/* As metacache_get(), but without reading: the table is new and all zero, clean. */
int metacache_get_new(struct metacache *cache, uint64_t off, struct bd_wait *wait,
		      struct meta_slot **slot);
/* Is the table at @off ready, so that metacache_get() would not wait? */
bool metacache_has(struct metacache *cache, uint64_t off);
void metacache_dirty(struct meta_slot *slot); /* after each edit */
/* Forget cached tables inside host range [off, off+len): their cluster was freed. */
void metacache_drop(struct metacache *cache, uint64_t off, uint64_t len);
bool metacache_is_dirty(const struct metacache *cache);
/*
 * Write all tables dirty now.  1: nothing to do; 0: @wait is resumed when they are written.
 * A table edited meanwhile stays dirty.
 */
int metacache_write(struct metacache *cache, struct bd_wait *wait);
/* No clean table is left to evict: write before asking for another. */
bool metacache_crowded(const struct metacache *cache);
/* Those who wait for a slot get @err: write-back failed. */
void metacache_fail(struct metacache *cache, int err);
/* Before closing: hand clean tables to the second level, one after the other.  Blocks. */
void metacache_keep_all(struct metacache *cache);
/* Drop every clean table (reopen, snapshot apply). */
void metacache_empty(struct metacache *cache);
void metacache_stats(const struct metacache *cache, struct bd_cache_stats *stats);

#endif
