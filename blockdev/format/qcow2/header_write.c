/* SPDX-License-Identifier: MIT */
/* Encoding the first cluster: header, extensions, backing file name.  Spec: header, extensions. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/base/cleanup.h"
#include "blockdev/format/qcow2/header.h"

static const struct { uint8_t kind, bit; const char *name; } features[] = {
	{ 0, 0, "dirty bit" },
	{ 0, 1, "corrupt bit" },
	{ 0, 2, "external data file" },
	{ 0, 3, "compression type" },
	{ 0, 4, "extended L2 entries" },
	{ 1, 0, "lazy refcounts" },
	{ 2, 0, "bitmaps" },
	{ 2, 1, "raw external data" },
};
enum { NR_FEATURES = sizeof(features) / sizeof(features[0]) };

/* Writes into the first cluster; once something did not fit, nothing more is written. */
struct cursor {
	uint8_t *area;
	size_t pos, room;
	bool full;
};

static void put(struct cursor *cur, const void *data, size_t len)
{
	if (!len)
		return;
	if (cur->full || len > cur->room - cur->pos) {
		cur->full = true;
		return;
	}
	memcpy(cur->area + cur->pos, data, len);
	cur->pos += len;
}

static void put_ext(struct cursor *cur, uint32_t type, const void *data, size_t len)
{
	static const uint8_t zeros[8];
	struct qcow2_disk_extension head = { be32_make(type), be32_make((uint32_t)len) };

	put(cur, &head, sizeof(head));
	put(cur, data, len);
	put(cur, zeros, round_up(len, 8) - len);
}

static void put_features(struct cursor *cur)
{
	struct qcow2_disk_feature table[NR_FEATURES] = {0};

	for (size_t i = 0; i < NR_FEATURES; i++) {
		table[i].kind = features[i].kind;
		table[i].bit = features[i].bit;
		memcpy(table[i].name, features[i].name, strlen(features[i].name));
	}
	put_ext(cur, QCOW2_EXT_TYPE_FEATURES, table, sizeof(table));
}

static void put_extensions(struct cursor *cur, const struct qcow2 *q, const char *backing_format)
{
	struct qcow2_disk_crypto_ext crypto = { be64_make(q->crypto_off),
						be64_make(q->crypto_len) };
	struct qcow2_disk_bitmaps_ext bitmaps = {
		.nr = be32_make(q->bitmaps.nr),
		.dir_size = be64_make(q->bitmaps.dir_size),
		.dir_off = be64_make(q->bitmaps.dir_off),
	};

	if (backing_format)
		put_ext(cur, QCOW2_EXT_TYPE_BACKING_FORMAT, backing_format,
			strlen(backing_format));
	if (q->data_file_name)
		put_ext(cur, QCOW2_EXT_TYPE_DATA_FILE, q->data_file_name,
			strlen(q->data_file_name));
	if (q->crypto_off)
		put_ext(cur, QCOW2_EXT_TYPE_CRYPTO, &crypto, sizeof(crypto));
	/* The names only help other programs: leave them out where room is scarce. */
	if (q->version >= 3 && q->cluster_size > 4096)
		put_features(cur);
	if (q->bitmaps.nr)
		put_ext(cur, QCOW2_EXT_TYPE_BITMAPS, &bitmaps, sizeof(bitmaps));
	for (size_t i = 0; i < q->nr_unknown_ext; i++)
		put_ext(cur, q->unknown_ext[i].type, q->unknown_ext[i].data,
			q->unknown_ext[i].len);
	put_ext(cur, QCOW2_EXT_TYPE_END, "", 0);
}

static struct qcow2_disk_header make_header(const struct qcow2 *q, uint64_t size,
					    uint32_t header_length)
{
	return (struct qcow2_disk_header){
		.magic = be32_make(QCOW2_MAGIC),
		.version = be32_make(q->version),
		.cluster_bits = be32_make(q->cluster_bits),
		.size = be64_make(size),
		.crypt_method = be32_make(q->crypt_method),
		.l1_size = be32_make(q->l1_size),
		.l1_off = be64_make(q->l1_off),
		.reftable_off = be64_make(q->reftable_off),
		.reftable_clusters = be32_make(q->reftable_clusters),
		.nb_snapshots = be32_make(q->nb_snapshots),
		.snapshots_off = be64_make(q->snapshots_off),
		.incompatible = be64_make(q->incompatible),
		.compatible = be64_make(q->compatible),
		.autoclear = be64_make(q->autoclear),
		.refcount_order = be32_make(q->refcount_order),
		.header_length = be32_make(header_length),
		.compression_type = q->compression_type,
	};
}

int qcow2_header_encode(const struct qcow2 *q, uint64_t size, const char *backing_name,
			const char *backing_format, uint8_t *area)
{
	const uint32_t full = sizeof(struct qcow2_disk_header);
	uint32_t known = q->version == 2 ? offsetof(struct qcow2_disk_header, incompatible) : full;
	struct qcow2_disk_header header = make_header(q, size, full + q->unknown_fields_len);
	struct cursor cur = { area, 0, q->cluster_size, false };

	put(&cur, &header, known);
	put(&cur, q->unknown_fields, q->version == 2 ? 0 : q->unknown_fields_len);
	put_extensions(&cur, q, backing_format);
	if (backing_name && !cur.full) {
		header.backing_off = be64_make(cur.pos);
		header.backing_len = be32_make((uint32_t)strlen(backing_name));
		put(&cur, backing_name, strlen(backing_name));
		memcpy(area, &header, known);
	}
	return cur.full ? -ENOSPC : 0;
}

int qcow2_header_write(struct qcow2 *q)
{
	__cleanup(free) uint8_t *area = calloc(1, q->cluster_size);
	struct bd_node *node = q->node;
	int ret;

	if (!area)
		return -ENOMEM;
	ret = qcow2_header_encode(q, node->size, node->backing_name, node->backing_format, area);
	return ret < 0 ? ret : io_pwrite(node->file, 0, area, q->cluster_size);
}

int qcow2_header_write_features(struct qcow2 *q)
{
	be64 sets[3] = { be64_make(q->incompatible), be64_make(q->compatible),
			 be64_make(q->autoclear) };

	if (q->version < 3)
		return 0;
	return io_pwrite(q->node->file, offsetof(struct qcow2_disk_header, incompatible), sets,
			 sizeof(sets));
}
