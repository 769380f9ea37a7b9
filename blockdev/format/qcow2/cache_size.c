/* SPDX-License-Identifier: MIT */
/* How much memory both caches get.  Like: QEMU's arithmetic, step by step. */
#include <errno.h>
#include <limits.h>

#include "blockdev/base/bits.h"
#include "blockdev/base/opts_take.h"
#include "blockdev/core/open.h"
#include "blockdev/format/qcow2/header.h"

enum { MIN_L2_TABLES = 2, MIN_REFBLOCKS = 4, SMALL_SLICE = 4096 };

#define DEFAULT_L2_MAX (UINT64_C(32) << 20)

struct sizes {
	uint64_t total, l2, refcount, slice; /* bytes */
	bool has_total, has_l2, has_refcount, has_slice;
	uint64_t l2_whole;                   /* bytes that map the whole disk */
};

static int take(struct bd_opts *opts, struct sizes *s, struct bd_error *err)
{
	int ret;

	if ((ret = bd_opts_take_size(opts, "cache-size", &s->total, &s->has_total, err)) < 0 ||
	    (ret = bd_opts_take_size(opts, "l2-cache-size", &s->l2, &s->has_l2, err)) < 0 ||
	    (ret = bd_opts_take_size(opts, "refcount-cache-size", &s->refcount,
				     &s->has_refcount, err)) < 0 ||
	    (ret = bd_opts_take_size(opts, "l2-cache-entry-size", &s->slice, &s->has_slice,
				     err)) < 0)
		return ret;
	if (!s->has_total)
		return 0;
	if (s->has_l2 && s->has_refcount)
		return bd_fail(err, -EINVAL, "cache-size, l2-cache-size and refcount-cache-size "
					     "may not be set at the same time");
	if (s->has_l2 && s->l2 > s->total)
		return bd_fail(err, -EINVAL, "l2-cache-size may not exceed cache-size");
	if (s->has_refcount && s->refcount > s->total)
		return bd_fail(err, -EINVAL, "refcount-cache-size may not exceed cache-size");
	return 0;
}

/* Share s->total between the two caches. */
static void share(const struct qcow2 *q, struct sizes *s)
{
	uint64_t least = (uint64_t)MIN_REFBLOCKS * q->cluster_size;

	if (s->has_l2) {
		s->refcount = s->total - s->l2;
	} else if (s->has_refcount) {
		s->l2 = s->total - s->refcount;
	} else if (s->total >= s->l2_whole + least) {
		s->l2 = s->l2_whole;
		s->refcount = s->total - s->l2;
	} else {
		s->refcount = min_u64(s->total, least);
		s->l2 = s->total - s->refcount;
	}
}

int qcow2_cache_sizes(struct qcow2 *q, struct bd_opts *opts, struct bd_error *err)
{
	struct sizes s = { .l2 = DEFAULT_L2_MAX, .slice = q->cluster_size };
	uint64_t tables, blocks;
	int ret = take(opts, &s, err);

	if (ret < 0)
		return ret;
	s.l2_whole = round_up(div_up(q->node->size, q->cluster_size) * q->l2_entry_size,
			      q->cluster_size);
	s.l2 = min_u64(s.l2, s.l2_whole);
	if (s.has_total)
		share(q, &s);
	if (s.l2 < s.l2_whole && !s.has_slice)
		s.slice = min_u64(q->cluster_size, SMALL_SLICE);
	if (s.slice < 512 || s.slice > q->cluster_size || !is_pow2(s.slice))
		return bd_fail(err, -EINVAL, "L2 cache entry size must be a power of two between "
			       "%d and the cluster size (%u)", 512, q->cluster_size);
	tables = max_u64(s.l2 / s.slice, MIN_L2_TABLES);
	blocks = max_u64(s.refcount / q->cluster_size, MIN_REFBLOCKS);
	if (tables > INT_MAX)
		return bd_fail(err, -EINVAL, "L2 cache size too big");
	if (blocks > INT_MAX)
		return bd_fail(err, -EINVAL, "Refcount cache size too big");
	q->l2_slice_size = (uint32_t)s.slice;
	q->slice_bits = log2_floor(s.slice / q->l2_entry_size);
	q->l2_cache_size = tables * s.slice;
	q->refcount_cache_size = blocks * q->cluster_size;
	return 0;
}
