/* SPDX-License-Identifier: MIT */
/* Opening an image, as a list of small steps; and closing it. */
#include "blockdev/format/qcow2/open.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/base/cleanup.h"
#include "blockdev/core/open.h"
#include "blockdev/core/queue.h"
#include "blockdev/core/report.h"
#include "blockdev/format/qcow2/crypt.h"
#include "blockdev/format/qcow2/header.h"

int qcow2_read_padded(struct qcow2 *q, uint64_t off, void *buf, size_t len)
{
	int64_t length = io_length(q->node->file);
	uint64_t there;

	if (length < 0)
		return (int)length;
	there = off < (uint64_t)length ? min_u64((uint64_t)length - off, len) : 0;
	memset((uint8_t *)buf + there, 0, len - there);
	return there ? io_pread(q->node->file, off, buf, there) : 0;
}

static int read_area(struct qcow2 *q, uint8_t **area, struct bd_error *err)
{
	struct qcow2_disk_header start;
	int ret = qcow2_read_padded(q, 0, &start, sizeof(start));

	if (ret < 0)
		return bd_fail_errno(err, ret, "Could not read qcow2 header");
	ret = qcow2_header_start(q, &start, err);
	if (ret < 0)
		return ret;
	*area = malloc(q->cluster_size);
	if (!*area)
		return bd_fail(err, -ENOMEM, "Out of memory");
	ret = qcow2_read_padded(q, 0, *area, q->cluster_size);
	return ret < 0 ? bd_fail_errno(err, ret, "Could not read qcow2 header") : 0;
}

/* A table of 64-bit numbers into memory; past the end of the file: zeros. */
static int load_table(struct qcow2 *q, uint64_t off, uint64_t entries, uint64_t **table)
{
	uint64_t *t = malloc(entries * 8 + 8);
	int ret = t ? qcow2_read_padded(q, off, t, entries * 8) : -ENOMEM;

	*table = t;
	if (ret < 0)
		return ret;
	for (uint64_t i = 0; i < entries; i++) {
		be64 disk;

		memcpy(&disk, &t[i], sizeof(disk));
		t[i] = be64_get(disk);
	}
	return 0;
}

static int load_tables(struct qcow2 *q, struct bd_error *err)
{
	int ret;

	if (q->node->flags & BD_O_NO_IO)
		return 0;
	ret = load_table(q, q->l1_off, q->l1_size, &q->l1);
	if (ret < 0)
		return bd_fail_errno(err, ret, "Could not read L1 table");
	io_event(q->node->file, "reftable_load");
	ret = load_table(q, q->reftable_off, q->reftable_size, &q->reftable);
	if (ret < 0)
		return bd_fail_errno(err, ret, "Could not initialize refcount handling");
	return 0;
}

/* The stored name as options: a plain local name, and nothing cleverer than that. */
static int data_file_opts(struct qcow2 *q, struct bd_opts *opts, struct bd_error *err)
{
	const char *name = q->data_file_name;
	const struct bd_node *node = q->node;

	if (!name)
		return bd_fail(err, -EINVAL, "'data-file' is required for this image");
	if (node->flags & BD_O_NO_FOLLOW)
		return bd_fail(err, -EPERM, "A second file named by the image is not allowed");
	if (!strncmp(name, "file:", 5))
		name += 5;
	if (io_name_has_protocol(name))
		return bd_fail(err, -EPERM,
			       "Data file '%s' named by the image is no plain file name", name);
	if (node->probed && node->flags & BD_O_RDWR)
		return bd_fail(err, -EPERM, "Image with an external data file cannot be opened "
					    "read/write without an explicit format");
	return io_name_to_opts(name, opts, err);
}

/* Nobody will read it: something that is not the image file stands in its place. */
static int no_data_file(struct bd_opts *opts, struct bd_error *err)
{
	int ret = io_name_to_opts("null-co://", opts, err);

	if (ret == 0 && bd_opts_set(opts, "size", "9223372036854775807") < 0)
		ret = bd_fail(err, -ENOMEM, "Out of memory");
	return ret;
}

static int open_data_file(struct qcow2 *q, struct bd_error *err)
{
	__cleanup(opts) struct bd_opts *opts = bd_opts_new();
	__cleanup(free) char *ref = bd_opts_take(q->node->opts, "data-file");
	bool needed = q->incompatible & QCOW2_INCOMPAT_DATA_FILE;
	size_t given;
	int ret = 0;

	if (!opts)
		return bd_fail(err, -ENOMEM, "Out of memory");
	given = bd_opts_take_prefix(q->node->opts, "data-file.", opts);
	if (q->node->flags & BD_O_NO_IO)
		return 0;
	if (ref)
		return bd_fail(err, -ENODEV, "Cannot find device='%s' nor node-name='%s'", ref,
			       ref);
	if (given && !needed)
		return bd_fail(err, -EINVAL, "'data-file' can only be set for images with an "
					     "external data file");
	if (q->autoclear & QCOW2_AUTOCLEAR_RAW_DATA && !needed)
		return bd_fail(err, -EINVAL, "data-file-raw requires a data file");
	if (!needed)
		return 0;
	if (!given && q->node->flags & BD_O_NO_DATA)
		ret = no_data_file(opts, err);
	else if (!given)
		ret = data_file_opts(q, opts, err);
	else if (!bd_opts_get(opts, "driver") && bd_opts_get(opts, "filename"))
		ret = io_name_to_opts(bd_opts_get(opts, "filename"), opts, err);
	if (ret < 0)
		return ret;
	return io_open(bd_queue_ctx(q->node->queue), opts, q->node->flags, &q->node->data, err);
}

