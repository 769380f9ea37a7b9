/* SPDX-License-Identifier: MIT */
/*
 * The engine's front door: queues, images, requests.
 *
 * A queue belongs to one thread; so does every image opened on it.  Requests complete only inside
 * bd_queue_poll().  Functions with a struct bd_error block (control plane); bd_read() and its
 * kind do not (data plane).
 */
#ifndef BD_BLOCKDEV_H
#define BD_BLOCKDEV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "blockdev/include/error.h"
#include "blockdev/include/extent.h"
#include "blockdev/include/options.h"

struct bd_queue;
struct bd_node;

/* --- queue ------------------------------------------------------------------------------- */

/*
 * Make a queue.
 * @engine: "io_uring", "native", "threads", "sync", "mmap", or NULL: the fastest that works.
 * @depth: requests that may be in flight at once, 1..4096.
 * -EINVAL: unknown engine; -ENOTSUP: the engine is not in this build or forbidden by the kernel.
 */
int bd_queue_new(const char *engine, unsigned depth, struct bd_queue **out, struct bd_error *err);
void bd_queue_free(struct bd_queue *queue); /* after every image on it is closed */
/*
 * Submit everything that is ready and run the callbacks of what has finished.
 * @wait: sleep until at least one operation has finished (returns at once if none is in flight).
 * Returns the number of operations that finished, or a negative errno of the engine.
 */
int bd_queue_poll(struct bd_queue *queue, bool wait);
const char *bd_queue_engine(const struct bd_queue *queue); /* name of the engine in use */

/* CPU work on a thread, completed through the queue like I/O.  Caller's memory until done(). */
struct bd_work {
	void (*run)(struct bd_work *work);  /* on a worker thread: touches only its own memory */
	void (*done)(struct bd_work *work); /* on the queue's thread, inside bd_queue_poll() */
	struct bd_work *next;               /* the queue's */
	void *queue;                        /* the queue's */
};
void bd_work_submit(struct bd_queue *queue, struct bd_work *work);

/* --- images ------------------------------------------------------------------------------ */

enum {
	BD_O_RDWR = 1 << 0,
	BD_O_NO_BACKING = 1 << 1,   /* open this layer only */
	BD_O_NO_IO = 1 << 2,        /* guest data are not wanted: no key, no data file */
	BD_O_FORCE_SHARE = 1 << 3,  /* -U: demand no lock */
	BD_O_UNMAP = 1 << 4,        /* discard=unmap */
	BD_O_CHECK = 1 << 5,        /* tolerate what a repair can mend */
	BD_O_RESIZE = 1 << 6,       /* the resize permission is wanted */
	BD_O_DIRECT = 1 << 7,       /* O_DIRECT */
	BD_O_WRITETHROUGH = 1 << 8, /* flush after each write */
	BD_O_NO_FLUSH = 1 << 9,     /* ignore flushes */
	BD_O_SHARE_NO_WRITE = 1 << 10, /* refuse a concurrent writer (convert's source) */
	BD_O_DETECT_ZEROES = 1 << 12, /* writes of zero bytes become write-zeroes */
	BD_O_DETECT_UNMAP = 1 << 13,  /* these may give host clusters back */
	BD_O_NO_FOLLOW = 1 << 11,   /* never open a second file named by an image */
	/*
	 * Guest data are not read or written: a data file that an image names is not opened.  One
	 * that the options name is.  Requests fail with -EBADF.
	 */
	BD_O_NO_DATA = 1 << 15,
	BD_O_NATIVE_AIO = 1 << 14,  /* aio=native was asked for: refused without BD_O_DIRECT */
};

struct bd_open_args {
	const char *filename;        /* NULL: the options name it */
	const char *format;          /* NULL: probe */
	const struct bd_opts *opts;  /* more options ("l2-cache-size"...), or NULL; borrowed */
	unsigned flags;              /* BD_O_* */
};

/*
 * Parse a cache mode into BD_O_DIRECT, BD_O_WRITETHROUGH and BD_O_NO_FLUSH (set and cleared in
 * @flags).  -EINVAL: unknown mode.  Like: qemu-img -t and -T.
 */
int bd_cache_mode(const char *mode, unsigned *flags);

/* Open an image and its backing chain.  Blocks.  On failure *out is NULL. */
int bd_open(struct bd_queue *queue, const struct bd_open_args *args, struct bd_node **out,
	    struct bd_error *err);
/*
 * Write back what is dirty, close the chain, unlock.  The node is gone even on failure; the
 * result is the first error.  Blocks.
 */
int bd_close(struct bd_node *node);

uint64_t bd_size(const struct bd_node *node);          /* guest bytes */
const char *bd_format_name(const struct bd_node *node);
const char *bd_filename(const struct bd_node *node);   /* as given, or json:{...} */
/* Name of the file the layer's guest data are in: another one if it has an external data file. */
const char *bd_data_filename(const struct bd_node *node);
struct bd_node *bd_backing(const struct bd_node *node); /* next layer, borrowed; NULL: none */
struct bd_queue *bd_node_queue(const struct bd_node *node);
bool bd_probed(const struct bd_node *node);            /* the format was guessed */
uint32_t bd_cluster_size(const struct bd_node *node);  /* bytes; 0: the format has none */
bool bd_can_compress(const struct bd_node *node);
/*
 * How clusters written to @node are compressed.  @level: 0 for the default; @small_window: deflate
 * looks back 4 KiB at most, for the strictest readers.  -EINVAL: not with this image.
 */
