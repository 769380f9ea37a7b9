/* SPDX-License-Identifier: MIT */
/* Bitmaps and the LUKS header.  Spec: bitmaps */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/crypto/luks_layout.h"
#include "blockdev/format/qcow2/inspect.h"

/* --- bitmaps --------------------------------------------------------------------------------- */

static bool wrong_bitmap(const struct inspect *in, const char *name, uint64_t v)
{
	if (!strcmp(name, "table_off"))
		return !v || v & (in->cluster_size - 1) || v >= in->file_size;
	if (!strcmp(name, "table_size"))
		return !v || v > QCOW2_LIMIT_BITMAP_TABLE_ENTRIES;
	if (!strcmp(name, "flags"))
		return v & ~UINT64_C(7);
	if (!strcmp(name, "type"))
		return v != 1;
	if (!strcmp(name, "granularity_bits"))
		return v < 9 || v > 31;
	if (!strcmp(name, "name_len"))
		return !v || v > QCOW2_LIMIT_BITMAP_NAME;
	return !strcmp(name, "extra_len") && v;
}

static void bitmap_entry(struct inspect_walk *walk, uint64_t idx, const uint8_t *bytes,
			 struct inspect_verdict *verdict)
{
	const struct inspect *in = walk->part->in;
	uint64_t entry = inspect_be64(bytes), off = entry & QCOW2_BITMAP_ENTRY_OFFSET;
	bool ones = entry & QCOW2_BITMAP_ENTRY_ALL_ONES;

	(void)idx;
	verdict->kind = off ? "stored" : ones ? "all ones" : "all zeros";
	if (off)
		snprintf(verdict->text, sizeof(verdict->text), "bits at %#llx",
			 (unsigned long long)off);
	else
		snprintf(verdict->text, sizeof(verdict->text), "%s", verdict->kind);
	if (entry & QCOW2_BITMAP_ENTRY_RESERVED || (off && ones))
		verdict->problem = "reserved bits are set";
	else if (off & (in->cluster_size - 1))
		verdict->problem = "the bits are not at a cluster";
	else if (off >= in->file_size)
		verdict->problem = "the bits are behind the end of the file";
}

static void bitmap_table(struct inspect *in, const struct qcow2_disk_bitmap *disk)
{
	uint64_t off = be64_get(disk->table_off), len = be32_get(disk->table_size) * UINT64_C(8);
	struct inspect_part part;
	struct inspect_walk walk = { .part = &part, .nr = len / 8, .entry_size = 8,
				     .entry = bitmap_entry };

	if (off & (in->cluster_size - 1) || off >= in->file_size)
		return;
	part = qcow2_inspect_begin_some(in, "bitmap-table", "bitmaps", off, len);
	qcow2_inspect_table(&walk);
	qcow2_inspect_range(in, "bitmap-table", off, len, 0);
}

void qcow2_inspect_bitmaps(struct inspect *in)
{
	uint64_t off = in->bitmaps.dir_off, left = in->bitmaps.dir_size;
	struct qcow2_disk_bitmap disk;

	in->nr_shown = 0;
	if (off > INT64_MAX / 2 || left > QCOW2_LIMIT_BITMAP_DIR_BYTES)
		return;
	qcow2_inspect_range(in, "bitmap-directory", off, left, 0);
	for (uint32_t i = 0; i < in->bitmaps.nr && i < QCOW2_LIMIT_BITMAPS; i++) {
		struct inspect_bytes bytes = { &disk, sizeof(disk), off };
		struct inspect_part part;
		uint64_t len;

		part = qcow2_inspect_begin_some(in, "bitmap", "bitmaps", off, 0);
		if (left < sizeof(disk) ||
		    qcow2_inspect_read(in, off, &disk, sizeof(disk)) < sizeof(disk)) {
			qcow2_inspect_problem(&part, "the directory ends before bitmap %u", i);
			break;
		}
		qcow2_inspect_fields(&part, "bitmap", &bytes, wrong_bitmap);
		len = sizeof(disk) + (uint64_t)be32_get(disk.extra_len);
		qcow2_inspect_name(&part, "name", off + len, be16_get(disk.name_len));
		if (be32_get(disk.flags) & QCOW2_BITMAP_FLAG_IN_USE)
			qcow2_inspect_problem(&part, "in use: was not saved, not to be trusted");
		bitmap_table(in, &disk);
		len = round_up(len + be16_get(disk.name_len), 8);
		if (len > left) {
			qcow2_inspect_problem(&part, "the entry ends behind the directory");
			break;
		}
		off += len;
		left -= len;
	}
}

enum { SLOTS = 8 };

/* --- LUKS ------------------------------------------------------------------------------------ */

static bool wrong_luks(const struct inspect *in, const char *name, uint64_t v)
{
	(void)in;
	if (!strcmp(name, "version"))
		return v != 1;
	return !strcmp(name, "digest_iterations") && !v;
}

static bool wrong_slot(const struct inspect *in, const char *name, uint64_t v)
{
	(void)in;
	if (!strcmp(name, "active"))
		return v != 0x00ac71f3 && v != 0x0000dead;
	return !strcmp(name, "stripes") && v != 4000;
}

void qcow2_inspect_luks(struct inspect *in)
{
	struct luks_disk_header disk;
	struct inspect_bytes bytes = { &disk, offsetof(struct luks_disk_header, slots),
				       in->crypto_off };
	struct inspect_part part;

	if (!in->crypto_off || in->crypto_off > INT64_MAX / 2)
		return;
	part = qcow2_inspect_begin(in, "luks", "encryption", in->crypto_off, in->crypto_len);
	qcow2_inspect_range(in, "luks", in->crypto_off, in->crypto_len, 0);
	if (qcow2_inspect_read(in, in->crypto_off, &disk, sizeof(disk)) < sizeof(disk))
		qcow2_inspect_problem(&part, "the file ends inside the LUKS header");
	if (memcmp(&disk, "LUKS\xba\xbe", 6))
		qcow2_inspect_problem(&part, "there is no LUKS header");
	qcow2_inspect_fields(&part, "luks_header", &bytes, wrong_luks);
	for (unsigned i = 0; i < SLOTS; i++) {
		const size_t at = offsetof(struct luks_disk_header, slots) +
				  i * sizeof(struct luks_disk_slot);

		bytes = (struct inspect_bytes){ (const uint8_t *)&disk + at,
						sizeof(struct luks_disk_slot),
						in->crypto_off + at };
		part = qcow2_inspect_begin(in, "luks-slot", "encryption", bytes.off, bytes.len);
		qcow2_inspect_fields(&part, "luks_slot", &bytes, wrong_slot);
	}
}