static int read_backing_name(struct qcow2 *q, const uint8_t *area, struct bd_error *err)
{
	if (!q->backing_off)
		return 0;
	if (q->backing_len > min_u64(QCOW2_LIMIT_BACKING_NAME, q->cluster_size - q->backing_off))
		return bd_fail(err, -EINVAL, "Backing file name too long");
	q->node->backing_name = strndup((const char *)area + q->backing_off, q->backing_len);
	if (!q->node->backing_name)
		return bd_fail(err, -ENOMEM, "Out of memory");
	if (!*q->node->backing_name) {
		free(q->node->backing_name);
		q->node->backing_name = NULL;
	}
	return 0;
}

static void say(const char *line, void *user)
{
	(void)user;
	bd_report("%s", line);
}

int qcow2_repair_dirty(struct qcow2 *q, struct bd_error *err)
{
	struct bd_check result = {.report = say};
	int ret;

	if (!(q->incompatible & QCOW2_INCOMPAT_DIRTY))
		return 0;
	ret = qcow2_check(q->node, QCOW2_FIX_DIRTY, &result, err);
	if (ret < 0 || result.check_errors || result.corruptions)
		return bd_fail(err, ret < 0 ? ret : -EIO, "Could not repair dirty image");
	return 0;
}

/*
 * Who may write does not keep up what bits nobody here knows stand for.  As in QEMU, the table of
 * feature names is made anew at that chance.
 */
static int drop_unknown(struct qcow2 *q, struct bd_error *err)
{
	const uint64_t known = QCOW2_AUTOCLEAR_BITMAPS | QCOW2_AUTOCLEAR_RAW_DATA;
	int ret;

	if (q->version < 3 || !(q->autoclear & ~known))
		return 0;
	q->autoclear &= known;
	ret = qcow2_header_write(q);
	if (ret == -ENOSPC) /* the extensions fill the cluster as it is */
		ret = qcow2_header_write_features(q);
	return ret < 0 ? bd_fail_errno(err, ret, "Could not update the image header") : 0;
}

static int start_data(struct qcow2 *q, struct bd_error *err)
{
	const unsigned flags = q->node->flags;
	int ret;

	if (flags & BD_O_NO_IO)
		return 0;
	ret = qcow2_data_start(q, err);
	q->started = ret == 0;
	if (ret == 0 && flags & BD_O_RDWR)
		ret = drop_unknown(q, err);
	if (ret == 0 && flags & BD_O_RDWR && !(flags & BD_O_CHECK))
		ret = qcow2_repair_dirty(q, err);
	return ret;
}

/* What the core wants to know. */
static void describe(struct qcow2 *q)
{
	struct bd_node *node = q->node;

	node->cluster_size = q->cluster_size;
	node->request_align = node->encrypted ? 512 : 1;
	node->dirty = q->incompatible & QCOW2_INCOMPAT_DIRTY;
	node->data_is_raw = node->data != node->file && q->autoclear & QCOW2_AUTOCLEAR_RAW_DATA;
	/* Clusters that exist already were preallocated: they hold what their file held. */
	node->zero_init = !q->l1 || !q->l1_size || !q->l1[0] ||
			  (!node->encrypted && node->data->zero_init);
}

static int open_steps(struct qcow2 *q, uint8_t **area, struct bd_error *err)
{
	struct bd_node *node = q->node;
	int ret;

	if ((ret = read_area(q, area, err)) < 0 ||
	    (ret = qcow2_header_decode(q, *area, node->flags, &node->size, err)) < 0 ||
	    (ret = load_tables(q, err)) < 0 ||
	    (ret = qcow2_options_take(q, err)) < 0 ||
	    (ret = qcow2_extensions_decode(q, *area, &node->backing_format, err)) < 0 ||
	    (ret = open_data_file(q, err)) < 0 ||
	    (ret = qcow2_crypt_open(q, err)) < 0 ||
	    (ret = read_backing_name(q, *area, err)) < 0)
		return ret;
	if (!(node->flags & BD_O_CHECK) && (ret = qcow2_snapshots_read(q, err)) < 0)
		return ret;
	describe(q);
	return start_data(q, err);
}

static void free_all(struct qcow2 *q)
{
	for (size_t i = 0; i < q->nr_unknown_ext; i++)
		free(q->unknown_ext[i].data);
	free(q->unknown_ext);
	free(q->unknown_fields);
	free(q->data_file_name);
	free(q->l2_cache_file);
	free(q->l1);
	free(q->reftable);
	qcow2_crypt_close(q);
	qcow2_snapshots_free(q);
}

int qcow2_open(struct bd_node *node, struct bd_error *err)
{
	struct qcow2 *q = node->state;
	__cleanup(free) uint8_t *area = NULL;
	int ret;

	q->node = node;
	ret = open_steps(q, &area, err);
	if (ret < 0) {
		if (q->started)
			qcow2_data_stop(q);
		free_all(q);
	}
	return ret;
}

/* Damage met while running outlives the process: nobody else shall write the image unaware. */
static int mark_corrupt(struct qcow2 *q)
{
	if (!q->node->corrupt || !(q->node->flags & BD_O_RDWR) || q->version < 3)
		return 0;
	q->incompatible |= QCOW2_INCOMPAT_CORRUPT;
	return qcow2_header_write_features(q);
}

int qcow2_close(struct bd_node *node)
{
	struct qcow2 *q = qcow2_of(node);
	int ret = mark_corrupt(q), stop = 0;

	if (q->started)
		stop = qcow2_data_stop(q);
	free_all(q);
	return ret < 0 ? ret : stop;
}
