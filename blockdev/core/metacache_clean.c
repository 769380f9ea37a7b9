/* SPDX-License-Identifier: MIT */
/* Time-based clean-up: the memory of idle tables goes back to the system. */
#include <stdlib.h>
#include <sys/mman.h>

#include "blockdev/core/metacache_private.h"
#include "blockdev/core/queue.h"

static const uint64_t second_ns = 1000000000;

/* Clear the mark of each slot; true: all were clean, at rest and unmarked. */
static bool idle(struct meta_chunk *chunk)
{
	bool ret = true;

	for (uint32_t i = 0; i < chunk->nr; i++) {
		struct meta_slot *slot = &chunk->slots[i];

		if (slot->state == SLOT_LOADING || slot->dirty || slot->writing || slot->fresh)
			ret = false;
		if (slot->state == SLOT_READY && slot->used)
			ret = false;
		slot->used = false;
	}
	return ret;
}

static void release(struct metacache *cache, struct meta_chunk *chunk)
{
	size_t bytes = (size_t)chunk->nr * cache->args.table_size;

	for (uint32_t i = 0; i < chunk->nr; i++) {
		struct meta_slot *slot = &chunk->slots[i];

		if (slot->state == SLOT_READY) {
			metacache_unhash(slot);
			metacache_keep(slot);
			cache->stats.cleaned++;
		}
		list_del(&slot->lru);
	}
	list_del(&chunk->link);
	cache->nr_slots -= chunk->nr;
	cache->stats.bytes -= bytes;
	munmap(chunk->mem, bytes);
	free(chunk);
}

static void tick(struct io_timer *timer)
{
	struct metacache *cache = container_of(timer, struct metacache, timer);
	struct link *next;

	for (struct link *it = cache->chunks.next; it != &cache->chunks; it = next) {
		struct meta_chunk *chunk = container_of(it, struct meta_chunk, link);

		next = it->next;
		if (idle(chunk))
			release(cache, chunk);
	}
	if (cache->nr_dirty)
		cache->args.need_round(cache->args.owner);
	metacache_clean_start(cache);
}

void metacache_clean_start(struct metacache *cache)
{
	struct io_ctx *ctx = bd_queue_ctx(cache->args.queue);

	if (!cache->args.clean_interval)
		return;
	cache->timer.fire = tick;
	io_timer_add(ctx, &cache->timer,
		     io_ctx_now(ctx) + cache->args.clean_interval * second_ns);
}

void metacache_clean_stop(struct metacache *cache)
{
	io_timer_cancel(&cache->timer);
}
