/* SPDX-License-Identifier: MIT */
/* Run-time options of an opened image.  Like: QEMU's qcow2 open options. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/cleanup.h"
#include "blockdev/base/opts_take.h"
#include "blockdev/core/open.h"
#include "blockdev/format/qcow2/header.h"

enum { DEFAULT_CLEAN_INTERVAL = 600 };

static const struct { const char *name; unsigned set; } templates[] = {
	{ "none", 0 },
	{ "constant", QCOW2_OL_CONSTANT },
	{ "cached", QCOW2_OL_CACHED },
	{ "all", QCOW2_OL_ALL },
};

static const struct { const char *key; unsigned bit; } overlaps[] = {
	{ "overlap-check.main-header", QCOW2_OL_MAIN_HEADER },
	{ "overlap-check.active-l1", QCOW2_OL_ACTIVE_L1 },
	{ "overlap-check.active-l2", QCOW2_OL_ACTIVE_L2 },
	{ "overlap-check.refcount-block", QCOW2_OL_REFCOUNT_BLOCK },
	{ "overlap-check.refcount-table", QCOW2_OL_REFCOUNT_TABLE },
	{ "overlap-check.snapshot-table", QCOW2_OL_SNAPSHOT_TABLE },
	{ "overlap-check.inactive-l1", QCOW2_OL_INACTIVE_L1 },
	{ "overlap-check.inactive-l2", QCOW2_OL_INACTIVE_L2 },
	{ "overlap-check.bitmap-directory", QCOW2_OL_BITMAP_DIRECTORY },
};

static int find_template(const char *name, unsigned *set, struct bd_error *err)
{
	for (size_t i = 0; i < sizeof(templates) / sizeof(templates[0]); i++) {
		if (strcmp(name, templates[i].name))
			continue;
		*set = templates[i].set;
		return 0;
	}
	return bd_fail(err, -EINVAL, "Unsupported value '%s' for qcow2 option 'overlap-check'. "
		       "Allowed are any of the following: none, constant, cached, all", name);
}

static int take_overlap(struct qcow2 *q, struct bd_opts *opts, struct bd_error *err)
{
	__cleanup(free) char *plain = bd_opts_take(opts, "overlap-check");
	__cleanup(free) char *template = bd_opts_take(opts, "overlap-check.template");
	const char *name = plain ? plain : template ? template : "cached";
	int ret;

	if (plain && template && strcmp(plain, template))
		return bd_fail(err, -EINVAL, "Conflicting values for qcow2 options "
			       "'overlap-check' ('%s') and 'overlap-check.template' ('%s')",
			       plain, template);
	ret = find_template(name, &q->overlap_check, err);
	for (size_t i = 0; ret == 0 && i < sizeof(overlaps) / sizeof(overlaps[0]); i++) {
		bool on = q->overlap_check & overlaps[i].bit;

		ret = bd_opts_take_bool(opts, overlaps[i].key, &on, err);
		q->overlap_check &= ~overlaps[i].bit;
		if (on)
			q->overlap_check |= overlaps[i].bit;
	}
	return ret;
}

static int take_discard(struct qcow2 *q, struct bd_opts *opts, struct bd_error *err)
{
	int ret;

	q->discard_passthrough[0] = q->node->flags & BD_O_UNMAP;
	q->discard_passthrough[1] = true;
	if ((ret = bd_opts_take_bool(opts, "pass-discard-request", &q->discard_passthrough[0],
				     err)) < 0 ||
	    (ret = bd_opts_take_bool(opts, "pass-discard-snapshot", &q->discard_passthrough[1],
				     err)) < 0 ||
	    (ret = bd_opts_take_bool(opts, "pass-discard-other", &q->discard_passthrough[2],
				     err)) < 0 ||
	    (ret = bd_opts_take_bool(opts, "discard-no-unref", &q->discard_no_unref, err)) < 0)
		return ret;
	if (q->discard_no_unref && q->version < 3)
		return bd_fail(err, -EINVAL,
			       "discard-no-unref is only supported since qcow2 version 3");
	return 0;
}

static int take_caches(struct qcow2 *q, struct bd_opts *opts, struct bd_error *err)
{
	uint64_t interval = DEFAULT_CLEAN_INTERVAL;
	bool given;
	int ret = qcow2_cache_sizes(q, opts, err);

	if (ret < 0)
		return ret;
	ret = bd_opts_take_number(opts, "cache-clean-interval", &interval, &given, err);
	if (ret < 0)
		return ret;
	if (interval > UINT_MAX)
		return bd_fail(err, -EINVAL, "Cache clean interval too big");
	q->cache_clean_interval = (uint32_t)interval;
	q->l2_cache_file = bd_opts_take(opts, "l2-cache-file");
	ret = bd_opts_take_bool(opts, "no-l2-cache", &q->no_l2_cache, err);
	return ret < 0 ? ret : bd_opts_take_bool(opts, "no-extents", &q->no_extents, err);
}

int qcow2_options_take(struct qcow2 *q, struct bd_error *err)
{
	struct bd_opts *opts = q->node->opts;
	bool lazy = q->compatible & QCOW2_COMPAT_LAZY_REFCOUNTS;
	int ret = take_caches(q, opts, err);

	if (ret == 0)
		ret = bd_opts_take_bool(opts, "lazy-refcounts", &lazy, err);
	if (ret < 0)
		return ret;
	if (lazy && q->version < 3)
		return bd_fail(err, -EINVAL, "Lazy refcounts require a qcow2 image with at least "
					     "qemu 1.1 compatibility level");
	q->lazy_refcounts = lazy;
	ret = take_overlap(q, opts, err);
	return ret < 0 ? ret : take_discard(q, opts, err);
}
