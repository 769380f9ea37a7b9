/* SPDX-License-Identifier: MIT */
/* Checking and decoding the header: every field of a hostile image passes here. */
#include "blockdev/format/qcow2/header.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/bits.h"

enum { MIN_CLUSTER_BITS = 9, MAX_CLUSTER_BITS = 21, V2_LENGTH = 72, V3_MIN_LENGTH = 104 };

#define KNOWN_INCOMPATIBLE UINT64_C(0x1f)

int qcow2_header_start(struct qcow2 *q, const struct qcow2_disk_header *h, struct bd_error *err)
{
	uint32_t bits = be32_get(h->cluster_bits);

	if (be32_get(h->magic) != QCOW2_MAGIC)
		return bd_fail(err, -EINVAL, "Image is not in qcow2 format");
	q->version = be32_get(h->version);
	if (q->version < 2 || q->version > 3)
		return bd_fail(err, -ENOTSUP, "Unsupported qcow2 version %u", q->version);
	if (bits < MIN_CLUSTER_BITS || bits > MAX_CLUSTER_BITS)
		return bd_fail(err, -EINVAL, "Unsupported cluster size: 2^%u", bits);
	q->cluster_bits = bits;
	q->cluster_size = 1u << bits;
	return 0;
}

int qcow2_check_table(const struct qcow2 *q, uint64_t off, uint64_t entries, size_t entry_len,
		      uint64_t max, const char *name, struct bd_error *err)
{
	if (entries > max / entry_len)
		return bd_fail(err, -EFBIG, "%s too large", name);
	if ((uint64_t)INT64_MAX - entries * entry_len < off || off & (q->cluster_size - 1))
		return bd_fail(err, -EINVAL, "%s offset invalid", name);
	return 0;
}

static int decode_length(struct qcow2 *q, const struct qcow2_disk_header *h, const uint8_t *area,
			 struct bd_error *err)
{
	q->header_length = q->version == 2 ? V2_LENGTH : be32_get(h->header_length);
	if (q->version == 3 && q->header_length < V3_MIN_LENGTH)
		return bd_fail(err, -EINVAL, "qcow2 header too short");
	if (q->header_length > q->cluster_size)
		return bd_fail(err, -EINVAL, "qcow2 header exceeds cluster size");
	if (q->header_length <= sizeof(*h))
		return 0;
	q->unknown_fields_len = q->header_length - (uint32_t)sizeof(*h);
	q->unknown_fields = malloc(q->unknown_fields_len);
	if (!q->unknown_fields)
		return bd_fail(err, -ENOMEM, "Out of memory");
	memcpy(q->unknown_fields, area + sizeof(*h), q->unknown_fields_len);
	return 0;
}

static int check_features(const struct qcow2 *q, const uint8_t *area, struct bd_error *err)
{
	bool bit = q->incompatible & QCOW2_INCOMPAT_COMPRESSION;
	uint64_t unknown = q->incompatible & ~KNOWN_INCOMPATIBLE;
	char names[512];

	if (q->compression_type > 1)
		return bd_fail(err, -ENOTSUP, "qcow2: unknown compression type: %u",
			       q->compression_type);
	if (q->compression_type && !bit)
		return bd_fail(err, -EINVAL, "qcow2: Compression type incompatible feature bit "
					     "must be set");
	if (!q->compression_type && bit)
		return bd_fail(err, -EINVAL, "qcow2: Compression type incompatible feature bit "
					     "must not be set");
	if (!unknown)
		return 0;
	qcow2_feature_names(q, area, unknown, names, sizeof(names));
	return bd_fail(err, -ENOTSUP, "Unsupported qcow2 feature(s): %s", names);
}

