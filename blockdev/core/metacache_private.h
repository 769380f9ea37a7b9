/* SPDX-License-Identifier: MIT */
/* What the files of the metadata cache share. */
#ifndef BD_METACACHE_PRIVATE_H
#define BD_METACACHE_PRIVATE_H

#include "blockdev/core/metacache.h"

enum { SLOT_FREE, SLOT_LOADING, SLOT_READY };

/* Slots come and go in chunks: one mapping of the host, given back by clean-up. */
struct meta_chunk {
	struct link link;          /* metacache.chunks */
	uint8_t *mem;              /* nr * table_size bytes, mmap */
	uint32_t nr;
	struct meta_slot slots[];
};

struct metacache {
	struct metacache_args args;
	struct meta_slot **hash;
	uint32_t hash_mask;
	uint32_t nr_slots;         /* in chunks now */
	uint32_t nr_dirty, nr_loading, nr_writing;
	struct link chunks;
	struct link free;          /* slots without a table */
	struct link clean;         /* LRU order: head is the next victim */
	struct link dirty;
	struct link room;          /* bd_wait: want any slot */
	struct link writers;       /* bd_wait: want the writes in flight to end */
	int write_err;
	struct io_timer timer;
	struct bd_cache_stats stats;
};

/* Let those who want a slot try again. */
void metacache_room(struct metacache *cache);
void metacache_unhash(struct meta_slot *slot);
/* A clean table leaves memory: the second level may keep it. */
void metacache_keep(struct meta_slot *slot);
void metacache_clean_start(struct metacache *cache);
void metacache_clean_stop(struct metacache *cache);

#endif
