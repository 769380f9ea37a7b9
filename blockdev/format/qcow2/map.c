/* SPDX-License-Identifier: MIT */
/* Guest range to extents: one layer, as many clusters as one look finds, merged. */
#include <errno.h>
#include <stdio.h>

#include "blockdev/base/bits.h"
#include "blockdev/format/qcow2/entry.h"

/* Appends extents and joins them where kind and host bytes continue. */
struct builder {
	struct bd_extent *ext;
	unsigned nr, max;
	bool apart;             /* one extent for each cluster: what joining is measured by */
};

static bool joins(const struct bd_extent *a, const struct bd_extent *b)
{
	if (a->kind != b->kind || a->flags != b->flags || a->kind == BD_COMPRESSED)
		return false;
	return !(a->flags & BD_EXTENT_HAS_OFFSET) || a->host_off + a->len == b->host_off;
}

static bool add(struct builder *out, const struct bd_extent *ext)
{
	if (out->nr && !out->apart && joins(&out->ext[out->nr - 1], ext)) {
		out->ext[out->nr - 1].len += ext->len;
		return true;
	}
	if (out->nr == out->max)
		return false;
	out->ext[out->nr++] = *ext;
	return true;
}

/* Damage in the entry that maps guest @off; @what ends where the entry's place is told. */
static int bad_entry(const struct qcow2 *q, uint64_t off, const char *what)
{
	uint64_t table = q->l1[qcow2_l1_idx(q, off)] & QCOW2_OFFSET_MASK;
	uint64_t idx = (off >> q->cluster_bits) & ((UINT64_C(1) << q->l2_bits) - 1);

	return bd_corrupt(q->node, "%s (L2 offset: %#llx, L2 index: %#llx)", what,
			  (unsigned long long)table, (unsigned long long)idx);
}

/* Is @host where guest @off may lie? */
static int check_host(const struct qcow2 *q, uint64_t host, uint64_t off)
{
	char text[64];

	if (host & (q->cluster_size - 1)) {
		snprintf(text, sizeof(text), "Cluster allocation offset %#llx unaligned",
			 (unsigned long long)host);
		return bad_entry(q, off, text);
	}
	return qcow2_entry_external(q, host, off);
}

/* The extent of one (sub)cluster piece; -EIO: the entry is damaged. */
static int describe(const struct qcow2 *q, struct qcow2_entry entry, uint64_t off, uint64_t len,
		    struct bd_extent *ext)
{
	uint64_t in_cluster = off & (q->cluster_size - 1);
	enum qcow2_type type = qcow2_entry_type(q, entry,
						(unsigned)(in_cluster >> q->subcluster_bits));

	*ext = (struct bd_extent){.guest_off = off, .len = len, .node = q->node};
	if (type == QCOW2_UNALLOCATED)
		return 0; /* kind 0: BD_UNALLOCATED */
	if (type == QCOW2_UNALLOCATED_ALLOC) {
		/* The room it would have is told, as QEMU does. */
		ext->flags = BD_EXTENT_HAS_OFFSET;
		ext->host_off = qcow2_entry_host(entry) + in_cluster;
		return 0;
	}
	if (type == QCOW2_INVALID)
		return bad_entry(q, off, "Invalid cluster entry found ");
	if (type == QCOW2_COMPRESSED) {
		if (q->incompatible & QCOW2_INCOMPAT_DATA_FILE)
			return bad_entry(q, off, "Compressed cluster entry found in image with "
					 "external data file");
		ext->kind = BD_COMPRESSED;
		qcow2_entry_compressed(q, entry.l2, &ext->host_off, &ext->host_len);
		return 0;
	}
	if (type != QCOW2_NORMAL && q->version < 3)
		return bad_entry(q, off, "Zero cluster entry found in pre-v3 image");
	ext->kind = type == QCOW2_NORMAL ? BD_DATA : BD_ZERO;
	if (type == QCOW2_ZERO_PLAIN)
		return 0;
	ext->flags = BD_EXTENT_HAS_OFFSET;
	if (q->node->encrypted)
		ext->flags |= BD_EXTENT_ENCRYPTED;
	ext->host_off = qcow2_entry_host(entry) + in_cluster;
	return check_host(q, qcow2_entry_host(entry), off);
}

