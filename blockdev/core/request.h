/* SPDX-License-Identifier: MIT */
/*
 * A request on its way: the public half a caller sees, and what the core keeps beside it.
 *
 * A request is a small machine.  step() carries it on until it has to wait: for a table
 * (req->wait is parked), for operations (req->ops > 0) or for another request's range.  Each
 * completion calls step() again, always from bd_queue_poll().
 */
#ifndef BD_REQUEST_H
#define BD_REQUEST_H

#include "blockdev/core/format.h"
#include "blockdev/core/queue.h"
#include "blockdev/core/range_lock.h"

enum { REQ_IOV = 8 }; /* vectors an operation carries without allocating */

/* One host operation of a request. */
struct req_op {
	struct io_op op;
	struct request *req;
	struct iovec small[REQ_IOV];
	struct iovec *iov;         /* == small, or allocated */
	struct reader *reader;     /* whose bytes it brings; NULL: a write */
	void *bounce;              /* cipher or compressed bytes; owned */
	size_t bounce_len;
	/* decompression of one cluster, or encryption, on a worker */
	struct bd_work work;
	struct bd_node *layer;
	void *plain;               /* @layer's cluster, inflated; owned */
	uint64_t in_cluster;       /* first wanted byte of it, or of the sectors in @bounce */
	uint64_t iv_off;           /* where the initial vectors of @bounce begin; bytes */
	uint64_t to, to_len;       /* where it goes: bytes of the reader's range */
	int res;
	struct link link;          /* free list */
};

/* Brings a guest range into a vector: the request's own, or the surroundings of a write. */
struct reader {
	uint64_t off, len;         /* guest bytes; may end behind the disk (zeros) */
	uint64_t pos;              /* bytes of it issued so far */
	const struct iovec *iov;
	int niov;
	bool active;
};

enum req_kind { REQ_READ, REQ_WRITE, REQ_COMPRESSED, REQ_ZERO, REQ_DISCARD, REQ_FLUSH };

enum req_state {
	ST_BEGIN,      /* first write, quiet node */
	ST_LOCK,       /* the range of the next part */
	ST_PLAN,
	ST_COW,        /* surroundings are being read */
	ST_DATA,       /* data are being written */
	ST_PUBLISH,
	ST_MIRROR,     /* zero and discard: the raw data file is being zeroed */
	ST_STEP,       /* zero and discard: one step of the format */
	ST_FLUSH,      /* write-back for FUA and flush */
	ST_BARRIER,    /* host flush in flight */
	ST_END,
};

struct request {
	struct bd_request pub;     /* first member: request_of() */
	struct bd_queue *queue;
	struct link link;          /* queue->free or node->active */
	enum req_kind kind;
	enum req_state state;
	uint64_t seq;              /* order of arrival on its node */
	struct bd_wait wait;
	unsigned ops;              /* operations and work in flight */
	int err;                   /* first error */
	int refused;               /* a write that must not be made: the error it gets */
	bool stepping, quiet_parked;

	struct reader reader[2];   /* READ: [0]; writes: head and tail */
	uint64_t pos;              /* writes: bytes finished */
	uint64_t part;             /* writes: bytes of the current part */
	struct bd_plan plan;
	struct range_lock range;
	uint8_t *cow;              /* head and tail bytes; owned */
	struct iovec cow_iov[2];
	bool zero_part;            /* the current part writes zero bytes */
	struct io_file *clone;     /* bd_write_clone(): where the bytes are, from clone_off on */
	uint64_t clone_off;

	struct bd_work work;       /* compression */
	uint8_t *packed;           /* compressed bytes; owned */
	uint8_t *plain;            /* the cluster to compress, when not one vector; owned */
	size_t packed_len;
	bool packed_ready, packing_done;
	struct link packing;       /* node's requests being compressed, in order */
};

static inline struct request *request_of(struct bd_request *req)
{
	return (struct request *)req;
}

/* Carry @req on.  Does nothing while it is already being carried on further up the stack. */
void bd_request_step(struct request *req);
/* An operation from the queue's pool; NULL: none free, @req is parked until one is. */
struct req_op *bd_req_op_get(struct request *req);
void bd_req_op_put(struct req_op *rop);
/* Make room for @nr vectors; -ENOMEM. */
int bd_req_op_room(struct req_op *rop, int nr);
/* Fill @rop's vector with bytes [skip, skip+len) of @iov; -ENOMEM. */
int bd_req_op_slice(struct req_op *rop, const struct iovec *iov, int niov, uint64_t skip,
		    uint64_t len);
/* Submit @rop; counts it in req->ops. */
void bd_req_op_submit(struct req_op *rop, enum io_kind kind, struct io_file *file, uint64_t off,
		      uint64_t len, unsigned io_flags);
/*
 * Write whole clusters whose bytes the host copies or shares from @off of @src.  Fails, and leaves
 * the disk as it was, where the host cannot, a cluster is cut, or data are encrypted.
 */
void bd_write_clone(struct bd_request *req, struct io_file *src, uint64_t off);
/* @rop has ended: it goes back to the pool, and its request goes on. */
void bd_req_op_over(struct req_op *rop, int res);
/* Remember the first error. */
static inline void request_fail(struct request *req, int err)
{
	if (err < 0 && !req->err)
		req->err = err;
}

/* read.c: start, and carry on; 1: all issued, 0: waits. */
void bd_reader_start(struct reader *reader, uint64_t off, uint64_t len, const struct iovec *iov,
		     int niov);
int bd_reader_step(struct request *req, struct reader *reader);
/* inflate.c: bring [skip, +len) of compressed extent @ext into bytes @to.. of @reader. */
int bd_inflate_start(struct request *req, struct reader *reader, const struct bd_extent *ext,
		     uint64_t skip, uint64_t to, uint64_t len);

/*
 * encrypted.c: bring @ext in, from the reader's position on, as far as it is wanted.  1: all of it
 * is queued; 0: parked, or enough is in flight; negative errno.
 */
int bd_encrypted_read(struct request *req, struct reader *reader, const struct bd_extent *ext);
/* A write of encrypted data is of whole sectors: their rest is head and tail. */
void bd_encrypted_widen(struct bd_plan *plan);
/* Encrypt a copy of @rop's @len bytes, then write it at @host_off; counts it in req->ops. */
int bd_encrypted_write(struct request *req, struct req_op *rop, uint64_t host_off, uint64_t len);

/* write.c, write_zero.c, write_compressed.c: one state; 1: go on, 0: wait. */
int bd_write_state(struct request *req);
int bd_zero_state(struct request *req);
/* Take the next part's range; 1: taken (req->part bytes), 0: parked. */
int bd_request_lock(struct request *req, uint64_t off, uint64_t len, bool exclusive);
void bd_compressed_begin(struct request *req);
int bd_compressed_plan(struct request *req);
int bd_flush_state(struct request *req);

#endif
