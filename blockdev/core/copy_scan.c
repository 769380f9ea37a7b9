/* SPDX-License-Identifier: MIT */
/* What of the sources must be copied: walks block status and cuts it into pieces. */
#include "blockdev/core/copy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/bits.h"

enum { MAX_KEPT = 65536, BATCH = 64 };

uint64_t bd_copy_source_len(const struct bd_copy_args *args, unsigned i)
{
	return round_up(bd_size(args->src[i]), COPY_SECTOR);
}

unsigned bd_copy_source(const struct bd_copy_args *args, uint64_t off, uint64_t *start)
{
	unsigned i = 0;

	*start = 0;
	while (i + 1 < args->nr_src && off - *start >= bd_copy_source_len(args, i))
		*start += bd_copy_source_len(args, i++);
	return i;
}

bool bd_copy_counts(const struct bd_copy_args *args, enum copy_kind kind)
{
	return kind == COPY_DATA || (kind == COPY_ZERO && !args->sparse_size);
}

bool bd_copy_skips(const struct bd_copy_args *args, enum copy_kind kind)
{
	return kind == COPY_KEEP ||
	       (kind == COPY_ZERO && args->sparse_size && args->dst_is_zero);
}

int bd_copy_scan_init(struct copy_scan *scan, const struct bd_copy_args *args,
		      struct bd_error *err)
{
	struct bd_node *backing = bd_backing(args->dst);

	*scan = (struct copy_scan){
		.args = args,
		.piece = COPY_BUFFER,
		.dst_backing = args->keep_backing && backing ? bd_size(backing) : UINT64_MAX,
	};
	for (unsigned i = 0; i < args->nr_src; i++) {
		if (bd_size(args->src[i]) > INT64_MAX - COPY_SECTOR ||
		    !checked_add(scan->total, bd_copy_source_len(args, i), &scan->total) ||
		    scan->total > INT64_MAX)
			return bd_fail(err, -EFBIG, "the sources are too large together");
	}
	if (args->compress) {
		scan->cluster = bd_cluster_size(args->dst);
		if (scan->cluster < COPY_SECTOR || scan->cluster > COPY_BUFFER ||
		    !is_pow2(scan->cluster))
			return bd_fail(err, -EINVAL, "invalid cluster size");
	}
	return 0;
}

void bd_copy_scan_clear(struct copy_scan *scan)
{
	free(scan->kept);
	scan->kept = NULL;
}

static enum copy_kind extent_kind(const struct copy_scan *scan, const struct bd_extent *ext)
{
	if (ext->kind == BD_ZERO || (ext->flags & BD_EXTENT_SPARSE))
		return COPY_ZERO;
	if (ext->kind == BD_UNALLOCATED)
		return scan->args->keep_backing ? COPY_KEEP : COPY_ZERO;
	return COPY_DATA;
}

/* Allocation of @node, as much of it as counts; with salvage, ask for less and less. */
static int map_source(struct copy_scan *scan, uint64_t off, uint64_t len, struct bd_extent *ext,
		      struct bd_error *err)
{
	struct bd_node *node = scan->args->src[scan->src];
	struct bd_node *base = scan->args->keep_backing ? bd_backing(node) : NULL;
	char line[160];
	int nr;

	/* Behind the end of its backing file a layer reads as zeros, and says so. */
	if (base && off < bd_size(base))
		len = min_u64(len, bd_size(base) - off);
	for (;;) {
		if (scan->args->keep_backing)
			nr = bd_map_above(node, base, off, len, ext, BATCH);
		else
			nr = bd_map(node, off, len, ext, BATCH);
		if (nr > 0)
			return nr;
		if (!scan->args->salvage)
			return bd_fail_errno(err, nr ? nr : -EIO,
					     "error while reading block status at offset %" PRIu64,
					     off);
		if (len <= COPY_SECTOR)
			break;
		len = round_up(div_up(len, 4), COPY_SECTOR);
	}
	if (scan->args->warn) {
		snprintf(line, sizeof(line),
			 "error while reading block status at offset %" PRIu64 ": %s", off,
			 strerror(-nr));
		scan->args->warn(line, scan->args->user);
	}
	ext[0] = (struct bd_extent){ .guest_off = off, .len = len, .kind = BD_DATA };
	return 1;
}

