/* SPDX-License-Identifier: MIT */
/* One request of the guest: shared by blk_parse.c and blk_request.c. */
#ifndef VIRTIO_BLK_REQUEST_H
#define VIRTIO_BLK_REQUEST_H

#include "vkvm/virtio/blk.h"

enum { BLK_NO_STATUS = -1 }; /* the status byte cannot be placed */

struct blk_request {
	struct virtio_blk *blk;
	unsigned queue;              /* index of the virtqueue */
	struct vq_chain chain;
	struct bd_request *io;       /* the engine's; held while the chain is */
	struct blk_request *next;    /* free or parked list */
	uint32_t type;               /* VIRTIO_BLK_T_* */
	uint64_t sector;
	uint8_t *status;             /* the chain's last writable byte */
	/* what the header and the status byte leave of the chain */
	struct iovec *out, *in;
	unsigned nr_out, nr_in;
	uint64_t out_len, in_len;    /* bytes */
	struct virtio_blk_discard_write_zeroes ranges[BLK_MAX_RANGES];
	unsigned nr_ranges, next_range;
	struct iovec *guarded;       /* vector with a private head, which is behind it; owned */
	uint64_t start_ns;
};

/* blk_parse.c: find out what a chain that was taken asks for, and start or refuse it. */
void blk_start(struct blk_request *req);

/* Give the chain back; @written: bytes besides the status. */
void blk_answer(struct blk_request *req, int status, uint32_t written);
/* The same for one that never was a request: it costs no I/O and changes nothing. */
void blk_refuse(struct blk_request *req, int status);
/* Hand it to the engine. */
void blk_run_now(struct blk_request *req);
/* The same, once the throttle lets it pass; requests behind it wait, too. */
void blk_run_throttled(struct blk_request *req);

#endif
