/* SPDX-License-Identifier: MIT */
/* virtio-blk: the guest's requests become requests of the engine. */
#ifndef VIRTIO_BLK_H
#define VIRTIO_BLK_H

#include <linux/virtio_blk.h>

#include "blockdev/include/throttle.h"
#include "vkvm/virtio/disk.h"
#include "vkvm/virtio/virtio.h"

enum {
	BLK_SEG_MAX = 254,       /* data segments of a request, as SEG_MAX says */
	BLK_MAX_RANGES = 32,     /* ranges of one discard or write-zeroes request */
	BLK_GUARD = 4096,        /* bytes at the start of a guessed raw disk that are copied */
};

struct blk_request;

struct virtio_blk {
	struct virtio_device dev;    /* first member: blk_of() */
	struct disk *disk;
	struct virtio_blk_config config; /* little endian; capacity and wce are atomic */
	struct blk_request *free;    /* requests not in use */
	/* waiting, in order: those that failed and will be tried again, those above a rate */
	struct blk_list {
		struct blk_request *first, **end;
	} parked, held;
	struct bd_throttle *throttle;
	unsigned in_flight;          /* given to the engine */
	unsigned paused;             /* > 0: rings are not looked at */
	bool starved;                /* the engine's pool was empty: look again */
	bool watched;                /* virtio_blk_look() is called again and again: no kicks */
	bool write_through;          /* the driver has no flush, or asked for it */
};

/*
 * Make @blk for @disk, with @nr_queues queues of @size descriptors.  On the I/O thread, which then
 * owns it.  @irq and @thread of blk->dev are set by the caller.  -ENOMEM, -EMFILE.
 */
int virtio_blk_open(struct virtio_blk *blk, struct disk *disk, const struct memory *mem,
		    unsigned nr_queues, uint16_t size);
/* After virtio_reset().  On the I/O thread, top level. */
void virtio_blk_close(struct virtio_blk *blk);
/* After each turn of the queue: show the guest what has finished, one interrupt per queue. */
void virtio_blk_publish(struct virtio_blk *blk);
/* Take what has come without a kick; as struct bd_thread_hook says it. */
bool virtio_blk_look(struct virtio_blk *blk);
bool virtio_blk_watch(struct virtio_blk *blk, bool on);
/*
 * Take nothing more from the rings and wait until nothing is in flight; requests stopped by an
 * error stay parked.  Nests.  On the I/O thread, top level.
 */
void virtio_blk_drain(struct virtio_blk *blk);
/* End of virtio_blk_drain(): rings are looked at without waiting for a kick. */
void virtio_blk_undrain(struct virtio_blk *blk);
/* Try parked requests again. */
void virtio_blk_retry(struct virtio_blk *blk);
/* The disk's size has changed. */
void virtio_blk_resized(struct virtio_blk *blk);

/* --- blk_request.c ----------------------------------------------------------------------- */

/* Take one chain and start its request.  false: there is none, or no room for it. */
bool blk_take(struct virtio_blk *blk, unsigned queue);
/* Start held requests, as far as the throttle lets them pass. */
void blk_release(struct virtio_blk *blk);
/* Forget all that wait; their chains are not given back. */
void blk_forget(struct virtio_blk *blk);
void blk_list_init(struct blk_list *list);
/* Free the list of unused requests. */
void blk_free_requests(struct virtio_blk *blk);

#endif
