/* SPDX-License-Identifier: MIT */
/* The header, and the order in which structures are described.  Spec: header */
#include "blockdev/format/qcow2/inspect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/format/qcow2/header.h"

/* Bytes of tables that are read at most: minutes for nobody, enough for 2 TiB of guest data. */
#define BUDGET (UINT64_C(256) << 20)

enum { V2_LENGTH = 72, AREA_MAX = 1 << 21 };

static bool misaligned(const struct inspect *in, uint64_t off)
{
	return in->cluster_bits && off & (in->cluster_size - 1);
}

static bool wrong_table(const struct inspect *in, const char *name, uint64_t v)
{
	if (!strcmp(name, "l1_off") || !strcmp(name, "reftable_off"))
		return misaligned(in, v) || v >= in->file_size || v == 0;
	if (!strcmp(name, "l1_size"))
		return v > QCOW2_LIMIT_L1_BYTES / 8;
	if (!strcmp(name, "reftable_clusters"))
		return !v || (in->cluster_bits &&
			      v << in->cluster_bits > QCOW2_LIMIT_REFTABLE_BYTES);
	if (!strcmp(name, "nb_snapshots"))
		return v > QCOW2_LIMIT_SNAPSHOTS;
	if (!strcmp(name, "snapshots_off"))
		return in->nb_snapshots && (misaligned(in, v) || v >= in->file_size);
	return false;
}

/* Guest bytes that L1 can map. */
static bool not_covered(const struct inspect *in, uint64_t size)
{
	unsigned bits = in->cluster_bits * 2 - (in->entry_size == 16 ? 4 : 3);

	return in->cluster_bits && size && (size - 1) >> bits >= in->l1_size;
}

static bool wrong_header(const struct inspect *in, const char *name, uint64_t v)
{
	uint64_t area = in->cluster_bits ? in->cluster_size : AREA_MAX;
	bool packed = in->incompatible & QCOW2_INCOMPAT_COMPRESSION;

	if (!strcmp(name, "version"))
		return v != 2 && v != 3;
	if (!strcmp(name, "backing_off"))
		return v > area || (v && v < in->header_length);
	if (!strcmp(name, "backing_len"))
		return v > QCOW2_LIMIT_BACKING_NAME ||
		       (in->backing_off && in->backing_off + v > area);
	if (!strcmp(name, "cluster_bits"))
		return v > 21 || v < (in->entry_size == 16 ? 14 : 9);
	if (!strcmp(name, "size"))
		return not_covered(in, v);
	if (!strcmp(name, "crypt_method"))
		return v > 2;
	if (!strcmp(name, "incompatible"))
		return v & ~UINT64_C(0x1f);
	if (!strcmp(name, "refcount_order"))
		return v > 6;
	if (!strcmp(name, "header_length"))
		return v < 104 || v > area;
	if (!strcmp(name, "compression_type"))
		return v > 1 || !!v != packed;
	return wrong_table(in, name, v);
}

/* One field for each bit that is set. */
static void describe_bits(struct inspect_part *part, const char *field, uint64_t bits)
{
	const struct qcow2_field *where = qcow2_inspect_find("header", field);
	char structure[32];

	snprintf(structure, sizeof(structure), "%s_bit", field);
	for (unsigned bit = 0; bits >> bit; bit++) {
		struct inspect_value value = { NULL, where->off + 7 - bit / 8, 1, NULL,
					       "unknown", NULL };
		char name[48], meaning[128];

		if (!(bits >> bit & 1))
			continue;
		snprintf(name, sizeof(name), "%s bit %u", field, bit);
		for (const struct qcow2_field *f = qcow2_fields; f->structure; f++) {
			if (strcmp(f->structure, structure) || f->off != bit)
				continue;
			snprintf(meaning, sizeof(meaning), "%s: %s", f->name, f->meaning);
			value.meaning = meaning;
		}
		value.name = name;
		value.value = json_true();
		qcow2_inspect_field(part, &value);
		if (bit == 63)
			break;
	}
}

static void take_header(struct inspect *in)
{
	const struct qcow2_disk_header *h = (const void *)in->area;
	uint32_t bits = be32_get(h->cluster_bits);

	in->version = be32_get(h->version);
	in->backing_off = be64_get(h->backing_off);
	in->backing_len = be32_get(h->backing_len);
	in->size = be64_get(h->size);
	in->crypt_method = be32_get(h->crypt_method);
	in->l1_size = be32_get(h->l1_size);
	in->l1_off = be64_get(h->l1_off);
	in->reftable_off = be64_get(h->reftable_off);
	in->reftable_clusters = be32_get(h->reftable_clusters);
	in->nb_snapshots = be32_get(h->nb_snapshots);
	in->snapshots_off = be64_get(h->snapshots_off);
	in->header_length = V2_LENGTH;
	in->refcount_order = 4;
	in->entry_size = 8;
	if (in->version != 2) {
		in->incompatible = be64_get(h->incompatible);
		in->autoclear = be64_get(h->autoclear);
		in->refcount_order = be32_get(h->refcount_order);
		in->header_length = be32_get(h->header_length);
	}
	if (bits < 9 || bits > 21)
		return;
	if (in->incompatible & QCOW2_INCOMPAT_EXTENDED_L2)
		in->entry_size = 16;
	in->cluster_bits = bits;
	in->cluster_size = UINT64_C(1) << bits;
}

