/* SPDX-License-Identifier: MIT */
/* struct qcow2: one opened QCOW2 image, its geometry, and what its files offer one another. */
#ifndef QCOW2_H
#define QCOW2_H

#include "blockdev/base/list.h"
#include "blockdev/core/format.h"
#include "blockdev/core/metacache.h"
#include "blockdev/core/node.h"

/* An unknown header extension, kept for a rewrite of the header. */
struct qcow2_extension {
	uint32_t type, len;
	uint8_t *data;                /* owned */
};

/* One internal snapshot, as its table entry says.  Spec: snapshots. */
struct qcow2_snapshot {
	uint64_t l1_off;
	uint32_t l1_size;             /* entries */
	uint32_t date_sec, date_nsec;
	uint64_t vm_clock_ns, vm_state_size, disk_size, icount;
	uint32_t extra_len;           /* bytes of extra data in the entry */
	uint8_t *unknown_extra;       /* extra data behind the known fields; owned */
	uint32_t unknown_len;
	char *id, *name;              /* owned */
};

struct qcow2_bitmap_ext {
	uint32_t nr;
	uint64_t dir_size, dir_off;   /* bytes */
};

struct qcow2 {
	struct bd_node *node;
	bool started;                 /* qcow2_data_start() has run */

	/* header, host byte order.  Spec: header */
	uint32_t version;
	unsigned cluster_bits;
	uint32_t cluster_size;        /* bytes */
	uint64_t incompatible, compatible, autoclear;
	unsigned refcount_order;      /* width = 1 << order bits */
	uint32_t header_length;
	uint8_t compression_type;     /* 0 deflate, 1 zstd */
	uint32_t crypt_method;
	uint64_t backing_off;
	uint32_t backing_len;
	uint8_t *unknown_fields;      /* header bytes behind the known ones; owned */
	uint32_t unknown_fields_len;
	struct qcow2_extension *unknown_ext;
	size_t nr_unknown_ext;
	bool has_feature_table;
	struct qcow2_bitmap_ext bitmaps; /* nr == 0: none */
	struct qcow2_track *track;    /* bitmaps kept up to date; NULL: nothing written yet */
	uint64_t crypto_off, crypto_len; /* LUKS header; 0: none */
	struct qcow2_crypt *crypt;    /* crypt.c; NULL: not encrypted */
	char *data_file_name;         /* as stored; NULL: none */

	/* geometry */
	bool extended_l2;
	unsigned l2_entry_size;       /* bytes: 8, or 16 with extended L2 */
	unsigned l2_bits;             /* log2(entries of an L2 table) */
	unsigned slice_bits;          /* log2(entries of an L2 slice) */
	unsigned subcluster_bits;     /* == cluster_bits without extended L2 */
	unsigned nr_subclusters;      /* per cluster: 1 or 32 */
	uint64_t cluster_offset_mask; /* compressed entries */
	unsigned csize_shift;         /* compressed entries: position of the sector count */

	/* L1, whole in memory, host byte order.  Spec: cluster-mapping */
	uint64_t *l1;
	uint64_t l1_off;
	uint32_t l1_size;             /* entries as the header says */
	uint8_t *l1_dirty;            /* one flag per 512-byte sector of the table */
	bool l1_is_dirty;

	/* refcount table, whole in memory, host byte order.  Spec: refcounts */
	uint64_t *reftable;
	uint64_t reftable_off;
	uint32_t reftable_clusters;
	uint32_t reftable_size;       /* entries */
	uint8_t *reftable_dirty;      /* one flag per 512-byte sector */
	bool reftable_is_dirty;

	uint32_t nb_snapshots;
	uint64_t snapshots_off;
	uint64_t snapshots_size;      /* bytes of the table, once read */
	struct qcow2_snapshot *snapshots; /* nb_snapshots; NULL: not read (check mode) */

	/* run-time options.  Like: QEMU's qcow2 open options */
	bool lazy_refcounts;          /* in effect */
	bool discard_passthrough[3];  /* request, snapshot, other */
	bool discard_no_unref;
	unsigned overlap_check;       /* set of QCOW2_OL_* */
	struct qcow2_overlap *overlap; /* overlap.c; NULL: not gathered */
	uint64_t l2_cache_size, refcount_cache_size; /* bytes */
	uint32_t l2_slice_size;       /* bytes */
	uint32_t cache_clean_interval; /* seconds */
	char *l2_cache_file;          /* NULL: none */
	bool no_l2_cache;             /* base line of a bench: each use of a slice reads it */
	bool no_extents;              /* base line of a bench: a host operation for each cluster */

	struct metacache *l2_cache;   /* slices */
	struct metacache_file *l2_second; /* slices on disk; NULL: none */
	struct metacache *refcount_cache; /* refcount blocks */
	int8_t holes_in_data;         /* 0: not asked yet, 1: yes, -1: no */
	struct qcow2_alloc *alloc;    /* allocator and write-back round; alloc.c */
};

enum {
	QCOW2_OL_MAIN_HEADER = 1, QCOW2_OL_ACTIVE_L1 = 2, QCOW2_OL_ACTIVE_L2 = 4,
	QCOW2_OL_REFCOUNT_BLOCK = 8, QCOW2_OL_REFCOUNT_TABLE = 16, QCOW2_OL_SNAPSHOT_TABLE = 32,
	QCOW2_OL_INACTIVE_L1 = 64, QCOW2_OL_INACTIVE_L2 = 128, QCOW2_OL_BITMAP_DIRECTORY = 256,
	QCOW2_OL_CONSTANT = 1 | 2 | 16 | 32 | 256,
	QCOW2_OL_CACHED = QCOW2_OL_CONSTANT | 4 | 8 | 64,
	QCOW2_OL_ALL = QCOW2_OL_CACHED | 128,
};

