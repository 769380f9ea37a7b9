/* SPDX-License-Identifier: MIT */
/*
 * What a format is to the core: four required functions, and optional groups.  A capability is the
 * presence of a group.  The core checks ranges, alignment and read-only; formats trust it.
 */
#ifndef BD_FORMAT_H
#define BD_FORMAT_H

#include "blockdev/core/metacache.h"
#include "blockdev/core/node.h"
#include "blockdev/include/bitmap.h"
#include "blockdev/include/check.h"
#include "blockdev/include/create.h"
#include "blockdev/include/info.h"
#include "blockdev/include/inspect.h"

enum bd_cap {
	BD_CAP_BACKING = 1,      /* images may have a backing file */
	BD_CAP_COMPRESS = 2,
	BD_CAP_BITMAPS = 4,
	BD_CAP_METADATA = 8,     /* keeps metadata in the file: no other writer, may grow */
};

/* Where a write goes.  A value; the format may use @priv. */
struct bd_plan {
	uint64_t guest_off, len;   /* in: the range wanted; out: @len may be shorter */
	uint64_t host_off;         /* out: where guest_off lies in the data file */
	uint32_t head, tail;       /* out: bytes before guest_off and behind its end to copy too */
	bool may_alloc;            /* in: no other write is in flight there; else -EBUSY */
	bool publish;              /* out: publish() must run when the data are written */
	uint64_t priv[4];          /* the format's between plan, publish and abort */
};

struct bd_write_ops {
	/*
	 * Decide where [guest_off, +len) goes.  Gather (may wait, changes nothing) then commit
	 * (never waits, all or nothing).  1: decided; 0: @wait will be resumed, call again;
	 * -EBUSY: clusters are needed but !may_alloc; -EAGAIN: slow() must run first; other
	 * negative errno.
	 */
	int (*plan)(struct bd_node *node, struct bd_plan *plan, struct bd_wait *wait);
	/* Data are in the file: make them visible.  1: done; 0: call again after @wait; -errno. */
	int (*publish)(struct bd_node *node, struct bd_plan *plan, struct bd_wait *wait);
	/* Data could not be written: give the clusters back.  Never fails; a leak at worst. */
	void (*abort)(struct bd_node *node, struct bd_plan *plan);
	/*
	 * Make [*off, *off + *len) zero, or discard it; *off and *len move past what is done.
	 * 1: a step done; 0: call again after @wait; -ENOTSUP: write zero bytes for the first
	 * *len bytes instead (shortened to that part); other negative errno.
	 */
	int (*zero)(struct bd_node *node, uint64_t *off, uint64_t *len, unsigned req_flags,
		    struct bd_wait *wait);
	int (*discard)(struct bd_node *node, uint64_t *off, uint64_t *len, struct bd_wait *wait);
	/* Room for @len compressed bytes of the cluster at plan->guest_off. */
	int (*plan_compressed)(struct bd_node *node, struct bd_plan *plan, uint32_t len,
			       struct bd_wait *wait);
	/*
	 * Make everything durable, host flush included.  1: done; 0: @wait is resumed when done
	 * (not called again); negative errno.  NULL: the core flushes the data file.
	 */
	int (*flush)(struct bd_node *node, struct bd_wait *wait);
	/* First write since open: set dirty marks, clear autoclear bits.  Blocking, drained. */
	int (*first_write)(struct bd_node *node, struct bd_error *err);
	/* A deep procedure asked for by plan (returning -EAGAIN): blocking, drained. */
	int (*slow)(struct bd_node *node);
};

struct bd_create_ops {
	const struct bd_option *options; /* ends with name == NULL */
	/* @opts: complete, size in bytes; *opts is consumed.  Creates and fills the file. */
	int (*create)(struct bd_queue *queue, const char *filename, struct bd_opts *opts,
		      struct bd_error *err);
	/* Optional: write an image front to back; see bd_stream(). */
	int (*stream)(const struct bd_stream_args *args, struct bd_error *err);
	int (*resize)(struct bd_node *node, uint64_t size, const char *prealloc, bool shrink,
		      struct bd_error *err);
	int (*measure)(struct bd_opts *opts, struct bd_node *src, struct bd_measure *out,
		       struct bd_error *err);
	const struct bd_option *amend_options; /* ends with name == NULL; NULL: no amend */
	/* @opts: what shall change, of the right types; used up. */
	int (*amend)(struct bd_node *node, struct bd_opts *opts, const struct bd_amend_args *args,
		     struct bd_error *err);
};

/* Internal snapshots; @idx: position in the list of bd_info_get().  Blocking, drained. */
struct bd_snapshot_ops {
	bool (*can)(const struct bd_node *node); /* may this image have snapshots */
	/* Its name, times and VM state are those of @info; the ID is chosen. */
	int (*create)(struct bd_node *node, const struct bd_snapshot_info *info,
		      struct bd_error *err);
	int (*apply)(struct bd_node *node, size_t idx, struct bd_error *err);
	int (*remove)(struct bd_node *node, size_t idx, struct bd_error *err);
	int (*load)(struct bd_node *node, size_t idx, struct bd_error *err);
	/* Read or write the state of a machine that is kept beside the disk. */
	int (*vmstate)(struct bd_node *node, uint64_t off, void *buf, size_t len, bool write);
};

