/* SPDX-License-Identifier: MIT */
/* The metadata cache: find, load once, park those who wait.  All of the fast path is O(1). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "blockdev/base/bits.h"
#include "blockdev/core/metacache_file.h"
#include "blockdev/core/metacache_private.h"
#include "blockdev/core/queue.h"

enum { CHUNK_BYTES = 65536 };

int metacache_new(const struct metacache_args *args, struct metacache **out)
{
	struct metacache *cache = calloc(1, sizeof(*cache));
	uint64_t buckets = UINT64_C(1) << log2_floor(max_u64(args->max_slots, 16));

	*out = NULL;
	if (!cache)
		return -ENOMEM;
	cache->args = *args;
	cache->hash_mask = (uint32_t)(buckets - 1);
	cache->hash = calloc(buckets, sizeof(*cache->hash));
	if (!cache->hash) {
		free(cache);
		return -ENOMEM;
	}
	list_init(&cache->chunks);
	list_init(&cache->free);
	list_init(&cache->clean);
	list_init(&cache->dirty);
	list_init(&cache->room);
	list_init(&cache->writers);
	list_init(&cache->timer.link);
	cache->stats.max_bytes = (uint64_t)args->max_slots * args->table_size;
	metacache_clean_start(cache);
	*out = cache;
	return 0;
}

void metacache_free(struct metacache *cache)
{
	struct link *it;

	if (!cache)
		return;
	metacache_clean_stop(cache);
	while ((it = list_pop(&cache->chunks))) {
		struct meta_chunk *chunk = container_of(it, struct meta_chunk, link);

		munmap(chunk->mem, (size_t)chunk->nr * cache->args.table_size);
		free(chunk);
	}
	free(cache->hash);
	free(cache);
}

/* Multiplicative hashing of the table number. */
static struct meta_slot **bucket(struct metacache *cache, uint64_t off)
{
	uint64_t key = (off / cache->args.table_size) * UINT64_C(0x9e3779b97f4a7c15);

	return &cache->hash[(key >> 32) & cache->hash_mask];
}

static struct meta_slot *find(struct metacache *cache, uint64_t off)
{
	struct meta_slot *slot = *bucket(cache, off);

	while (slot && slot->off != off)
		slot = slot->hash_next;
	return slot;
}

bool metacache_has(struct metacache *cache, uint64_t off)
{
	struct meta_slot *slot = find(cache, off);

	return slot && slot->state == SLOT_READY;
}

void metacache_unhash(struct meta_slot *slot)
{
	struct meta_slot **at = bucket(slot->cache, slot->off);

	while (*at != slot)
		at = &(*at)->hash_next;
	*at = slot->hash_next;
}

void metacache_room(struct metacache *cache)
{
	bd_queue_wake_all(cache->args.queue, &cache->room, 0);
}

/* The waiters of the load have run (they were ahead in the ready list): it may be evicted. */
static void settle(struct bd_wait *wait)
{
	struct meta_slot *slot = container_of(wait, struct meta_slot, settle);

	slot->fresh = false;
	metacache_room(slot->cache);
}