enum {
	QCOW2_INCOMPAT_DIRTY = 1, QCOW2_INCOMPAT_CORRUPT = 2, QCOW2_INCOMPAT_DATA_FILE = 4,
	QCOW2_INCOMPAT_COMPRESSION = 8, QCOW2_INCOMPAT_EXTENDED_L2 = 16,
	QCOW2_COMPAT_LAZY_REFCOUNTS = 1,
	QCOW2_AUTOCLEAR_BITMAPS = 1, QCOW2_AUTOCLEAR_RAW_DATA = 2,
};

#define QCOW2_OFLAG_COPIED     (UINT64_C(1) << 63)
#define QCOW2_OFLAG_COMPRESSED (UINT64_C(1) << 62)
#define QCOW2_OFLAG_ZERO       UINT64_C(1)
#define QCOW2_OFFSET_MASK      UINT64_C(0x00fffffffffffe00)

static inline struct qcow2 *qcow2_of(const struct bd_node *node)
{
	return node->state;
}

/* --- control plane: header.c extension.c header_write.c open.c snapshot.c ------------------- */

int qcow2_open(struct bd_node *node, struct bd_error *err);
/* Write the whole header cluster again from @q.  Blocks. */
int qcow2_header_write(struct qcow2 *q);
/* Write only the three feature sets in place.  Blocks. */
int qcow2_header_write_features(struct qcow2 *q);
int qcow2_create(struct bd_queue *queue, const char *filename, struct bd_opts *opts,
		 struct bd_error *err);
int qcow2_measure(struct bd_opts *opts, struct bd_node *src, struct bd_measure *out,
		  struct bd_error *err);
/* What is mended when an image that was not closed is opened: the machine has to start again. */
#define QCOW2_FIX_DIRTY (BD_FIX_ERRORS | BD_FIX_LEAKS | BD_FIX_FORCE)
int qcow2_check(struct bd_node *node, unsigned fix, struct bd_check *check, struct bd_error *err);
int qcow2_info(struct bd_node *node, struct bd_info *info, struct bd_error *err);
extern const struct bd_option qcow2_create_options[];

/* --- data plane: entry.c map.c l1.c refcount.c alloc.c plan.c publish.c zero.c round.c ------ */

/*
 * Set up caches and allocator after the header is read (last step of open).  @q's cache sizes and
 * options are final.
 */
int qcow2_data_start(struct qcow2 *q, struct bd_error *err);
/* Write back, apply pending frees, clear the dirty bit; then free.  First error. */
int qcow2_data_stop(struct qcow2 *q);
int qcow2_map(struct bd_node *node, uint64_t off, uint64_t len, struct bd_extent *ext, unsigned max,
	      struct bd_wait *wait);
/* Are clearly more clusters counted than the host has allocated?  Answered once per open. */
bool qcow2_holes_in_data(struct bd_node *node);
int qcow2_check_packing(const struct bd_node *node, unsigned level, bool small_window,
			struct bd_error *err);
bool qcow2_same_packing(const struct bd_node *a, const struct bd_node *b);
int qcow2_inflate(struct bd_node *node, const void *in, size_t in_len, void *out, size_t out_len);
size_t qcow2_deflate(struct bd_node *node, const void *in, size_t len, void *out);
struct qcow2_prealloc {
	uint64_t old_len;             /* in: bytes of the file that may hold old content */
	bool space;                   /* in: the host's space is wanted, too */
	uint64_t end;                 /* raised to where the last of the new clusters ends */
};

/*
 * Blocking, drained: L2 tables and host clusters for all of guest range [off, off+len), which reads
 * as zeros then, but for encrypted images.
 */
int qcow2_preallocate(struct qcow2 *q, uint64_t off, uint64_t len, struct qcow2_prealloc *done,
		      struct bd_error *err);
/* Blocking, drained: contiguous clusters for @len bytes of metadata; counted after a flush. */
int qcow2_alloc_meta(struct qcow2 *q, uint64_t len, uint64_t *off);
/* Blocking, drained: drop one reference of each cluster; applied by the next round. */
int qcow2_free_meta(struct qcow2 *q, uint64_t off, uint64_t len);
/* Blocking, drained: write everything back; with pending frees applied. */
int qcow2_flush_all(struct qcow2 *q);
/* The same with one round: the counts of what it frees are lowered in memory. */
int qcow2_flush_once(struct qcow2 *q);
extern const struct bd_write_ops qcow2_write_ops;
void qcow2_stats(const struct bd_node *node, struct bd_stats *stats);

/* Entries of the L1 table that a disk of @size guest bytes needs. */
static inline uint64_t qcow2_l1_needed(const struct qcow2 *q, uint64_t size)
{
	unsigned shift = q->cluster_bits + q->l2_bits;

	return (size >> shift) + !!(size & ((UINT64_C(1) << shift) - 1));
}

/* Read count number @idx of a refcount block of width 1 << @order.  Spec: refcounts. */
uint64_t qcow2_refcount_get(const uint8_t *block, uint64_t idx, unsigned order);
void qcow2_refcount_set(uint8_t *block, uint64_t idx, unsigned order, uint64_t value);

#endif
