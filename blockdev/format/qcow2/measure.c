/* SPDX-License-Identifier: MIT */
/* How large an image would be.  Like: qemu-img measure. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/base/cleanup.h"
#include "blockdev/base/zero.h"
#include "blockdev/format/qcow2/bitmap.h"
#include "blockdev/format/qcow2/codec.h"
#include "blockdev/format/qcow2/crypt.h"
#include "blockdev/format/qcow2/layout.h"

/* Bytes of refcount structures that count @clusters clusters and themselves. */
static uint64_t refcount_bytes(const struct qcow2_new *new, uint64_t clusters)
{
	uint64_t per_block = (uint64_t)new->cluster_size * 8 >> new->refcount_order;
	uint64_t blocks = 0, tables = 0, last;

	do {
		last = blocks + tables;
		blocks = div_up(clusters + last, per_block);
		tables = div_up(blocks, new->cluster_size / 8);
	} while (blocks + tables != last);
	return last * new->cluster_size;
}

/* Bytes of a file that maps and holds every cluster. */
static int full_size(const struct qcow2_new *new, uint64_t size, uint64_t *bytes,
		     struct bd_error *err)
{
	uint64_t cluster = new->cluster_size, entry = new->extended_l2 ? 16 : 8;
	uint64_t l2 = round_up(size / cluster, cluster / entry) * entry;
	uint64_t l1 = round_up(l2 / cluster, cluster / 8) * 8;
	uint64_t meta = cluster + l2 + l1 + round_up(new->crypto_len, cluster);

	if (l2 / cluster > QCOW2_LIMIT_L1_BYTES / 8)
		return bd_fail(err, -EFBIG, "The image size is too large (try using a larger "
					    "cluster size)");
	*bytes = size + meta + refcount_bytes(new, (meta + size) / cluster);
	return 0;
}

static bool has_data(const struct bd_extent *ext)
{
	return ext->kind > BD_ZERO && !(ext->flags & BD_EXTENT_SPARSE);
}

/* Bytes of target clusters that the source has data for. */
static int data_size(const struct qcow2_new *new, struct bd_node *src, uint64_t *bytes,
		     struct bd_error *err)
{
	uint64_t off = 0, cluster = new->cluster_size;
	struct bd_extent ext;

	*bytes = 0;
	while (off < src->size) {
		int ret = bd_map(src, off, src->size - off, &ext, 1);
		uint64_t end = off;

		if (ret <= 0)
			return bd_fail_errno(err, ret ? ret : -EIO, "Unable to get block status");
		end = ext.guest_off + ext.len;
		/* A cluster that has some data is there as a whole, and counted once. */
		if (has_data(&ext)) {
			end = round_up(end, cluster);
			*bytes += off % cluster + end - off;
		}
		off = end;
	}
	return 0;
}

enum { SAMPLES = 256 };

/* What a look at some of the data found. */
struct sample {
	const struct qcow2_new *new;
	struct bd_node *src;
	uint8_t *in, *out;
	uint64_t step, next;      /* bytes of data from one sample to the next; until the next */
	uint64_t read, packed;    /* bytes looked at, and what they came to */
};

/* Compress the cluster at @off, as convert -c would. */
static int take_sample(struct sample *s, uint64_t off)
{
	uint64_t cluster = s->new->cluster_size, len = min_u64(cluster, s->src->size - off);
	size_t packed;
	int ret = bd_pread(s->src, off, s->in, len);

	if (ret < 0)
		return ret;
	memset(s->in + len, 0, cluster - len);
	s->read += cluster;
	if (bd_is_zero(s->in, cluster))
		return 0;
	packed = s->new->compression_type ? qcow2_zstd(s->in, cluster, s->out, cluster - 1, 0) :
				 qcow2_deflate_raw(s->in, cluster, s->out, cluster - 1, 0);
	s->packed += packed ? packed : cluster;
	return 0;
}