static int decode_features(struct qcow2 *q, const struct qcow2_disk_header *h,
			   const uint8_t *area, unsigned flags, struct bd_error *err)
{
	int ret;

	q->refcount_order = 4;
	if (q->version == 3) {
		q->incompatible = be64_get(h->incompatible);
		q->compatible = be64_get(h->compatible);
		q->autoclear = be64_get(h->autoclear);
		q->refcount_order = be32_get(h->refcount_order);
	}
	if (q->header_length > offsetof(struct qcow2_disk_header, compression_type))
		q->compression_type = h->compression_type;
	ret = check_features(q, area, err);
	if (ret < 0)
		return ret;
	if ((q->incompatible & QCOW2_INCOMPAT_CORRUPT) && (flags & BD_O_RDWR) &&
	    !(flags & BD_O_CHECK))
		return bd_fail(err, -EACCES,
			       "qcow2: Image is corrupt; cannot be opened read/write");
	q->extended_l2 = q->incompatible & QCOW2_INCOMPAT_EXTENDED_L2;
	if (q->extended_l2 && q->cluster_size / 32 < 512)
		return bd_fail(err, -EINVAL, "Unsupported subcluster size: %u",
			       q->cluster_size / 32);
	if (q->refcount_order > 6)
		return bd_fail(err, -EINVAL, "Reference count entry width too large; may not "
					     "exceed 64 bits");
	return 0;
}

static void set_geometry(struct qcow2 *q)
{
	q->nr_subclusters = q->extended_l2 ? 32 : 1;
	q->subcluster_bits = q->cluster_bits - (q->extended_l2 ? 5 : 0);
	q->l2_entry_size = q->extended_l2 ? 16 : 8;
	q->l2_bits = q->cluster_bits - (q->extended_l2 ? 4 : 3);
	q->csize_shift = 62 - (q->cluster_bits - 8);
	q->cluster_offset_mask = (UINT64_C(1) << q->csize_shift) - 1;
}

static int decode_tables(struct qcow2 *q, const struct qcow2_disk_header *h, unsigned flags,
			 struct bd_error *err)
{
	bool checking = flags & BD_O_CHECK;
	int ret;

	q->reftable_off = be64_get(h->reftable_off);
	q->reftable_clusters = be32_get(h->reftable_clusters);
	if (!q->reftable_clusters && !checking)
		return bd_fail(err, -EINVAL, "Image does not contain a reference count table");
	ret = qcow2_check_table(q, q->reftable_off,
				(uint64_t)q->reftable_clusters << (q->cluster_bits - 3), 8,
				QCOW2_LIMIT_REFTABLE_BYTES, "Reference count table", err);
	if (ret < 0)
		return ret;
	q->reftable_size = q->reftable_clusters << (q->cluster_bits - 3);
	q->nb_snapshots = be32_get(h->nb_snapshots);
	q->snapshots_off = be64_get(h->snapshots_off);
	if (!checking) {
		const size_t entry = sizeof(struct qcow2_disk_snapshot);

		ret = qcow2_check_table(q, q->snapshots_off, q->nb_snapshots, entry,
					entry * QCOW2_LIMIT_SNAPSHOTS, "Snapshot table", err);
		if (ret < 0)
			return ret;
	}
	q->l1_off = be64_get(h->l1_off);
	q->l1_size = be32_get(h->l1_size);
	return qcow2_check_table(q, q->l1_off, q->l1_size, 8, QCOW2_LIMIT_L1_BYTES,
				 "Active L1 table", err);
}

int qcow2_header_decode(struct qcow2 *q, const uint8_t *area, unsigned flags, uint64_t *size,
			struct bd_error *err)
{
	const struct qcow2_disk_header *h = (const void *)area;
	int ret = decode_length(q, h, area, err);

	if (ret < 0)
		return ret;
	q->backing_off = be64_get(h->backing_off);
	q->backing_len = be32_get(h->backing_len);
	/* A name made of header fields would change with them. */
	if (q->backing_off > q->cluster_size ||
	    (q->backing_off && q->backing_len && q->backing_off < q->header_length))
		return bd_fail(err, -EINVAL, "Invalid backing file offset");
	ret = decode_features(q, h, area, flags, err);
	if (ret < 0)
		return ret;
	q->crypt_method = be32_get(h->crypt_method);
	if (q->crypt_method > 2)
		return bd_fail(err, -EINVAL, "Unsupported encryption method %u", q->crypt_method);
	set_geometry(q);
	ret = decode_tables(q, h, flags, err);
	if (ret < 0)
		return ret;
	*size = be64_get(h->size);
	if (qcow2_l1_needed(q, *size) > INT_MAX)
		return bd_fail(err, -EFBIG, "Image is too big");
	if (q->l1_size < qcow2_l1_needed(q, *size))
		return bd_fail(err, -EINVAL, "L1 table is too small");
	*size = round_down(*size, 512);
	return 0;
}