/* Bits of one bitmap. */
struct bd_bits {
	uint64_t granularity;     /* bytes of the disk per bit */
	uint64_t disk;            /* bytes of the disk */
	uint64_t bytes;           /* of @bits */
	uint8_t *bits;            /* the first bit of a byte is its lowest; owned */
};

/* Persistent bitmaps.  Names are there, bitmaps consistent where it matters.  Blocking, drained. */
struct bd_bitmap_ops {
	bool (*can)(const struct bd_node *node); /* may this image have any */
	int (*list)(struct bd_node *node, struct bd_bitmap_info **list, size_t *nr,
		    struct bd_error *err);
	int (*add)(struct bd_node *node, const struct bd_bitmap_info *info, struct bd_error *err);
	int (*remove)(struct bd_node *node, const char *name, struct bd_error *err);
	int (*enable)(struct bd_node *node, const char *name, bool enabled, struct bd_error *err);
	int (*load)(struct bd_node *node, const char *name, struct bd_bits *bits,
		    struct bd_error *err);
	/* @bits NULL: all zero. */
	int (*store)(struct bd_node *node, const char *name, const struct bd_bits *bits,
		     struct bd_error *err);
};

/* Verbs of images in a backing chain.  Blocking, drained. */
struct bd_chain_ops {
	/* Store another backing name and format; NULL: none.  -ENOSPC: no room in the header. */
	int (*set_backing)(struct bd_node *node, const char *name, const char *format,
			   struct bd_error *err);
	/* This layer defines nothing any more. */
	int (*make_empty)(struct bd_node *node, struct bd_error *err);
	/* Opened to be read, to be written from now on: refuse or mend what open would have. */
	int (*make_writable)(struct bd_node *node, struct bd_error *err);
};

struct bd_format {
	const char *name;
	unsigned caps;          /* BD_CAP_* */
	size_t state_size;      /* bytes of node->state, zeroed by the core */

	int (*probe)(const uint8_t *head, size_t len); /* 0..100 */
	/* node->file and node->opts are set; take own keys out of node->opts, set node->size... */
	int (*open)(struct bd_node *node, struct bd_error *err);
	int (*close)(struct bd_node *node); /* writes back what is dirty; first error */
	/*
	 * Own layer only.  >= 1: extents; 0: @wait will be resumed, call again; negative errno.
	 * @wait == NULL: block.
	 */
	int (*map)(struct bd_node *node, uint64_t off, uint64_t len, struct bd_extent *ext,
		   unsigned max, struct bd_wait *wait);
	/* Optional: may DATA extents lie in holes of the file (preallocated metadata)?  Blocks. */
	bool (*holes_in_data)(struct bd_node *node);
	/* Optional: can @node be compressed with these (see bd_set_compression())? */
	int (*check_packing)(const struct bd_node *node, unsigned level, bool small_window,
			     struct bd_error *err);
	/* Can @b take compressed clusters of @a as they are?  NULL: no. */
	bool (*same_packing)(const struct bd_node *a, const struct bd_node *b);
	/*
	 * Runs on a worker thread.  Exactly @out_len bytes: returns how many of @in it took, or
	 * -EIO.  NULL: none.
	 */
	int (*inflate)(struct bd_node *node, const void *in, size_t in_len, void *out,
		       size_t out_len);
	/* Runs on a worker thread.  Bytes written to @out (room for @len - 1), 0: does not pay. */
	size_t (*deflate)(struct bd_node *node, const void *in, size_t len, void *out);

	const struct bd_write_ops *write;
	const struct bd_create_ops *create;
	const struct bd_snapshot_ops *snapshot; /* NULL: none */
	const struct bd_chain_ops *chain;       /* NULL: no backing files */
	const struct bd_bitmap_ops *bitmap;     /* NULL: none */
	int (*check)(struct bd_node *node, unsigned fix, struct bd_check *check,
		     struct bd_error *err);
	int (*info)(struct bd_node *node, struct bd_info *info, struct bd_error *err);
	void (*stats)(const struct bd_node *node, struct bd_stats *stats);
	/* bd_inspect() of args->node->file; -ENOTSUP without a text: not of this format. */
	int (*inspect)(const struct bd_inspect_args *args, struct json_t **out,
		       struct bd_error *err);
};

/* In probing order; NULL-terminated.  Defined in format/list.c. */
extern const struct bd_format *const bd_formats[];

/* The format whose probe() likes @head best. */
const struct bd_format *bd_format_probe(const uint8_t *head, size_t len);
const struct bd_format *bd_format_find(const char *name); /* NULL: unknown */

/*
 * Has @node an operation in flight of a request that began no later than number @seq
 * (node->seq then)?  Such a request may still use a mapping that was current at that time; wait on
 * node->grace and ask again.
 */
bool bd_reads_before(const struct bd_node *node, uint64_t seq);

/*
 * Damage met while running: prints "qcow2: Marking image as corrupt: ..." once through the
 * report sink, latches node->corrupt.  Returns -EIO.
 */
int bd_corrupt(struct bd_node *node, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Damage that harms nothing but itself: said once; the image stays in use. */
void bd_damage(struct bd_node *node, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