/* Find the run that starts at @off: one source, one kind, as long as one batch shows. */
static int find_run(struct copy_scan *scan, uint64_t off, struct bd_error *err)
{
	struct bd_extent ext[BATCH];
	struct bd_node *node;
	uint64_t src_end, size, len = 0;
	enum copy_kind kind;
	int nr;

	scan->src = bd_copy_source(scan->args, off, &scan->src_off);
	node = scan->args->src[scan->src];
	size = bd_size(node);
	src_end = scan->src_off + bd_copy_source_len(scan->args, scan->src);
	if (off - scan->src_off >= size) {
		/* Less than a sector behind an odd end. */
		scan->run = (struct copy_run){ off, src_end - off, COPY_ZERO };
		return 0;
	}
	nr = map_source(scan, off - scan->src_off, size - (off - scan->src_off), ext, err);
	if (nr < 0)
		return nr;
	kind = extent_kind(scan, &ext[0]);
	if (kind == COPY_KEEP && bd_backing(node) &&
	    off - scan->src_off >= bd_size(bd_backing(node)))
		kind = COPY_ZERO;
	for (int i = 0; i < nr && (i == 0 || extent_kind(scan, &ext[i]) == kind); i++)
		len += ext[i].len;
	/* Whole sectors; the last one may end behind the source. */
	len = min_u64(round_up(len, COPY_SECTOR), src_end - off);
	scan->run = (struct copy_run){ off, len, kind };
	return 0;
}

static int keep_run(struct copy_scan *scan)
{
	struct copy_run *last = scan->nr_kept ? &scan->kept[scan->nr_kept - 1] : NULL;

	if (last && last->kind == scan->run.kind && last->off + last->len == scan->run.off) {
		last->len += scan->run.len;
		return 0;
	}
	if (scan->nr_kept == MAX_KEPT) {
		scan->keeping = false;
		return 0;
	}
	if (!(scan->nr_kept & (scan->nr_kept - 1))) {
		size_t room = scan->nr_kept ? scan->nr_kept * 2 : 64;
		struct copy_run *more;

		if (scan->nr_kept < 64 && scan->kept)
			goto add;
		more = realloc(scan->kept, room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		scan->kept = more;
	}
add:
	scan->kept[scan->nr_kept++] = scan->run;
	return 0;
}

/* Make scan->run cover @off. */
static int run_at(struct copy_scan *scan, uint64_t off, struct bd_error *err)
{
	if (scan->run.len && off >= scan->run.off && off - scan->run.off < scan->run.len)
		return 0;
	if (scan->complete) {
		while (off - scan->kept[scan->pos_kept].off >= scan->kept[scan->pos_kept].len)
			scan->pos_kept++;
		scan->run = scan->kept[scan->pos_kept];
		return 0;
	}
	return find_run(scan, off, err);
}

/* Compressed clusters are whole: a shorter run makes its cluster data. */
static void whole_clusters(const struct copy_scan *scan, struct copy_run *piece)
{
	uint64_t left = scan->total - piece->off;

	if (piece->len < scan->cluster) {
		piece->len = min_u64(scan->cluster, left);
		piece->kind = COPY_DATA;
	} else {
		piece->len = round_down(piece->len, scan->cluster);
	}
}

int bd_copy_scan_next(struct copy_scan *scan, uint64_t off, struct copy_run *piece,
		      struct bd_error *err)
{
	int ret = run_at(scan, off, err);

	if (ret < 0)
		return ret;
	*piece = scan->run;
	piece->len -= off - piece->off;
	piece->off = off;
	/* Zeros behind the end of the target's backing file need not be written. */
	if (off < scan->dst_backing)
		piece->len = min_u64(piece->len, scan->dst_backing - off);
	else if (piece->kind == COPY_ZERO)
		piece->kind = COPY_KEEP;
	if (bd_copy_counts(scan->args, piece->kind))
		piece->len = min_u64(piece->len, scan->piece);
	if (scan->cluster)
		whole_clusters(scan, piece);
	return 0;
}

int bd_copy_scan_count(struct copy_scan *scan, uint64_t *bytes, struct bd_error *err)
{
	struct copy_run piece;
	uint64_t off = 0;
	int ret;

	*bytes = 0;
	scan->keeping = true;
	while (off < scan->total) {
		if (scan->args->cancel && *scan->args->cancel)
			return bd_fail(err, -ECANCELED, "interrupted");
		ret = bd_copy_scan_next(scan, off, &piece, err);
		if (ret < 0)
			return ret;
		if (scan->keeping && (off == scan->run.off || !scan->nr_kept)) {
			ret = keep_run(scan);
			if (ret < 0)
				return bd_fail_errno(err, ret, "Could not copy");
		}
		if (bd_copy_counts(scan->args, piece.kind))
			*bytes += piece.len;
		off += piece.len;
	}
	scan->complete = scan->keeping && scan->nr_kept;
	scan->run.len = 0;
	return 0;
}
