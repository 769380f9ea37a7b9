/* SPDX-License-Identifier: MIT */
/* Dirty tables of the metadata cache: marking, write-back, forgetting. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/core/metacache_file.h"
#include "blockdev/core/metacache_private.h"
#include "blockdev/core/queue.h"

void metacache_dirty(struct meta_slot *slot)
{
	struct metacache *cache = slot->cache;

	slot->gen++;
	if (slot->dirty)
		return;
	if (cache->args.second)
		metacache_file_forget(cache->args.second, slot->off);
	slot->dirty = true;
	cache->nr_dirty++;
	list_del(&slot->lru);
	list_add_tail(&cache->dirty, &slot->lru);
	if (cache->nr_dirty * 2 > cache->args.max_slots)
		cache->args.need_round(cache->args.owner);
}

bool metacache_is_dirty(const struct metacache *cache)
{
	return cache->nr_dirty > 0;
}

bool metacache_crowded(const struct metacache *cache)
{
	return cache->nr_slots == cache->args.max_slots && list_empty(&cache->clean) &&
	       list_empty(&cache->free);
}

void metacache_fail(struct metacache *cache, int err)
{
	/* Without a slot that can be had they would only start the next round, which fails, too. */
	bd_queue_wake_all(cache->args.queue, &cache->room, metacache_crowded(cache) ? err : 0);
}

static void set_clean(struct meta_slot *slot)
{
	struct metacache *cache = slot->cache;

	slot->dirty = false;
	cache->nr_dirty--;
	list_del(&slot->lru);
	list_add_tail(&cache->clean, &slot->lru);
}

static void written(struct io_op *op)
{
	struct meta_slot *slot = op->user;
	struct metacache *cache = slot->cache;

	free(slot->copy);
	slot->copy = NULL;
	slot->writing = false;
	cache->nr_writing--;
	if (op->res < 0)
		cache->write_err = cache->write_err ? cache->write_err : op->res;
	else if (slot->gen == slot->written_gen && slot->dirty)
		set_clean(slot);
	if (cache->nr_writing)
		return;
	bd_queue_wake_all(cache->args.queue, &cache->writers, cache->write_err);
	/* After a failure the end of the round decides: those who wait must not ask for ever. */
	if (!cache->write_err)
		metacache_room(cache);
}

/* The bytes to be written, which must not change on their way.  -ENOMEM. */
static int freeze(struct meta_slot *slot)
{
	const struct metacache_args *args = &slot->cache->args;

	slot->iov = (struct iovec){slot->buf, args->table_size};
	if (!args->edited_in_flight)
		return 0;
	if (posix_memalign((void **)&slot->copy, 4096, args->table_size)) {
		slot->copy = NULL;
		return -ENOMEM;
	}
	memcpy(slot->copy, slot->buf, args->table_size);
	slot->iov.iov_base = slot->copy;
	return 0;
}

static int write_slot(struct meta_slot *slot)
{
	struct metacache *cache = slot->cache;

	if (freeze(slot) < 0)
		return -ENOMEM;
	slot->writing = true;
	slot->written_gen = slot->gen;
	slot->op = (struct io_op){
		.kind = IO_WRITE, .flags = IO_META, .file = cache->args.file,
		.off = slot->off, .len = cache->args.table_size, .iov = &slot->iov, .niov = 1,
		.done = written, .user = slot,
	};
	cache->nr_writing++;
	cache->stats.writes++;
	if (cache->args.write_event)
		io_event(cache->args.file, cache->args.write_event);
	io_op_submit(&slot->op);
	return 0;
}

int metacache_write(struct metacache *cache, struct bd_wait *wait)
{
	if (!cache->nr_writing) {
		cache->write_err = 0;
		for (struct link *it = cache->dirty.next;
		     it != &cache->dirty && !cache->write_err; it = it->next)
			cache->write_err = write_slot(container_of(it, struct meta_slot, lru));
	}
	if (!cache->nr_writing)
		return cache->write_err ? cache->write_err : 1;
	list_add_tail(&cache->writers, &wait->link);
	return 0;
}

void metacache_drop(struct metacache *cache, uint64_t off, uint64_t len)
{
	struct link *lists[] = {&cache->clean, &cache->dirty};

	for (uint64_t at = off; cache->args.second && at < off + len; at += cache->args.table_size)
		metacache_file_forget(cache->args.second, at);
	for (unsigned i = 0; i < 2; i++) {
		struct link *next;

		for (struct link *it = lists[i]->next; it != lists[i]; it = next) {
			struct meta_slot *slot = container_of(it, struct meta_slot, lru);

			next = it->next;
			if (slot->off < off || slot->off - off >= len || slot->writing)
				continue;
			cache->nr_dirty -= slot->dirty;
			slot->dirty = slot->fresh = false;
			list_del(&slot->lru);
			list_del(&slot->settle.link);
			metacache_unhash(slot);
			slot->state = 0;
			list_add_tail(&cache->free, &slot->lru);
		}
	}
}

void metacache_empty(struct metacache *cache)
{
	struct link *next;

	for (struct link *it = cache->clean.next; it != &cache->clean; it = next) {
		struct meta_slot *slot = container_of(it, struct meta_slot, lru);

		next = it->next;
		list_del(&slot->settle.link);
		list_del(&slot->lru);
		metacache_unhash(slot);
		slot->state = SLOT_FREE;
		slot->fresh = false;
		list_add_tail(&cache->free, &slot->lru);
	}
}

void metacache_keep_all(struct metacache *cache)
{
	for (struct link *it = cache->clean.next; it != &cache->clean; it = it->next) {
		metacache_keep(container_of(it, struct meta_slot, lru));
		while (metacache_file_busy(cache->args.second) > 8) {
			if (bd_queue_poll(cache->args.queue, true) < 0)
				return;
		}
	}
}
