/* SPDX-License-Identifier: MIT */
/* Header extensions: a list of (type, length, data) behind the header.  Spec: extensions. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/core/report.h"
#include "blockdev/format/qcow2/header.h"

/* One extension in the first cluster. */
struct ext {
	uint32_t type, len;
	const uint8_t *data;
};

/*
 * The extension at *off, which moves behind it.  1: there is one; 0: the list has ended;
 * -EINVAL: it does not fit.
 */
static int next_ext(const struct qcow2 *q, const uint8_t *area, uint64_t *off, struct ext *ext)
{
	uint64_t end = q->backing_off ? q->backing_off : q->cluster_size;
	struct qcow2_disk_extension head;

	if (*off >= end)
		return 0;
	if (q->cluster_size - *off < sizeof(head))
		return -EINVAL;
	memcpy(&head, area + *off, sizeof(head));
	*off += sizeof(head);
	ext->type = be32_get(head.type);
	ext->len = be32_get(head.len);
	ext->data = area + *off;
	if (*off > end || ext->len > end - *off)
		return -EINVAL;
	*off += round_up(ext->len, 8);
	return ext->type != QCOW2_EXT_TYPE_END;
}

void qcow2_feature_names(const struct qcow2 *q, const uint8_t *area, uint64_t mask, char *text,
			 size_t room)
{
	uint64_t off = q->header_length;
	struct ext ext;
	size_t used = 0;

	text[0] = '\0';
	while (next_ext(q, area, &off, &ext) > 0) {
		size_t nr = ext.len / sizeof(struct qcow2_disk_feature);
		const struct qcow2_disk_feature *f = (const void *)ext.data;

		if (ext.type != QCOW2_EXT_TYPE_FEATURES)
			continue;
		for (size_t i = 0; i < nr && used < room; i++, f++) {
			if (f->kind != 0 || f->bit > 63 || !(mask & UINT64_C(1) << f->bit))
				continue;
			mask &= ~(UINT64_C(1) << f->bit);
			used += (size_t)snprintf(text + used, room - used, "%s%.46s",
						 used ? ", " : "", (const char *)f->name);
		}
	}
	if (mask && used < room)
		snprintf(text + used, room - used, "%sUnknown incompatible feature: %llx",
			 used ? ", " : "", (unsigned long long)mask);
}

static int keep_text(const struct ext *ext, char **out, struct bd_error *err)
{
	free(*out);
	*out = strndup((const char *)ext->data, ext->len);
	return *out ? 0 : bd_fail(err, -ENOMEM, "Out of memory");
}

static int read_backing_format(const struct ext *ext, char **format, struct bd_error *err)
{
	enum { ROOM = 16 };

	if (ext->len >= ROOM)
		return bd_fail(err, -EINVAL,
			       "ERROR: ext_backing_format: len=%u too large (>=%d)", ext->len,
			       ROOM);
	return keep_text(ext, format, err);
}

static int read_crypto(struct qcow2 *q, const struct ext *ext, struct bd_error *err)
{
	struct qcow2_disk_crypto_ext crypto;

	if (q->crypt_method != 2)
		return bd_fail(err, -EINVAL, "CRYPTO header extension only expected with LUKS "
					     "encryption method");
	if (ext->len != sizeof(crypto))
		return bd_fail(err, -EINVAL,
			       "CRYPTO header extension size %u, but expected size %zu", ext->len,
			       sizeof(crypto));
	memcpy(&crypto, ext->data, sizeof(crypto));
	q->crypto_off = be64_get(crypto.off);
	q->crypto_len = be64_get(crypto.len);
	if (q->crypto_off & (q->cluster_size - 1))
		return bd_fail(err, -EINVAL, "Encryption header offset '%llu' is not a multiple "
			       "of cluster size '%u'", (unsigned long long)q->crypto_off,
			       q->cluster_size);
	return 0;
}

