/* SPDX-License-Identifier: MIT */
/* Inside of the copy job: what is where (copy_scan.c), buffers in flight, writing them out. */
#ifndef BD_CORE_COPY_H
#define BD_CORE_COPY_H

#include "blockdev/base/list.h"
#include "blockdev/core/queue.h"
#include "blockdev/include/copy.h"

#define COPY_SECTOR 512u
#define COPY_BUFFER (2u << 20)
#define COPY_BATCH 64

enum copy_kind {
	COPY_DATA, /* read and write */
	COPY_ZERO, /* reads as zeros */
	COPY_KEEP, /* the target's backing file has it already */
	COPY_PACKED, /* one compressed cluster that the target takes as it is */
};

/* A range of the target of one kind; whole sectors. */
struct copy_run {
	uint64_t off, len; /* bytes */
	enum copy_kind kind;
	struct bd_node *layer;       /* COPY_PACKED: whose cluster it is */
	uint64_t host_off, host_len; /* COPY_PACKED: its payload, bytes of layer->data */
};

/* Walks the sources in order; remembers what it found, up to a bound, for the second walk. */
struct copy_scan {
	const struct bd_copy_args *args;
	uint64_t total;        /* bytes of all sources, each rounded up to whole sectors */
	uint64_t cluster;      /* compressed: bytes of a target cluster; else 0 */
	uint64_t piece;        /* bytes: the longest piece of data */
	uint64_t dst_backing;  /* bytes: where the target's backing file ends */
	uint64_t shown;        /* bytes: behind them a layer above args->base hides the base */
	unsigned src;          /* the source looked at last */
	uint64_t src_off;      /* where it starts in the target */
	struct bd_extent batch[COPY_BATCH]; /* its block status from batch[0].guest_off on */
	unsigned nr_batch;
	struct copy_run run;   /* the last run found */
	struct copy_run *kept; /* runs of the first walk; NULL: none */
	size_t nr_kept, room_kept, pos_kept;
	bool keeping, complete;
	bool cut;              /* clusters are missing: said already */
};

/* The source that holds target byte @off of @args; *start: where that source begins. */
unsigned bd_copy_source(const struct bd_copy_args *args, uint64_t off, uint64_t *start);
/* Bytes source @i takes in the target: its size in whole sectors. */
uint64_t bd_copy_source_len(const struct bd_copy_args *args, unsigned i);
int bd_copy_scan_init(struct copy_scan *scan, const struct bd_copy_args *args,
		      struct bd_error *err);
void bd_copy_scan_clear(struct copy_scan *scan);
/* The piece that starts at @off < total.  Ascending offsets only. */
int bd_copy_scan_next(struct copy_scan *scan, uint64_t off, struct copy_run *piece,
		      struct bd_error *err);
/* Walk everything, remember it, *bytes: how much of it must be copied. */
int bd_copy_scan_count(struct copy_scan *scan, uint64_t *bytes, struct bd_error *err);

struct copy_job;

/* A piece on its way: read, then written in one or several requests. */
struct copy_slot {
	struct link link;      /* on the job's list of idle or active slots */
	struct copy_job *job;
	struct copy_run run;
	uint8_t *buf;          /* run.len bytes, for COPY_DATA */
	uint64_t read_pos;     /* bytes whose reading has been asked for */
	uint64_t write_pos;    /* bytes whose writing has been asked for */
	unsigned reading, writing; /* requests in flight */
	int res;               /* first error */
	bool write_failed;     /* it came from a write */
	struct io_op op;       /* COPY_PACKED: reads the payload */
	struct iovec iov;
	struct bd_work work;   /* COPY_PACKED: inflates it to see that it is whole */
	int looked;            /* COPY_PACKED: what inflating said */
	bool all_zero;         /* COPY_PACKED: and what came out */
	size_t packed_len;     /* COPY_PACKED: bytes of the payload proper */
};

struct copy_job {
	const struct bd_copy_args *args;
	struct bd_queue *queue;
	struct copy_scan scan;
	struct copy_slot *slots;
	unsigned nr_slots;
	struct link idle;      /* slots without work */
	struct link active;    /* slots being read or written, ascending */
	struct link draining;  /* slots whose last write is on its way */
	unsigned in_flight;    /* requests */
	unsigned idle_turns;   /* turns of the loop with nothing in flight */
	uint64_t next;         /* target byte the next slot starts at */
	uint64_t done, total;  /* bytes, for progress: taken up, and to be copied */
	uint64_t dst_size;     /* bytes */
	uint64_t align;        /* sectors, a power of two: holes start and end on it */
	uint64_t cluster;      /* bytes of a target cluster; 0: none, or order does not matter */
	struct bd_request *last; /* the write issued last, while it is in flight */
	uint64_t last_end;     /* where it ends */
	uint64_t rate_ns;      /* when the next byte may be written; monotonic */
	bool offload;          /* try bd_copy_offload(); off after the first failure */
	int res;               /* first error of all slots */
	uint64_t res_off;      /* of the slot with that error */
	bool res_write;        /* it was a write */
};

/*
 * Write out what is left of @slot.  1: all requests are on their way, 0: call again later
 * (no free request, or the rate limit), negative errno.
 */
int bd_copy_write(struct copy_slot *slot);
/* Does the target take @ext of a source, at byte @off of the target, as it is? */
bool bd_copy_passes(const struct copy_scan *scan, const struct bd_extent *ext, uint64_t off);
/* Start to read the payload of @slot's cluster, and to look at it if that is wanted. */
void bd_copy_read_packed(struct copy_slot *slot);
/*
 * Copy from @off on inside the host.  Bytes copied; 0: read and write *len, which may have become
 * less, and if that cannot be helped all that follows.
 */
uint64_t bd_copy_offload(struct copy_job *job, uint64_t off, uint64_t *len);
/* Is the slot's piece one that counts for progress? */
bool bd_copy_counts(const struct bd_copy_args *args, enum copy_kind kind);
/* Nothing to write at all for a piece of this kind. */
bool bd_copy_skips(const struct bd_copy_args *args, enum copy_kind kind);
/* Nanoseconds of a clock that never goes back. */
uint64_t bd_copy_now(void);

#endif