/* Samples of a run of data, at equal distances in all the data. */
static int sample_run(struct sample *s, uint64_t off, uint64_t len)
{
	int ret = 0;

	while (s->next < len && ret == 0) {
		ret = take_sample(s, round_down(off + s->next, s->new->cluster_size));
		s->next += s->step;
	}
	s->next -= min_u64(s->next, len);
	return ret;
}

/* How much of @data bytes of clusters compression leaves. */
static int compressed_size(const struct qcow2_new *new, struct bd_node *src, uint64_t data,
			   uint64_t *bytes, struct bd_error *err)
{
	__cleanup(free) uint8_t *buf = malloc(2 * (size_t)new->cluster_size);
	struct sample s = {
		.new = new, .src = src, .in = buf, .out = buf + new->cluster_size,
		.step = max_u64(data / SAMPLES, new->cluster_size),
	};
	struct bd_extent ext;
	int ret = buf ? 0 : -ENOMEM;

	for (uint64_t off = 0; ret == 0 && off < src->size; off = ext.guest_off + ext.len) {
		ret = bd_map(src, off, src->size - off, &ext, 1);
		if (ret <= 0)
			return bd_fail_errno(err, ret ? ret : -EIO, "Unable to get block status");
		ret = has_data(&ext) ? sample_run(&s, ext.guest_off, ext.len) : 0;
	}
	if (ret < 0)
		return bd_fail_errno(err, ret, "Could not compress a sample");
	*bytes = s.read ? (uint64_t)((double)data * (double)s.packed / (double)s.read) : 0;
	return 0;
}

struct bitmap_sum {
	const struct qcow2_new *new;
	uint64_t disk, bytes, dir;
};

static int add_bitmap(const struct qcow2_bitmap *bitmap, void *user)
{
	struct bitmap_sum *sum = user;
	uint64_t bits = div_up(sum->disk, UINT64_C(1) << bitmap->granularity_bits);
	uint64_t clusters = div_up(div_up(bits, 8), sum->new->cluster_size);

	sum->bytes += clusters * sum->new->cluster_size +
		      round_up(clusters * 8, sum->new->cluster_size);
	sum->dir += round_up(sizeof(struct qcow2_disk_bitmap) + strlen(bitmap->name), 8);
	return 0;
}

static int bitmap_size(const struct qcow2_new *new, struct bd_node *src, struct bd_measure *out,
		       struct bd_error *err)
{
	struct bitmap_sum sum = { .new = new, .disk = src->size };
	int ret;

	if (new->version < 3 || strcmp(src->fmt->name, "qcow2") || qcow2_of(src)->version < 3)
		return 0;
	out->has_bitmaps = true;
	ret = qcow2_bitmaps_each(qcow2_of(src), add_bitmap, &sum, err);
	out->bitmaps = sum.bytes + round_up(sum.dir, new->cluster_size);
	return ret;
}

int qcow2_measure(struct bd_opts *opts, struct bd_node *src, struct bd_measure *out,
		  struct bd_error *err)
{
	struct qcow2_new new;
	uint64_t size, needed = 0;
	int ret = qcow2_new_parse(opts, &new, err);

	if (ret == 0)
		ret = qcow2_crypt_area_len(opts, &new.crypto_len, err);
	if (ret < 0)
		return ret;
	if (src)
		new.size = src->size;
	if (new.size > INT64_MAX / 2)
		return bd_fail(err, -EFBIG, "The image size is too large (try using a larger "
					    "cluster size)");
	size = round_up(new.size, new.cluster_size);
	ret = full_size(&new, size, &out->fully_allocated, err);
	if (ret == 0 && src)
		ret = data_size(&new, src, &needed, err);
	if (ret == 0 && src)
		ret = bitmap_size(&new, src, out, err);
	if (ret == 0 && out->want_compressed) {
		ret = compressed_size(&new, src, needed, &out->compressed, err);
		out->compressed = round_up(out->compressed, new.cluster_size) +
				  out->fully_allocated - size;
	}
	if (ret < 0)
		return ret;
	if ((src && new.backing_file) || !strcmp(new.prealloc, "falloc") ||
	    !strcmp(new.prealloc, "full"))
		needed = size;
	out->required = out->fully_allocated - size + needed;
	return 0;
}