/* Bitmaps of an image that a program without bitmap support has written mean nothing. */
static int distrust_bitmaps(const struct qcow2 *q)
{
	if (q->version < 3)
		bd_report("warning: This qcow2 v2 image contains bitmaps, but they may have been "
			  "modified by software without persistent bitmap support; so now these "
			  "bitmaps must be considered inconsistent");
	else
		bd_report("warning: a program lacking bitmap support modified this file, so all "
			  "bitmaps are now considered inconsistent");
	return 0;
}

static int read_bitmaps(struct qcow2 *q, const struct ext *ext, struct bd_error *err)
{
	struct qcow2_disk_bitmaps_ext bm;
	uint64_t dir_size, dir_off;
	uint32_t nr;

	if (ext->len != sizeof(bm))
		return bd_fail(err, -EINVAL, "bitmaps_ext: Invalid extension length");
	if (!(q->autoclear & QCOW2_AUTOCLEAR_BITMAPS))
		return distrust_bitmaps(q);
	memcpy(&bm, ext->data, sizeof(bm));
	nr = be32_get(bm.nr);
	dir_size = be64_get(bm.dir_size);
	dir_off = be64_get(bm.dir_off);
	if (be32_get(bm.reserved))
		return bd_fail(err, -EINVAL, "bitmaps_ext: Reserved field is not zero");
	if (nr > QCOW2_LIMIT_BITMAPS)
		return bd_fail(err, -EINVAL, "bitmaps_ext: Image has %u bitmaps, exceeding the "
			       "QEMU supported maximum of %d", nr, QCOW2_LIMIT_BITMAPS);
	if (nr == 0)
		return bd_fail(err, -EINVAL, "found bitmaps extension with zero bitmaps");
	if (dir_off & (q->cluster_size - 1))
		return bd_fail(err, -EINVAL, "bitmaps_ext: invalid bitmap directory offset");
	if (dir_size > QCOW2_LIMIT_BITMAP_DIR_BYTES)
		return bd_fail(err, -EINVAL, "bitmaps_ext: bitmap directory size (%llu) exceeds "
			       "the maximum supported size (%d)", (unsigned long long)dir_size,
			       QCOW2_LIMIT_BITMAP_DIR_BYTES);
	q->bitmaps = (struct qcow2_bitmap_ext){ nr, dir_size, dir_off };
	return 0;
}

static int keep_unknown(struct qcow2 *q, const struct ext *ext, struct bd_error *err)
{
	struct qcow2_extension *grown, *last;

	grown = realloc(q->unknown_ext, (q->nr_unknown_ext + 1) * sizeof(*grown));
	if (!grown)
		return bd_fail(err, -ENOMEM, "Out of memory");
	q->unknown_ext = grown;
	last = &grown[q->nr_unknown_ext];
	*last = (struct qcow2_extension){ ext->type, ext->len, malloc(ext->len + 1) };
	if (!last->data)
		return bd_fail(err, -ENOMEM, "Out of memory");
	memcpy(last->data, ext->data, ext->len);
	q->nr_unknown_ext++;
	return 0;
}

static int read_ext(struct qcow2 *q, const struct ext *ext, char **format, struct bd_error *err)
{
	switch (ext->type) {
	case QCOW2_EXT_TYPE_BACKING_FORMAT:
		return read_backing_format(ext, format, err);
	case QCOW2_EXT_TYPE_FEATURES:
		q->has_feature_table = true;
		return 0;
	case QCOW2_EXT_TYPE_BITMAPS:
		return read_bitmaps(q, ext, err);
	case QCOW2_EXT_TYPE_CRYPTO:
		return read_crypto(q, ext, err);
	case QCOW2_EXT_TYPE_DATA_FILE:
		return keep_text(ext, &q->data_file_name, err);
	default:
		return keep_unknown(q, ext, err);
	}
}

int qcow2_extensions_decode(struct qcow2 *q, const uint8_t *area, char **format,
			    struct bd_error *err)
{
	uint64_t off = q->header_length;
	struct ext ext;
	int ret;

	while ((ret = next_ext(q, area, &off, &ext)) > 0) {
		ret = read_ext(q, &ext, format, err);
		if (ret < 0)
			return ret;
	}
	return ret < 0 ? bd_fail(err, ret, "Header extension too large") : 0;
}
