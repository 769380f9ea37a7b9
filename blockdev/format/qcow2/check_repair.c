/* SPDX-License-Identifier: MIT */
/* Repair of refcounts in place, and the end of a repair. */
#include "blockdev/format/qcow2/check_repair.h"

#include <errno.h>

static void forget_caches(struct qcow2 *q)
{
	if (!q->started)
		return;
	metacache_empty(q->l2_cache);
	metacache_empty(q->refcount_cache);
}

/* Mend counts one by one.  The first comparison's findings are taken back: this one counts. */
static int repair_in_place(struct qcow2_checker *ck)
{
	int ret;

	if (!ck->res->leaks && !ck->res->corruptions)
		return 0;
	ck->res->leaks = ck->before.leaks;
	ck->res->corruptions = ck->before.corruptions;
	ret = qcow2_check_compare(ck, ck->fix);
	forget_caches(ck->q);
	return ret < 0 ? ret : io_pflush(ck->q->node->file);
}

/* After a rebuild: what is still wrong is counted anew, the rest has been mended. */
static int recount(struct qcow2_checker *ck, uint64_t old_corruptions, uint64_t old_leaks)
{
	struct bd_check *res = ck->res;
	int ret;

	res->allocated_clusters = res->fragmented_clusters = res->compressed_clusters = 0;
	res->corruptions = res->leaks = res->check_errors = 0;
	ck->rebuild = false;
	ret = qcow2_check_references(ck, true);
	if (ret == 0)
		ret = qcow2_check_compare(ck, 0);
	if (ret < 0)
		return ret;
	if (ck->rebuild) {
		qcow2_check_say(ck, "ERROR rebuilt refcount structure is still broken");
		return -EIO;
	}
	if (res->corruptions < old_corruptions)
		res->corruptions_fixed += old_corruptions - res->corruptions;
	if (res->leaks < old_leaks)
		res->leaks_fixed += old_leaks - res->leaks;
	return 0;
}

int qcow2_check_repair(struct qcow2_checker *ck)
{
	uint64_t corruptions = ck->res->corruptions, leaks = ck->res->leaks;
	int ret;

	if (qcow2_doubts_found(ck) && !(ck->fix & BD_FIX_FORCE)) {
		ck->fix = 0;
		return 0;
	}
	if (!ck->fix)
		return 0;
	if (!ck->rebuild)
		return repair_in_place(ck);
	if (!(ck->fix & BD_FIX_ERRORS)) {
		qcow2_check_say(ck, "ERROR need to rebuild refcount structures");
		return -EIO;
	}
	qcow2_check_say(ck, "Rebuilding refcount structure");
	ret = qcow2_check_rebuild(ck);
	forget_caches(ck->q);
	return ret < 0 ? ret : recount(ck, corruptions, leaks);
}

int qcow2_check_finish(struct qcow2_checker *ck, struct bd_error *err)
{
	const uint64_t marks = QCOW2_INCOMPAT_DIRTY | QCOW2_INCOMPAT_CORRUPT;
	struct qcow2 *q = ck->q;
	int ret;

	forget_caches(q);
	if (ck->res->check_errors || ck->res->corruptions)
		return 0;
	q->node->corrupt = q->node->dirty = false;
	if (!(q->incompatible & marks))
		return 0;
	/* What was mended is durable before the image is called clean. */
	ret = io_pflush(q->node->file);
	if (ret == 0) {
		q->incompatible &= ~marks;
		ret = qcow2_header_write_features(q);
	}
	if (ret == 0)
		ret = io_pflush(q->node->file);
	return ret < 0 ? bd_fail_errno(err, ret, "Could not mark the image as clean") : 0;
}
