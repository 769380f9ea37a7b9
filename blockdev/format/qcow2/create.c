/* SPDX-License-Identifier: MIT */
/* Creating an image: lay out the empty tables, write them in order, preallocate. */
#include "blockdev/format/qcow2/create.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blockdev/base/bits.h"
#include "blockdev/base/cleanup.h"
#include "blockdev/core/queue.h"
#include "blockdev/format/qcow2/crypt.h"
#include "blockdev/format/qcow2/header.h"
#include "blockdev/format/qcow2/resize.h"

/*
 * Where the parts of an empty image lie, in clusters: header, refcount table, its blocks, LUKS
 * header, L1.
 */
struct layout {
	uint64_t reftable, blocks, crypto, l1; /* clusters each takes */
	uint64_t per_block;              /* clusters one refcount block counts */
};

static uint64_t total(const struct layout *lay)
{
	return 1 + lay->reftable + lay->blocks + lay->crypto + lay->l1;
}

static int plan_layout(const struct qcow2 *q, struct layout *lay, struct bd_error *err)
{
	*lay = (struct layout){
		.reftable = 1,
		.blocks = 1,
		.crypto = div_up(q->crypto_len, q->cluster_size),
		.l1 = div_up((uint64_t)q->l1_size * 8, q->cluster_size),
		.per_block = (uint64_t)q->cluster_size * 8 >> q->refcount_order,
	};
	/* Blocks count themselves and the table that lists them. */
	while (total(lay) > lay->blocks * lay->per_block ||
	       lay->blocks * 8 > lay->reftable * q->cluster_size) {
		lay->blocks = div_up(total(lay), lay->per_block);
		lay->reftable = div_up(lay->blocks * 8, q->cluster_size);
	}
	if (lay->reftable * q->cluster_size > QCOW2_LIMIT_REFTABLE_BYTES)
		return bd_fail(err, -EFBIG, "Refcount table would become too large");
	return 0;
}

int qcow2_new_state(const struct qcow2_new *new, struct qcow2 *q, struct bd_error *err)
{
	uint64_t entries;

	q->version = new->version;
	q->cluster_size = new->cluster_size;
	q->cluster_bits = log2_floor(new->cluster_size);
	q->refcount_order = new->refcount_order;
	q->compression_type = new->compression_type;
	q->extended_l2 = new->extended_l2;
	q->l2_bits = q->cluster_bits - (new->extended_l2 ? 4 : 3);
	q->data_file_name = (char *)new->data_file;
	q->crypt_method = new->crypt_method;
	q->crypto_len = new->crypto_len;
	q->incompatible = (new->data_file ? QCOW2_INCOMPAT_DATA_FILE : 0) |
			  (new->compression_type ? QCOW2_INCOMPAT_COMPRESSION : 0) |
			  (new->extended_l2 ? QCOW2_INCOMPAT_EXTENDED_L2 : 0);
	q->compatible = new->lazy_refcounts ? QCOW2_COMPAT_LAZY_REFCOUNTS : 0;
	q->autoclear = new->data_file_raw ? QCOW2_AUTOCLEAR_RAW_DATA : 0;
	if (new->size > INT64_MAX - 511)
		return bd_fail(err, -EINVAL,
			       "Could not resize image: Image size cannot be negative");
	entries = qcow2_l1_needed(q, new->size);
	if (entries > QCOW2_LIMIT_L1_BYTES / 8)
		return bd_fail(err, -EFBIG, "Image size is too large");
	q->l1_size = (uint32_t)entries;
	return 0;
}

/* The same, with the places of its parts. */
static int describe(const struct qcow2_new *new, struct qcow2 *q, struct layout *lay,
		    struct bd_error *err)
{
	int ret = qcow2_new_state(new, q, err);

	if (ret == 0)
		ret = plan_layout(q, lay, err);
	if (ret < 0)
		return ret;
	q->reftable_off = q->cluster_size;
	q->reftable_clusters = (uint32_t)lay->reftable;
	q->l1_off = q->l1_size ? (total(lay) - lay->l1) << q->cluster_bits : 0;
	if (lay->crypto)
		q->crypto_off = (1 + lay->reftable + lay->blocks) << q->cluster_bits;
	return 0;
}

