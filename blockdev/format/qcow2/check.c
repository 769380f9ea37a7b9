/* SPDX-License-Identifier: MIT */
/* The consistency check: count every reference, compare with the counts on disk. */
#include "blockdev/format/qcow2/check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/format/qcow2/check_repair.h"

void qcow2_check_say(struct qcow2_checker *ck, const char *fmt, ...)
{
	char line[512];
	va_list args;

	if (!ck->res->report)
		return;
	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	ck->res->report(line, ck->res->user);
}

static int count_cluster(struct qcow2_checker *ck, uint64_t cluster, bool single)
{
	int ret = qcow2_counts_add(&ck->counts, cluster, single);

	ck->nr_clusters = max_u64(ck->nr_clusters, cluster + 1);
	if (ret != -ERANGE)
		return ret;
	ck->doubts.overflow = true;
	ck->res->corruptions++;
	qcow2_check_say(ck, "ERROR: overflow cluster offset=0x%llx",
			(unsigned long long)cluster << ck->q->cluster_bits);
	qcow2_check_say(ck, "Use qemu-img amend to increase the refcount entry width or qemu-img "
			"convert to create a clean copy if the image cannot be opened for writing");
	return 0;
}

int qcow2_check_count(struct qcow2_checker *ck, uint64_t off, uint64_t len, bool single)
{
	unsigned bits = ck->q->cluster_bits;
	uint64_t end, last;
	int ret = 0;

	if (!len)
		return 0;
	/* The last cluster may be a short one, but what lies further out is not there at all. */
	if (!checked_add(off, len, &end) ||
	    (end > ck->file_len && end - ck->file_len >= ck->q->cluster_size)) {
		ck->res->corruptions++;
		ck->suspicious = ck->doubts.behind = true;
		qcow2_check_say(ck, "ERROR: counting reference for region exceeding the end of the "
				"file by one cluster or more: offset 0x%llx size 0x%llx",
				(unsigned long long)off, (unsigned long long)len);
		return 0;
	}
	last = (end - 1) >> bits;
	for (uint64_t c = off >> bits; c <= last && ret == 0; c++)
		ret = count_cluster(ck, c, single);
	return ret;
}

int qcow2_check_references(struct qcow2_checker *ck, bool with_refcounts)
{
	struct qcow2 *q = ck->q;
	int64_t length = io_length(q->node->file);
	uint64_t before = ck->res->corruptions;
	int ret;

	if (length < 0)
		return (int)length;
	ck->file_len = (uint64_t)length;
	ck->nr_clusters = div_up(ck->file_len, q->cluster_size);
	if (ck->nr_clusters > INT32_MAX) {
		ck->res->check_errors++;
		return -EFBIG;
	}
	qcow2_counts_free(&ck->counts);
	ck->doubts.crossed = ck->doubts.tables = ck->doubts.empty = 0;
	ck->doubts.nr_orphans = 0;
	ck->doubts.overflow = ck->doubts.forgotten = ck->doubts.behind = false;
	if ((ret = qcow2_counts_init(&ck->counts, ck->nr_clusters, q->refcount_order)) < 0 ||
	    (ret = qcow2_check_count(ck, 0, q->cluster_size, true)) < 0 ||
	    (ret = qcow2_check_l1(ck, q->l1_off, q->l1_size, true)) < 0 ||
	    (ret = qcow2_check_meta(ck, with_refcounts)) < 0)
		return ret;
	ck->doubts.broken = ck->res->corruptions > before;
	return with_refcounts ? qcow2_check_refblocks(ck) : 0;
}

static int check_all(struct qcow2_checker *ck, struct bd_error *err)
{
	int ret = qcow2_check_snapshot_table(ck, err);

	if (ret < 0)
		return ret;
	ret = qcow2_check_references(ck, true);
	ck->before.corruptions = ck->res->corruptions;
	ck->before.leaks = ck->res->leaks;
	if (ret == 0)
		ret = qcow2_check_compare(ck, 0);
	if (ret == 0)
		ret = qcow2_check_repair(ck);
	if (ret == 0)
		ret = qcow2_check_copied(ck);
	if (ret < 0)
		return bd_fail(err, ret, "%s", strerror(-ret));
	ck->res->image_end_offset = (ck->highest + 1) << ck->q->cluster_bits;
	return ck->fix ? qcow2_check_finish(ck, err) : 0;
}

int qcow2_check(struct bd_node *node, unsigned fix, struct bd_check *check, struct bd_error *err)
{
	struct qcow2_checker ck = { .q = qcow2_of(node), .res = check, .fix = fix };
	void (*report)(const char *line, void *user) = check->report;
	void *user = check->user;
	int ret;

	*check = (struct bd_check){
		.total_clusters = div_up(node->size, node->cluster_size),
		.report = report,
		.user = user,
	};
	if (node->flags & BD_O_NO_IO)
		return bd_fail(err, -EINVAL, "The image is open for information only");
	ret = check_all(&ck, err);
	qcow2_counts_free(&ck.counts);
	free(ck.doubts.orphans);
	return ret;
}