/* Without a table: one extent up to the end of what it would map. */
static int no_table(struct qcow2 *q, struct builder *out, uint64_t off, uint64_t end,
		    uint64_t *next)
{
	uint64_t span = UINT64_C(1) << (q->cluster_bits + q->l2_bits);
	struct bd_extent ext = {.guest_off = off, .kind = BD_UNALLOCATED, .node = q->node};

	*next = end - off > span ? round_down(off, span) + span
				 : min_u64(end, round_down(off, span) + span);
	ext.len = *next - off;
	return add(out, &ext);
}

/* All of [off, end) that @slice maps.  1: go on at *next; 0: no room; -EIO. */
static int from_slice(struct qcow2 *q, struct meta_slot *slice, struct builder *out, uint64_t off,
		      uint64_t end, uint64_t *next)
{
	uint64_t step = UINT64_C(1) << q->subcluster_bits;
	uint64_t slice_end = (off >> q->cluster_bits >> q->slice_bits) + 1;

	slice_end = slice_end << q->slice_bits << q->cluster_bits;
	end = min_u64(end, slice_end);
	while (off < end) {
		struct qcow2_entry entry = qcow2_entry_get(q, slice, qcow2_slice_idx(q, off));
		bool whole = entry.l2 & QCOW2_OFLAG_COMPRESSED;
		uint64_t unit = whole ? q->cluster_size : step;
		uint64_t stop = min_u64(end, round_down(off, unit) + unit);
		struct bd_extent ext;
		int ret = describe(q, entry, off, stop - off, &ext);

		if (ret < 0)
			return out->nr ? 0 : ret;
		if (!add(out, &ext))
			return 0;
		off = stop;
	}
	*next = off;
	return 1;
}

/* The L2 table of @off: its host offset, 0: none; -EIO: the L1 entry is damaged. */
static int table_of(struct qcow2 *q, uint64_t off, uint64_t *table)
{
	uint64_t idx = qcow2_l1_idx(q, off);
	uint64_t entry = idx < q->l1_size ? q->l1[idx] : 0;

	*table = entry & QCOW2_OFFSET_MASK;
	if (*table & (q->cluster_size - 1))
		return bd_corrupt(q->node, "L2 table offset %#llx unaligned (L1 index: "
				  "%#llx)", (unsigned long long)*table, (unsigned long long)idx);
	return 0;
}

int qcow2_map(struct bd_node *node, uint64_t off, uint64_t len, struct bd_extent *ext, unsigned max,
	      struct bd_wait *wait)
{
	struct qcow2 *q = qcow2_of(node);
	struct builder out = {.ext = ext, .max = max, .apart = q->no_extents};
	uint64_t end = off + len, table;

	while (off < end) {
		struct meta_slot *slice;
		int ret = table_of(q, off, &table);

		if (ret < 0)
			return out.nr ? (int)out.nr : ret;
		if (!table) {
			if (!no_table(q, &out, off, end, &off))
				break;
			continue;
		}
		/* What there is goes first: the next look will wait for the rest. */
		if (out.nr && wait && !metacache_has(q->l2_cache, qcow2_slice_off(q, table, off)))
			break;
		ret = metacache_get(q->l2_cache, qcow2_slice_off(q, table, off), wait, &slice);
		if (ret <= 0)
			return ret < 0 && out.nr ? (int)out.nr : ret;
		ret = from_slice(q, slice, &out, off, end, &off);
		if (ret < 0)
			return out.nr ? (int)out.nr : ret;
		if (ret == 0)
			break;
	}
	return (int)out.nr;
}