static uint64_t known_length(const struct inspect *in)
{
	uint64_t max = sizeof(struct qcow2_disk_header);

	return in->header_length < max ? in->header_length : max;
}

void qcow2_inspect_header(struct inspect *in)
{
	struct inspect_bytes bytes = { in->area, (size_t)known_length(in), 0 };
	struct inspect_part part;

	part = qcow2_inspect_begin(in, "header", "header", 0, in->header_length);
	if (in->file_size < in->header_length)
		qcow2_inspect_problem(&part, "the file ends inside the header");
	/* A length of nonsense hides nothing. */
	if (in->version != 2 && bytes.len < sizeof(struct qcow2_disk_header) - 8)
		bytes.len = sizeof(struct qcow2_disk_header) - 8;
	qcow2_inspect_fields(&part, "header", &bytes, wrong_header);
	describe_bits(&part, "incompatible", in->incompatible);
	if (in->version != 2) {
		const struct qcow2_disk_header *h = (const void *)in->area;

		describe_bits(&part, "compatible", be64_get(h->compatible));
		describe_bits(&part, "autoclear", in->autoclear);
	}
	if (in->header_length > sizeof(struct qcow2_disk_header) &&
	    in->header_length <= AREA_MAX) {
		size_t len = in->header_length - sizeof(struct qcow2_disk_header);
		struct inspect_value value = {
			"unknown", sizeof(struct qcow2_disk_header), len,
			qcow2_inspect_text(in->area + sizeof(struct qcow2_disk_header), len),
			"fields this program does not know", NULL,
		};

		qcow2_inspect_field(&part, &value);
	}
	if (in->incompatible & QCOW2_INCOMPAT_CORRUPT)
		qcow2_inspect_problem(&part, "the image is marked corrupt");
	if (in->cluster_bits)
		qcow2_inspect_range(in, "header", 0, in->cluster_size, 0);
}

static void describe(struct inspect *in)
{
	if (in->cluster_bits && in->args->path) {
		qcow2_inspect_guest(in);
		return;
	}
	qcow2_inspect_header(in);
	if (!in->cluster_bits)
		return;
	qcow2_inspect_extensions(in);
	qcow2_inspect_refcounts(in);
	qcow2_inspect_snapshots(in);
	qcow2_inspect_bitmaps(in);
	qcow2_inspect_luks(in);
	qcow2_inspect_l1(in);
	qcow2_inspect_ranges_sort(in);
	qcow2_inspect_l2_tables(in);
}

static json_t *result(struct inspect *in)
{
	json_t *json = json_object();

	json_object_set_new(json, "format", json_string("qcow2"));
	json_object_set_new(json, "file-size", qcow2_inspect_number(in->file_size));
	json_object_set(json, "structures", in->structures);
	json_object_set(json, "problems", in->problems);
	json_object_set_new(json, "nr-problems", qcow2_inspect_number(in->nr_problems));
	return json;
}

int qcow2_inspect(const struct bd_inspect_args *args, json_t **out, struct bd_error *err)
{
	struct inspect in = { .args = args, .file = args->node->file, .budget = BUDGET };
	int64_t len = io_length(in.file);
	int ret = 0;

	if (len < 0)
		return bd_fail_errno(err, (int)len, "Could not get the size of the file");
	in.file_size = (uint64_t)len;
	in.area = malloc(AREA_MAX);
	in.structures = json_array();
	in.problems = json_array();
	if (!in.area || !in.structures || !in.problems)
		ret = bd_fail(err, -ENOMEM, "Out of memory");
	else if (qcow2_inspect_read(&in, 0, in.area, AREA_MAX) < 4 ||
		 be32_get(((const struct qcow2_disk_header *)in.area)->magic) != QCOW2_MAGIC)
		ret = -ENOTSUP;
	if (ret == 0) {
		take_header(&in);
		describe(&in);
		*out = result(&in);
	}
	json_decref(in.structures);
	json_decref(in.problems);
	free(in.ranges);
	free(in.refs);
	free(in.area);
	return ret;
}