static int grow(struct metacache *cache)
{
	uint32_t size = cache->args.table_size;
	uint32_t nr = size < CHUNK_BYTES ? CHUNK_BYTES / size : 1;
	struct meta_chunk *chunk;

	nr = (uint32_t)min_u64(nr, cache->args.max_slots - cache->nr_slots);
	chunk = calloc(1, sizeof(*chunk) + nr * sizeof(chunk->slots[0]));
	if (!chunk)
		return -ENOMEM;
	chunk->nr = nr;
	chunk->mem = mmap(NULL, (size_t)nr * size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (chunk->mem == MAP_FAILED) {
		free(chunk);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < nr; i++) {
		struct meta_slot *slot = &chunk->slots[i];

		slot->cache = cache;
		slot->chunk = chunk;
		slot->buf = chunk->mem + (size_t)i * size;
		slot->settle.resume = settle;
		list_init(&slot->waiters);
		list_init(&slot->settle.link);
		list_add_tail(&cache->free, &slot->lru);
	}
	list_add_tail(&cache->chunks, &chunk->link);
	cache->nr_slots += nr;
	cache->stats.bytes += (uint64_t)nr * size;
	return 0;
}

static struct meta_slot *evict(struct metacache *cache)
{
	for (struct link *it = cache->clean.next; it != &cache->clean; it = it->next) {
		struct meta_slot *slot = container_of(it, struct meta_slot, lru);

		if (slot->fresh)
			continue;
		list_del(&slot->lru);
		metacache_unhash(slot);
		slot->state = SLOT_FREE;
		cache->stats.evictions++;
		metacache_keep(slot);
		return slot;
	}
	return NULL;
}

/* A slot without a table.  1; 0: parked; -ENOMEM. */
static int take(struct metacache *cache, struct bd_wait *wait, struct meta_slot **slot)
{
	struct link *it = list_pop(&cache->free);

	if (!it && cache->nr_slots < cache->args.max_slots && grow(cache) == 0)
		it = list_pop(&cache->free);
	*slot = it ? container_of(it, struct meta_slot, lru) : evict(cache);
	if (*slot)
		return 1;
	if (!cache->nr_slots)
		return -ENOMEM;
	if (cache->nr_dirty)
		cache->args.need_round(cache->args.owner);
	list_add_tail(&cache->room, &wait->link);
	return 0;
}

static void bind(struct metacache *cache, struct meta_slot *slot, uint64_t off)
{
	struct meta_slot **at = bucket(cache, off);

	slot->off = off;
	slot->hash_next = *at;
	*at = slot;
	slot->used = true;
	slot->fresh = slot->dirty = slot->writing = false;
	list_init(&slot->lru);
}

static void loaded(struct io_op *op)
{
	struct meta_slot *slot = op->user;
	struct metacache *cache = slot->cache;

	cache->nr_loading--;
	cache->stats.loading--;
	if (op->res < 0) {
		metacache_unhash(slot);
		slot->state = SLOT_FREE;
		list_add_tail(&cache->free, &slot->lru);
		bd_queue_wake_all(cache->args.queue, &slot->waiters, op->res);
		metacache_room(cache);
		return;
	}
	slot->state = SLOT_READY;
	slot->fresh = true;
	slot->unused = true;
	list_add_tail(&cache->clean, &slot->lru);
	bd_queue_wake_all(cache->args.queue, &slot->waiters, 0);
	bd_queue_wake(cache->args.queue, &slot->settle, 0);
}

static void read_table(struct meta_slot *slot, struct io_file *file, uint64_t off,
		       void (*done)(struct io_op *))
{
	slot->iov = (struct iovec){slot->buf, slot->cache->args.table_size};
	slot->op = (struct io_op){
		.kind = IO_READ, .flags = IO_META, .file = file, .off = off,
		.len = slot->cache->args.table_size, .iov = &slot->iov, .niov = 1,
		.done = done, .user = slot,
	};
	io_op_submit(&slot->op);
}

static void load_from_image(struct meta_slot *slot)
{
	struct metacache *cache = slot->cache;

	if (cache->args.load_event)
		io_event(cache->args.file, cache->args.load_event);
	read_table(slot, cache->args.file, slot->off, loaded);
}

/* Whatever is wrong with the second level is a miss. */
static void loaded_from_second(struct io_op *op)
{
	struct meta_slot *slot = op->user;
	struct metacache *cache = slot->cache;

	if (op->res < 0)
		metacache_file_fail(cache->args.second, op->res);
	if (op->res < 0 || !metacache_file_verify(cache->args.second, slot->off, slot->buf)) {
		load_from_image(slot);
		return;
	}
	cache->stats.file_hits++;
	loaded(op);
}

static void load(struct metacache *cache, struct meta_slot *slot)
{
	uint64_t pos;

	slot->state = SLOT_LOADING;
	cache->nr_loading++;
	cache->stats.loading++;
	if (cache->args.second && metacache_file_find(cache->args.second, slot->off, &pos))
		read_table(slot, metacache_file_io(cache->args.second), pos, loaded_from_second);
	else
		load_from_image(slot);
}

void metacache_keep(struct meta_slot *slot)
{
	struct metacache *cache = slot->cache;

	if (!cache->args.second)
		return;
	metacache_file_store(cache->args.second, slot->off, slot->buf);
	cache->stats.file_stores++;
}

/* Without reuse: the table has served the one it was loaded for, and is loaded again. */
static bool reload(struct metacache *cache, struct meta_slot *slot, struct bd_wait *wait)
{
	if (!cache->args.no_reuse || slot->dirty || slot->writing)
		return false;
	if (slot->unused) {
		slot->unused = false;
		return false;
	}
	cache->stats.misses++;
	list_del(&slot->lru);
	list_add_tail(&slot->waiters, &wait->link);
	load(cache, slot);
	return true;
}

static int get(struct metacache *cache, uint64_t off, struct bd_wait *wait, bool new,
	       struct meta_slot **out)
{
	struct meta_slot *slot = find(cache, off);
	int ret;

	if (slot && slot->state == SLOT_READY && reload(cache, slot, wait))
		return 0;
	if (slot && slot->state == SLOT_READY) {
		cache->stats.hits++;
		slot->used = true;
		slot->fresh = false;
		if (!slot->dirty && !slot->writing) {
			list_del(&slot->lru);
			list_add_tail(&cache->clean, &slot->lru);
		}
		*out = slot;
		return 1;
	}
	if (slot) {
		list_add_tail(&slot->waiters, &wait->link);
		return 0;
	}
	ret = take(cache, wait, &slot);
	if (ret <= 0)
		return ret;
	cache->stats.misses++;
	bind(cache, slot, off);
	if (new) {
		memset(slot->buf, 0, cache->args.table_size);
		slot->state = SLOT_READY;
		list_add_tail(&cache->clean, &slot->lru);
		*out = slot;
		return 1;
	}
	list_add_tail(&slot->waiters, &wait->link);
	load(cache, slot);
	return 0;
}

struct blocking {
	struct bd_wait wait;
	bool woken;
};

static void blocking_resume(struct bd_wait *wait)
{
	container_of(wait, struct blocking, wait)->woken = true;
}

static int get_blocking(struct metacache *cache, uint64_t off, bool new, struct meta_slot **out)
{
	for (;;) {
		struct blocking state = {.wait.resume = blocking_resume};
		int ret = get(cache, off, &state.wait, new, out);

		if (ret)
			return ret;
		while (!state.woken) {
			ret = bd_queue_poll(cache->args.queue, true);
			if (ret < 0)
				return ret;
		}
		if (state.wait.res < 0)
			return state.wait.res;
	}
}

int metacache_get(struct metacache *cache, uint64_t off, struct bd_wait *wait,
		  struct meta_slot **slot)
{
	if (!wait)
		return get_blocking(cache, off, false, slot);
	return get(cache, off, wait, false, slot);
}

int metacache_get_new(struct metacache *cache, uint64_t off, struct bd_wait *wait,
		      struct meta_slot **slot)
{
	if (!wait)
		return get_blocking(cache, off, true, slot);
	return get(cache, off, wait, true, slot);
}

void metacache_stats(const struct metacache *cache, struct bd_cache_stats *stats)
{
	*stats = cache->stats;
}
