/* SPDX-License-Identifier: MIT */
/* What of the sources must be copied: walks block status and cuts it into pieces. */
#include "blockdev/core/copy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/bits.h"

enum { MAX_KEPT = 65536 };

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
	return kind == COPY_DATA || kind == COPY_PACKED ||
	       (kind == COPY_ZERO && !args->sparse_size);
}

bool bd_copy_skips(const struct bd_copy_args *args, enum copy_kind kind)
{
	return kind == COPY_KEEP ||
	       (kind == COPY_ZERO && args->sparse_size && args->dst_is_zero);
}

/* Behind the end of any layer between the source and the base there is nothing but zeros. */
static uint64_t shown_bytes(const struct bd_copy_args *args)
{
	uint64_t least = UINT64_MAX;

	if (!args->base)
		return least;
	for (struct bd_node *node = bd_backing(args->src[0]); node && node != args->base;
	     node = bd_backing(node))
		least = min_u64(least, bd_size(node));
	return least;
}

/* The layer whose contents the target shows already; its end, as seen from above. */
static struct bd_node *base_of(const struct copy_scan *scan, uint64_t *end)
{
	struct bd_node *base = scan->args->base ? scan->args->base
						: bd_backing(scan->args->src[scan->src]);

	*end = base ? min_u64(bd_size(base), scan->shown) : 0;
	return base;
}

int bd_copy_scan_init(struct copy_scan *scan, const struct bd_copy_args *args,
		      struct bd_error *err)
{
	struct bd_node *backing = bd_backing(args->dst);

