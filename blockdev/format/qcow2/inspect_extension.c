/* SPDX-License-Identifier: MIT */
/* Header extensions and the backing name.  Spec: extensions */
#include <stdio.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/crypto/luks_layout.h"
#include "blockdev/format/qcow2/inspect.h"

enum { EXTENSIONS_MAX = 256 };

/* One extension: its data and their place. */
struct ext {
	uint32_t type;
	struct inspect_bytes data;
};

static const struct qcow2_field *find_type(uint32_t type)
{
	for (const struct qcow2_field *f = qcow2_fields; f->structure; f++)
		if (!strcmp(f->structure, "ext_type") && f->off == type)
			return f;
	return NULL;
}

static bool wrong_feature(const struct inspect *in, const char *name, uint64_t v)
{
	(void)in;
	return !strcmp(name, "kind") ? v > 2 : !strcmp(name, "bit") && v > 63;
}

static void features(struct inspect_part *part, const struct ext *ext)
{
	const size_t one = sizeof(struct qcow2_disk_feature);

	if (ext->data.len % one)
		qcow2_inspect_problem(part, "the table is no multiple of %zu bytes", one);
	for (size_t pos = 0; pos + one <= ext->data.len && pos < 64 * one; pos += one) {
		struct inspect_bytes bytes = { (const uint8_t *)ext->data.bytes + pos, one,
					       ext->data.off + pos };

		qcow2_inspect_fields(part, "feature", &bytes, wrong_feature);
	}
}

static bool wrong_bitmaps(const struct inspect *in, const char *name, uint64_t v)
{
	if (!strcmp(name, "nr"))
		return !v || v > QCOW2_LIMIT_BITMAPS;
	if (!strcmp(name, "reserved"))
		return v;
	if (!strcmp(name, "dir_size"))
		return !v || v > QCOW2_LIMIT_BITMAP_DIR_BYTES;
	return v & (in->cluster_size - 1) || v >= in->file_size;
}

static void bitmaps(struct inspect *in, struct inspect_part *part, const struct ext *ext)
{
	struct qcow2_disk_bitmaps_ext disk;

	qcow2_inspect_fields(part, "bitmaps_ext", &ext->data, wrong_bitmaps);
	if (ext->data.len != sizeof(disk)) {
		qcow2_inspect_problem(part, "must have %zu bytes", sizeof(disk));
		return;
	}
	if (!(in->autoclear & QCOW2_AUTOCLEAR_BITMAPS))
		qcow2_inspect_problem(part, "the autoclear bit is not set: the bitmaps are stale");
	memcpy(&disk, ext->data.bytes, sizeof(disk));
	in->bitmaps = (struct qcow2_bitmap_ext){ be32_get(disk.nr), be64_get(disk.dir_size),
						 be64_get(disk.dir_off) };
}

static bool wrong_crypto(const struct inspect *in, const char *name, uint64_t v)
{
	if (!strcmp(name, "off"))
		return v & (in->cluster_size - 1) || v >= in->file_size;
	return v < sizeof(struct luks_disk_header) || v > in->file_size;
}

static void crypto(struct inspect *in, struct inspect_part *part, const struct ext *ext)
{
	struct qcow2_disk_crypto_ext disk;

	qcow2_inspect_fields(part, "crypto_ext", &ext->data, wrong_crypto);
	if (ext->data.len != sizeof(disk)) {
		qcow2_inspect_problem(part, "must have %zu bytes", sizeof(disk));
		return;
	}
	if (in->crypt_method != 2)
		qcow2_inspect_problem(part, "only allowed with LUKS");
	memcpy(&disk, ext->data.bytes, sizeof(disk));
	in->crypto_off = be64_get(disk.off);
	in->crypto_len = be64_get(disk.len);
}

static void text(struct inspect_part *part, const struct ext *ext, const char *meaning)
{
	struct inspect_value value = { "data", ext->data.off, ext->data.len,
				       qcow2_inspect_text(ext->data.bytes, ext->data.len), meaning,
				       NULL };

	if (ext->type == QCOW2_EXT_TYPE_BACKING_FORMAT && ext->data.len > 15)
		value.problem = "more than 15 bytes";
	qcow2_inspect_field(part, &value);
}

static void one_extension(struct inspect *in, uint64_t off, const struct ext *ext, bool cut)
{
	const struct qcow2_field *known = find_type(ext->type);
	struct inspect_part part = qcow2_inspect_begin(in, "extension", "extensions", off,
						       8 + (uint64_t)ext->data.len);
	struct inspect_bytes head = { in->area + off, 8, off };
	struct inspect_value kind = { "type", off, 4, qcow2_inspect_number(ext->type),
				      known ? known->name : "unknown: kept as it is", NULL };
	struct inspect_value len = { "len", off + 4, 4, NULL, "bytes of data", NULL };

	len.value = qcow2_inspect_number(inspect_be64(head.bytes) & UINT32_MAX);
	qcow2_inspect_field(&part, &kind);
	qcow2_inspect_field(&part, &len);
	if (cut) {
		qcow2_inspect_problem(&part, "the data end behind the header area");
		return;
	}
	switch (ext->type) {
	case QCOW2_EXT_TYPE_END:
		break;
	case QCOW2_EXT_TYPE_FEATURES:
		features(&part, ext);
		break;
	case QCOW2_EXT_TYPE_BITMAPS:
		bitmaps(in, &part, ext);
		break;
	case QCOW2_EXT_TYPE_CRYPTO:
		crypto(in, &part, ext);
		break;
	default:
		text(&part, ext, known ? known->meaning : "unknown");
		break;
	}
}

static void backing(struct inspect *in)
{
	struct inspect_part part;
	struct inspect_value value = { "name", in->backing_off, in->backing_len, NULL,
				       "name of the backing file; not opened", NULL };

	if (!in->backing_off || in->backing_off >= in->cluster_size)
		return;
	part = qcow2_inspect_begin(in, "backing", "header", in->backing_off, in->backing_len);
	value.value = qcow2_inspect_text(in->area + in->backing_off,
					 (size_t)min_u64(in->backing_len,
							 in->cluster_size - in->backing_off));
	qcow2_inspect_field(&part, &value);
}

void qcow2_inspect_extensions(struct inspect *in)
{
	uint64_t off = in->header_length, end = in->cluster_size;

	if (in->backing_off && in->backing_off < end)
		end = in->backing_off;
	for (unsigned i = 0; i < EXTENSIONS_MAX && off + 8 <= end; i++) {
		uint64_t head = inspect_be64(in->area + off);
		uint32_t len = (uint32_t)head;
		struct ext ext = { (uint32_t)(head >> 32),
				   { in->area + off + 8, len, off + 8 } };
		bool cut = len > end - off - 8;

		one_extension(in, off, &ext, cut);
		if (cut || ext.type == QCOW2_EXT_TYPE_END)
			break;
		off += 8 + round_up(len, 8);
	}
	backing(in);
}