int bd_set_compression(struct bd_node *node, unsigned level, bool small_window,
		       struct bd_error *err);
uint32_t bd_request_align(const struct bd_node *node); /* bytes, 1 or 512..4096 */
/* All bytes read as zero right after creation: convert need not write zeros. */
bool bd_zero_init(const struct bd_node *node);
bool bd_encrypted(const struct bd_node *node);         /* guest data are cipher text */
/* Resize the guest disk.  @prealloc: "off", "metadata", "falloc", "full".  Blocks. */
int bd_resize(struct bd_node *node, uint64_t size, const char *prealloc, bool shrink,
	      struct bd_error *err);
/* Names of all drivers a user may give, in alphabetic order: the one after @after; NULL: none. */
const char *bd_format_next(const char *after);
/* Does a format of that name exist here; *create: can it be created. */
bool bd_format_known(const char *name, bool *create);
/* Where lines about damage found at run time go; default: standard error. */
void bd_set_report(void (*report)(const char *line, void *user), void *user);
/*
 * Call @told on the thread of @node's queue for the first damage found in its image.  @fatal: it is
 * marked corrupt and not written any more.  Like: QEMU's BLOCK_IMAGE_CORRUPTED.
 */
void bd_set_damage(void (*told)(const struct bd_node *node, const char *what, bool fatal,
				void *user), void *user);

/* --- requests ---------------------------------------------------------------------------- */

/* One guest request.  Borrowed from its queue's pool between _get and _put. */
struct bd_request {
	struct bd_node *node;
	uint64_t off, len;      /* guest bytes; all of it inside the disk */
	struct iovec *iov;      /* @len bytes in all; the caller's until done() */
	int niov;
	void (*done)(struct bd_request *req); /* may submit again, may put the request */
	void *user;
	int res;                /* out: 0 or the first negative errno */
	unsigned flags;         /* BD_REQ_* */
	struct iovec one;       /* room for a request with a single buffer */
};
enum {
	BD_REQ_FUA = 1,         /* on stable storage before done() */
	BD_REQ_UNMAP = 2,       /* zero: may give host clusters back */
	BD_REQ_NO_FALLBACK = 4, /* zero: -ENOTSUP instead of writing zero bytes */
	BD_REQ_PACKED = 8,      /* compressed write: the data are packed already */
};

/* A request from the pool; NULL: all in use (poll, then ask again). */
struct bd_request *bd_request_get(struct bd_queue *queue);
void bd_request_put(struct bd_request *req);

/* Start a request.  Never blocks, never calls done() itself. */
void bd_read(struct bd_request *req);
void bd_write(struct bd_request *req);
/*
 * One whole cluster (or the disk's tail); -ENOTSUP where the format has no compression.  With
 * BD_REQ_PACKED the vectors hold its payload, which a cluster of the same packing gave.
 */
void bd_write_compressed(struct bd_request *req);
void bd_write_zeroes(struct bd_request *req); /* no iov */
void bd_discard(struct bd_request *req);      /* no iov; a hint */
void bd_flush(struct bd_request *req);        /* off, len, iov ignored */

/* The same, blocking: 0 or a negative errno.  Top level only, not from a done() callback. */
int bd_pread(struct bd_node *node, uint64_t off, void *buf, size_t len);
int bd_pwrite(struct bd_node *node, uint64_t off, const void *buf, size_t len);
/* One whole cluster, or the disk's tail. */
int bd_pwrite_compressed(struct bd_node *node, uint64_t off, const void *buf, size_t len);
int bd_pwrite_zeroes(struct bd_node *node, uint64_t off, uint64_t len, unsigned req_flags);
int bd_pdiscard(struct bd_node *node, uint64_t off, uint64_t len);
int bd_sync(struct bd_node *node);

/*
 * Describe what a guest range is, across the whole chain.
 * @off, @len: guest bytes, inside the disk; @len > 0.
 * @ext: room for @max extents, filled in ascending order without gaps; may stop before the end.
 * Returns their number (>= 1); -EIO: corrupt or unreadable metadata.
 * Blocks.  Not from a done() callback.
 * Spec: cluster-mapping.  Like: qemu-img map.
 */
int bd_map(struct bd_node *node, uint64_t off, uint64_t len, struct bd_extent *ext, unsigned max);
/* As bd_map(), but only the layers from @node down to, not including, @base (NULL: all). */
int bd_map_above(struct bd_node *node, struct bd_node *base, uint64_t off, uint64_t len,
		 struct bd_extent *ext, unsigned max);

/* --- statistics -------------------------------------------------------------------------- */

struct bd_cache_stats {
	uint64_t hits, misses, evictions, cleaned, loading; /* slots; loading: in flight now */
	uint64_t bytes, max_bytes;                          /* memory in use now / at most */
	uint64_t writes;                                    /* tables written back */
	uint64_t file_hits, file_stores;                    /* l2-cache-file */
};
struct bd_stats {
	struct bd_cache_stats l2, refcount;
	uint64_t syscalls, ops;          /* of the queue: kernel entries, operations completed */
	uint64_t cow_bytes, inflated;    /* bytes copied on write; clusters decompressed */
	uint64_t meta_writes, barriers;  /* metadata writes, flushes sent to the file */
};
/* Counters of @node and its queue since they were opened. */
void bd_stats_get(const struct bd_node *node, struct bd_stats *stats);

#endif