	*scan = (struct copy_scan){
		.args = args,
		.piece = COPY_BUFFER,
		.dst_backing = UINT64_MAX,
		.shown = shown_bytes(args),
	};
	if (args->keep_backing && args->dst_is_new && backing)
		scan->dst_backing = bd_size(backing);
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

/* Clusters behind the end of the file: part of the image is missing.  Salvaged as zeros. */
static int check_cut(struct copy_scan *scan, struct bd_error *err)
{
	const struct bd_copy_args *args = scan->args;
	char line[160];

	for (unsigned i = 0; i < scan->nr_batch; i++) {
		const struct bd_extent *ext = &scan->batch[i];

		if (!(ext->flags & BD_EXTENT_CUT))
			continue;
		if (!args->salvage) {
			bd_fail_errno(err, -EIO, "error while reading at byte %" PRIu64,
				      scan->src_off + ext->guest_off);
			bd_hint(err, "'%s' ends before the place of that cluster: a part of the "
				     "image is missing.", bd_filename(ext->node));
			return -EIO;
		}
		if (args->warn && !scan->cut) {
			snprintf(line, sizeof(line), "clusters behind the end of the image file "
				 "are replaced by zeros, from offset %" PRIu64 " on",
				 ext->guest_off);
			args->warn(line, args->user);
		}
		scan->cut = true;
	}
	return 0;
}

/* Fill the batch from source byte @off on; with salvage, ask for less and less. */
static int map_batch(struct copy_scan *scan, uint64_t off, uint64_t len, struct bd_error *err)
{
	struct bd_node *node = scan->args->src[scan->src];
	uint64_t end;
	struct bd_node *base = base_of(scan, &end);
	char line[160];
	int nr;

	if (!scan->args->keep_backing)
		base = NULL;
	/* Behind the end of its backing file a layer reads as zeros, whatever it says. */
	if (base && off < end)
		len = min_u64(len, end - off);
	scan->nr_batch = 0;
	for (;;) {
		nr = bd_map_above(node, base, off, len, scan->batch, COPY_BATCH);
		if (nr > 0) {
			scan->nr_batch = (unsigned)nr;
			return check_cut(scan, err);
		}
		nr = nr ? nr : -EIO;
		if (!scan->args->salvage)
			return bd_fail_errno(err, nr,
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
	scan->batch[0] = (struct bd_extent){ .guest_off = off, .len = len, .kind = BD_DATA };
	scan->nr_batch = 1;
	return 0;
}

static enum copy_kind extent_kind(const struct copy_scan *scan, const struct bd_extent *ext)
{
	struct bd_node *base;
	uint64_t end;

	if (bd_copy_passes(scan, ext, scan->src_off + ext->guest_off))
		return COPY_PACKED;
	if (ext->kind == BD_ZERO || (ext->flags & (BD_EXTENT_SPARSE | BD_EXTENT_CUT)))
		return COPY_ZERO;
	if (ext->kind != BD_UNALLOCATED)
		return COPY_DATA;
	base = base_of(scan, &end);
	if (!scan->args->keep_backing || (base && ext->guest_off >= end))
		return COPY_ZERO;
	return COPY_KEEP;
}

/* The run at source byte @off that the batch shows; *open: it goes on behind the batch, maybe. */
static uint64_t run_in_batch(const struct copy_scan *scan, uint64_t off, struct copy_run *run,
			     bool *open)
{
	const struct bd_extent *ext = scan->batch, *end = ext + scan->nr_batch;
	uint64_t len;

	while (ext < end && off - ext->guest_off >= ext->len)
		ext++;
	if (ext == end)
		return 0;
	*run = (struct copy_run){.kind = extent_kind(scan, ext), .layer = ext->node,
				 .host_off = ext->host_off, .host_len = ext->host_len};
	len = ext->guest_off + ext->len - off;
	*open = false;
	if (run->kind == COPY_PACKED)
		return len;
	while (++ext < end && extent_kind(scan, ext) == run->kind)
		len += ext->len;
	*open = ext == end;
	return len;
}

/* Find the run that starts at @off: one source, one kind, as long as one batch shows. */
static int find_run(struct copy_scan *scan, uint64_t off, struct bd_error *err)
{
	uint64_t start, size, len = 0;
	struct copy_run run = {.kind = COPY_ZERO};
	unsigned src = bd_copy_source(scan->args, off, &start);
	bool open = true;

	if (src != scan->src)
		scan->nr_batch = 0;
	scan->src = src;
	scan->src_off = start;
	off -= start;
	size = bd_size(scan->args->src[src]);
	if (off >= size) {
		/* Less than a sector, behind an odd end. */
		len = bd_copy_source_len(scan->args, src) - off;
	} else {
		if (scan->nr_batch && off > scan->batch[0].guest_off)
			len = run_in_batch(scan, off, &run, &open);
		if (open) {
			int ret = map_batch(scan, off, size - off, err);

			if (ret < 0)
				return ret;
			len = run_in_batch(scan, off, &run, &open);
		}
		/* Whole sectors, of which the last may end behind the source. */
		len = round_up(len, COPY_SECTOR);
	}
	run.off = start + off;
	run.len = len;
	scan->run = run;
	return 0;
}

static int keep_run(struct copy_scan *scan)
{
	struct copy_run *last = scan->nr_kept ? &scan->kept[scan->nr_kept - 1] : NULL;

	if (last && last->kind == scan->run.kind && last->kind != COPY_PACKED &&
	    last->off + last->len == scan->run.off) {
		last->len += scan->run.len;
		return 0;
	}
	if (scan->nr_kept == MAX_KEPT) {
		scan->keeping = false;
		return 0;
	}
	if (scan->nr_kept == scan->room_kept) {
		size_t room = scan->room_kept ? scan->room_kept * 2 : 64;
		struct copy_run *more = realloc(scan->kept, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		scan->kept = more;
		scan->room_kept = room;
	}
	scan->kept[scan->nr_kept++] = scan->run;
	return 0;
}

/* Make scan->run cover @off. */
static int run_at(struct copy_scan *scan, uint64_t off, struct bd_error *err)
{
	int ret;

	if (scan->run.len && off >= scan->run.off && off - scan->run.off < scan->run.len)
		return 0;
	if (scan->complete) {
		while (off - scan->kept[scan->pos_kept].off >= scan->kept[scan->pos_kept].len)
			scan->pos_kept++;
		scan->run = scan->kept[scan->pos_kept];
		return 0;
	}
	ret = find_run(scan, off, err);
	if (ret == 0 && scan->keeping && keep_run(scan) < 0)
		return bd_fail_errno(err, -ENOMEM, "Could not copy");
	return ret;
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
		if (bd_copy_counts(scan->args, piece.kind))
			*bytes += piece.len;
		off += piece.len;
	}
	scan->complete = scan->keeping && scan->nr_kept;
	scan->keeping = false;
	scan->run.len = 0;
	scan->nr_batch = 0;
	return 0;
}