static int write_blocks(struct io_file *file, const struct qcow2 *q, const struct layout *lay)
{
	__cleanup(free) uint8_t *block = malloc(q->cluster_size);
	uint64_t first = 1 + lay->reftable, used = total(lay);

	if (!block)
		return -ENOMEM;
	for (uint64_t i = 0; i < lay->blocks; i++) {
		uint64_t nr = min_u64(used - i * lay->per_block, lay->per_block);
		int ret;

		memset(block, 0, q->cluster_size);
		for (uint64_t c = 0; c < nr; c++)
			qcow2_refcount_set(block, c, q->refcount_order, 1);
		ret = io_pwrite(file, (first + i) << q->cluster_bits, block, q->cluster_size);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int write_reftable(struct io_file *file, const struct qcow2 *q, const struct layout *lay)
{
	size_t len = lay->reftable << q->cluster_bits;
	__cleanup(free) be64 *table = calloc(1, len);

	if (!table)
		return -ENOMEM;
	for (uint64_t i = 0; i < lay->blocks; i++)
		table[i] = be64_make((1 + lay->reftable + i) << q->cluster_bits);
	return io_pwrite(file, q->reftable_off, table, len);
}

/* An L1 table of zeros ends with its last entry, as QEMU leaves it. */
static int write_l1(struct io_file *file, const struct qcow2 *q)
{
	size_t len = (size_t)q->l1_size * 8;
	__cleanup(free) uint8_t *zeros = calloc(1, len + 1);

	if (!zeros)
		return -ENOMEM;
	return len ? io_pwrite(file, q->l1_off, zeros, len) : 0;
}

/* The slots that are not in use are there too, as zeros. */
static int write_crypto(struct io_file *file, const struct qcow2 *q, const struct qcow2_new *new)
{
	return new->crypto ? io_pwrite(file, q->crypto_off, new->crypto, new->crypto_len) : 0;
}

static int write_all(struct io_file *file, const struct qcow2 *q, const struct layout *lay,
		     const struct qcow2_new *new, struct bd_error *err)
{
	__cleanup(free) uint8_t *area = calloc(1, q->cluster_size);
	int ret = area ? 0 : -ENOMEM;

	if (ret < 0)
		return bd_fail(err, ret, "Out of memory");
	if (new->backing_file && strlen(new->backing_file) > QCOW2_LIMIT_BACKING_NAME)
		ret = -EINVAL;
	if (ret == 0)
		ret = qcow2_header_encode(q, new->size, new->backing_file, new->backing_fmt, area);
	if (ret < 0 && new->backing_file)
		return bd_fail_errno(err, ret, "Could not assign backing file '%s' with format "
				     "'%s'", new->backing_file,
				     new->backing_fmt ? new->backing_fmt : "");
	/* The header last: until then the file is no image. */
	if (ret == 0)
		ret = write_reftable(file, q, lay);
	if (ret == 0)
		ret = write_blocks(file, q, lay);
	if (ret == 0)
		ret = write_crypto(file, q, new);
	if (ret == 0)
		ret = write_l1(file, q);
	if (ret == 0)
		ret = io_pwrite(file, 0, area, q->cluster_size);
	return ret < 0 ? bd_fail_errno(err, ret, "Could not write the new image") : 0;
}

static int open_new(struct bd_queue *queue, const char *filename, struct io_file **file,
		    struct bd_error *err)
{
	__cleanup(opts) struct bd_opts *opts = bd_opts_new();
	int ret;

	if (!opts)
		return bd_fail(err, -ENOMEM, "Out of memory");
	ret = io_name_to_opts(filename, opts, err);
	if (ret < 0)
		return ret;
	return io_open(bd_queue_ctx(queue), opts,
		       BD_O_RDWR | BD_O_RESIZE | BD_O_SHARE_NO_WRITE, file, err);
}

static int open_again(struct bd_queue *queue, const char *filename, const struct qcow2_new *new,
		      struct bd_node **node, struct bd_error *err)
{
	__cleanup(opts) struct bd_opts *opts = bd_opts_new();
	struct bd_open_args args = {
		.filename = filename,
		.format = "qcow2",
		.opts = opts,
		.flags = BD_O_RDWR | BD_O_NO_BACKING | BD_O_NO_FLUSH,
	};

	if (!opts || (new->key_secret &&
		      bd_opts_set(opts, "encrypt.key-secret", new->key_secret) < 0))
		return bd_fail(err, -ENOMEM, "Out of memory");
	return bd_open(queue, &args, node, err);
}

static int preallocate(struct bd_queue *queue, const char *filename, const struct qcow2_new *new,
		       struct bd_error *err)
{
	struct bd_node *node;
	int ret, closed;

	if (!strcmp(new->prealloc, "off") || !new->size)
		return 0;
	ret = open_again(queue, filename, new, &node, err);
	if (ret < 0)
		return ret;
	ret = qcow2_prealloc_range(qcow2_of(node), 0, new->size, new->prealloc, err);
	closed = bd_close(node);
	if (ret == 0 && closed < 0)
		ret = bd_fail_errno(err, closed, "Could not close the new image");
	return ret;
}

/* keep_data_file: what is there must be the whole disk. */
static int check_data_file(const struct qcow2_new *new, struct bd_error *err)
{
	struct stat info;

	if (stat(new->data_file, &info) < 0)
		return bd_fail_errno(err, -errno, "Could not open '%s'", new->data_file);
	if (S_ISREG(info.st_mode) && (uint64_t)info.st_size < new->size)
		return bd_fail(err, -EINVAL, "The data file '%s' is smaller than the disk",
			       new->data_file);
	return 0;
}

static int create_files(struct bd_queue *queue, const char *filename, const struct qcow2_new *new,
			struct bd_opts *opts, struct bd_error *err)
{
	struct io_ctx *ctx = bd_queue_ctx(queue);
	int ret = io_create(ctx, filename, 0, "off", opts, err);

	if (ret < 0 || !new->data_file)
		return ret;
	if (io_name_has_protocol(new->data_file) && strncmp(new->data_file, "file:", 5))
		return bd_fail(err, -EINVAL, "'%s' is no plain file name", new->data_file);
	if (new->keep_data_file)
		return 0;
	return io_create(ctx, new->data_file, new->size,
			 strcmp(new->prealloc, "metadata") ? new->prealloc : "off", NULL, err);
}

static int fill_files(struct bd_queue *queue, const char *filename, const struct qcow2_new *new,
		      struct bd_error *err)
{
	struct qcow2 q = {0};
	struct layout lay;
	struct io_file *file;
	int ret = describe(new, &q, &lay, err);

	if (ret == 0)
		ret = open_new(queue, filename, &file, err);
	if (ret < 0)
		return ret;
	ret = write_all(file, &q, &lay, new, err);
	io_close(file);
	return ret < 0 ? ret : preallocate(queue, filename, new, err);
}

int qcow2_create(struct bd_queue *queue, const char *filename, struct bd_opts *opts,
		 struct bd_error *err)
{
	struct qcow2 probe = {0};
	struct qcow2_new new;
	struct layout lay;
	struct stat info;
	bool fresh;
	int ret = qcow2_new_parse(opts, &new, err);

	/* What cannot work shall not cost an old file of that name. */
	if (ret == 0)
		ret = describe(&new, &probe, &lay, err);
	if (ret == 0 && new.keep_data_file)
		ret = check_data_file(&new, err);
	if (ret == 0)
		ret = qcow2_crypt_make(opts, &new.crypto, &new.crypto_len, err);
	if (ret < 0)
		return ret;
	fresh = new.data_file && lstat(new.data_file, &info) < 0 && errno == ENOENT;
	ret = create_files(queue, filename, &new, opts, err);
	if (ret == 0)
		ret = fill_files(queue, filename, &new, err);
	if (ret < 0 && fresh)
		unlink(new.data_file);
	free(new.crypto);
	return ret;
}
