/* SPDX-License-Identifier: MIT */
/* QCOW2 headers: every field at its limits, extensions, encoding, cache sizes, reference counts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/core/node.h"
#include "blockdev/format/qcow2/check_counts.h"
#include "blockdev/format/qcow2/header.h"
#include "tests/unit/suite.h"

enum { CLUSTER = 65536 };

static uint8_t area[CLUSTER];
static struct qcow2_disk_header *const head = (void *)area;

static void make_header(void)
{
	memset(area, 0, sizeof(area));
	*head = (struct qcow2_disk_header){
		.magic = be32_make(QCOW2_MAGIC),
		.version = be32_make(3),
		.cluster_bits = be32_make(16),
		.size = be64_make(64 << 20),
		.l1_size = be32_make(1),
		.l1_off = be64_make(3 * CLUSTER),
		.reftable_off = be64_make(CLUSTER),
		.reftable_clusters = be32_make(1),
		.refcount_order = be32_make(4),
		.header_length = be32_make(112),
	};
}

static void release(struct qcow2 *q)
{
	for (size_t i = 0; i < q->nr_unknown_ext; i++)
		free(q->unknown_ext[i].data);
	free(q->unknown_ext);
	free(q->unknown_fields);
	free(q->data_file_name);
	memset(q, 0, sizeof(*q));
}

/* Decode the header in @area; the message in @err. */
static int decode(struct qcow2 *q, unsigned flags, uint64_t *size, struct bd_error *err)
{
	int ret = qcow2_header_start(q, head, err);

	return ret < 0 ? ret : qcow2_header_decode(q, area, flags, size, err);
}

static void expect(int want, unsigned flags, const char *message)
{
	struct bd_error err = {0};
	struct qcow2 q = {0};
	uint64_t size;

	ck_assert_int_eq(decode(&q, flags, &size, &err), want);
	if (message)
		ck_assert_str_eq(err.msg, message);
	release(&q);
}

START_TEST(test_good)
{
	struct bd_error err = {0};
	struct qcow2 q = {0};
	uint64_t size = 0;

	make_header();
	ck_assert_int_eq(decode(&q, 0, &size, &err), 0);
	ck_assert_uint_eq(size, 64 << 20);
	ck_assert_uint_eq(q.l2_bits, 13);
	ck_assert_uint_eq(q.csize_shift, 54);
	ck_assert_uint_eq(q.reftable_size, 8192);
	ck_assert_uint_eq(q.nr_subclusters, 1);
	release(&q);
	head->size = be64_make((64 << 20) - 100);
	ck_assert_int_eq(decode(&q, 0, &size, &err), 0);
	ck_assert_uint_eq(size, (64 << 20) - 512);
	release(&q);
}
END_TEST

/* One 32-bit field with a bad value each. */
static const struct {
	unsigned off;
	uint32_t value;
	int ret;
	const char *message;
} bad[] = {
	{ 0, 0x514649fa, -EINVAL, "Image is not in qcow2 format" },
	{ 4, 1, -ENOTSUP, "Unsupported qcow2 version 1" },
	{ 4, 4, -ENOTSUP, "Unsupported qcow2 version 4" },
	{ 8, 1, -EINVAL, "Invalid backing file offset" },
	{ 12, 0x10001, -EINVAL, "Invalid backing file offset" },
	{ 20, 8, -EINVAL, "Unsupported cluster size: 2^8" },
	{ 20, 22, -EINVAL, "Unsupported cluster size: 2^22" },
	{ 20, 0xffffffff, -EINVAL, "Unsupported cluster size: 2^4294967295" },
	{ 24, 0x7fffffff, -EFBIG, "Image is too big" },
	{ 24, 0xffffffff, -EFBIG, "Image is too big" },
	{ 32, 3, -EINVAL, "Unsupported encryption method 3" },
	{ 36, 0, -EINVAL, "L1 table is too small" },
	{ 36, 0x400001, -EFBIG, "Active L1 table too large" },
	{ 40, 0xffffffff, -EINVAL, "Active L1 table offset invalid" },
	{ 44, 0x30200, -EINVAL, "Active L1 table offset invalid" },
	{ 52, 0x10200, -EINVAL, "Reference count table offset invalid" },
	{ 56, 0, -EINVAL, "Image does not contain a reference count table" },
	{ 56, 129, -EFBIG, "Reference count table too large" },
	{ 56, 0xffffffff, -EFBIG, "Reference count table too large" },
	{ 60, 65537, -EFBIG, "Snapshot table too large" },
	{ 68, 0x200, -EINVAL, "Snapshot table offset invalid" },
	{ 76, 0x20, -ENOTSUP, "Unsupported qcow2 feature(s): Unknown incompatible feature: 20" },
	{ 76, 8, -EINVAL, "qcow2: Compression type incompatible feature bit must not be set" },
	{ 96, 7, -EINVAL, "Reference count entry width too large; may not exceed 64 bits" },
	{ 100, 103, -EINVAL, "qcow2 header too short" },
	{ 100, 65537, -EINVAL, "qcow2 header exceeds cluster size" },
	{ 104, 0x02000000, -ENOTSUP, "qcow2: unknown compression type: 2" },
	{ 104, 0x01000000, -EINVAL,
	  "qcow2: Compression type incompatible feature bit must be set" },
};

START_TEST(test_bad)
{
	be32 value = be32_make(bad[_i].value);

	make_header();
	memcpy(area + bad[_i].off, &value, sizeof(value));
	expect(bad[_i].ret, 0, bad[_i].message);
}
END_TEST

START_TEST(test_flags)
{
	make_header();
	head->incompatible = be64_make(QCOW2_INCOMPAT_CORRUPT);
	expect(0, 0, NULL);
	expect(-EACCES, BD_O_RDWR, "qcow2: Image is corrupt; cannot be opened read/write");
	expect(0, BD_O_RDWR | BD_O_CHECK, NULL);
	make_header();
	head->reftable_clusters = be32_make(0);
	expect(0, BD_O_CHECK, NULL);
	make_header();
	head->incompatible = be64_make(QCOW2_INCOMPAT_EXTENDED_L2);
	expect(0, 0, NULL);
	head->cluster_bits = be32_make(13);
	expect(-EINVAL, 0, "Unsupported subcluster size: 256");
}
END_TEST

START_TEST(test_backing_in_header)
{
	make_header();
	head->backing_off = be64_make(16);
	head->backing_len = be32_make(8);
	expect(-EINVAL, 0, "Invalid backing file offset");
	head->backing_off = be64_make(112);
	expect(0, 0, NULL);
}
END_TEST

START_TEST(test_version2)
{
	struct bd_error err = {0};
	struct qcow2 q = {0};
	uint64_t size;

	make_header();
	head->version = be32_make(2);
	memset(area + 72, 0xff, sizeof(*head) - 72);
	ck_assert_int_eq(decode(&q, 0, &size, &err), 0);
	ck_assert_uint_eq(q.header_length, 72);
	ck_assert_uint_eq(q.incompatible, 0);
	ck_assert_uint_eq(q.refcount_order, 4);
	release(&q);
}
END_TEST

static size_t add_ext(size_t at, uint32_t type, const void *data, uint32_t len)
{
	struct qcow2_disk_extension ext = { be32_make(type), be32_make(len) };

	memcpy(area + at, &ext, sizeof(ext));
	memcpy(area + at + sizeof(ext), data, len);
	return at + sizeof(ext) + (len + 7) / 8 * 8;
}

START_TEST(test_extensions)
{
	struct bd_error err = {0};
	struct qcow2 q = {0};
	char *format = NULL;
	uint64_t size;
	size_t at;

	make_header();
	at = add_ext(112, QCOW2_EXT_TYPE_BACKING_FORMAT, "raw", 3);
	at = add_ext(at, 0x12345678, "unknown", 7);
	at = add_ext(at, QCOW2_EXT_TYPE_DATA_FILE, "data.raw", 8);
	ck_assert_int_eq(decode(&q, 0, &size, &err), 0);
	ck_assert_int_eq(qcow2_extensions_decode(&q, area, &format, &err), 0);
	ck_assert_str_eq(format, "raw");
	ck_assert_str_eq(q.data_file_name, "data.raw");
	ck_assert_uint_eq(q.nr_unknown_ext, 1);
	ck_assert_uint_eq(q.unknown_ext[0].len, 7);
	ck_assert_mem_eq(q.unknown_ext[0].data, "unknown", 7);
	free(format);
	release(&q);
}
END_TEST

static const struct {
	uint32_t type, len;
	const char *message;
} bad_ext[] = {
	{ QCOW2_EXT_TYPE_BACKING_FORMAT, 16,
	  "ERROR: ext_backing_format: len=16 too large (>=16)" },
	{ QCOW2_EXT_TYPE_CRYPTO, 16,
	  "CRYPTO header extension only expected with LUKS encryption method" },
	{ QCOW2_EXT_TYPE_BITMAPS, 23, "bitmaps_ext: Invalid extension length" },
	{ QCOW2_EXT_TYPE_BITMAPS, 24, "found bitmaps extension with zero bitmaps" },
	{ 0x12345678, 0xffffffff, "Header extension too large" },
	{ 0x12345678, CLUSTER - 119, "Header extension too large" },
};

START_TEST(test_bad_extensions)
{
	struct bd_error err = {0};
	struct qcow2 q = {0};
	char *format = NULL;
	uint64_t size;

	make_header();
	head->autoclear = be64_make(QCOW2_AUTOCLEAR_BITMAPS);
	add_ext(112, bad_ext[_i].type, "", 0);
	((struct qcow2_disk_extension *)(area + 112))->len = be32_make(bad_ext[_i].len);
	ck_assert_int_eq(decode(&q, 0, &size, &err), 0);
	ck_assert_int_eq(qcow2_extensions_decode(&q, area, &format, &err), -EINVAL);
	ck_assert_str_eq(err.msg, bad_ext[_i].message);
	free(format);
	release(&q);
}
END_TEST

START_TEST(test_feature_names)
{
	struct qcow2_disk_feature names[2] = {
		{ .kind = 1, .bit = 5, .name = "wrong kind" },
		{ .kind = 0, .bit = 5, .name = "my feature" },
	};

	make_header();
	add_ext(112, QCOW2_EXT_TYPE_FEATURES, names, sizeof(names));
	head->incompatible = be64_make(0x20);
	expect(-ENOTSUP, 0, "Unsupported qcow2 feature(s): my feature");
	head->incompatible = be64_make(0xe0);
	expect(-ENOTSUP, 0, "Unsupported qcow2 feature(s): my feature, "
			    "Unknown incompatible feature: c0");
}
END_TEST

START_TEST(test_encode)
{
	struct bd_error err = {0};
	struct qcow2 q = {0}, again = {0};
	char *format = NULL, *format2 = NULL;
	uint64_t size;

	make_header();
	head->header_length = be32_make(120);
	memcpy(area + 112, "whatever", 8);
	add_ext(120, 0x12345678, "unknown", 7);
	ck_assert_int_eq(decode(&q, 0, &size, &err), 0);
	ck_assert_int_eq(qcow2_extensions_decode(&q, area, &format, &err), 0);
	memset(area, 0, sizeof(area));
	ck_assert_int_eq(qcow2_header_encode(&q, size, "base.img", "qcow2", area), 0);
	ck_assert_int_eq(decode(&again, 0, &size, &err), 0);
	ck_assert_int_eq(qcow2_extensions_decode(&again, area, &format2, &err), 0);
	ck_assert_str_eq(format2, "qcow2");
	ck_assert_uint_eq(again.unknown_fields_len, 8);
	ck_assert_mem_eq(again.unknown_fields, "whatever", 8);
	ck_assert_uint_eq(again.nr_unknown_ext, 1);
	ck_assert(again.has_feature_table);
	ck_assert_uint_eq(again.backing_len, 8);
	ck_assert_mem_eq(area + again.backing_off, "base.img", 8);
	free(format2);
	release(&q);
	release(&again);
}
END_TEST

START_TEST(test_encode_full)
{
	struct qcow2 q = { .version = 3, .cluster_bits = 9, .cluster_size = 512 };
	char name[500];

	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	memset(area, 0, sizeof(area));
	ck_assert_int_eq(qcow2_header_encode(&q, 0, name, "raw", area), -ENOSPC);
	ck_assert_int_eq(qcow2_header_encode(&q, 0, "short", "raw", area), 0);
}
END_TEST

/* Size of the disk, options, and what QEMU makes of them: bytes of L2 cache, refcount cache. */
static const struct {
	uint64_t disk;
	const char *options;
	uint64_t l2, refcount;
	uint32_t slice;
} caches[] = {
	{ 8ull << 30, "", 1 << 20, 4 * CLUSTER, CLUSTER },
	{ 1ull << 40, "", 32 << 20, 4 * CLUSTER, 4096 },
	{ 8ull << 30, "cache-size=2M", 1 << 20, 1 << 20, CLUSTER },
	{ 64ull << 30, "cache-size=2M", (2 << 20) - 4 * CLUSTER, 4 * CLUSTER, 4096 },
	{ 64ull << 30, "cache-size=2M,refcount-cache-size=1M", 1 << 20, 1 << 20, 4096 },
	{ 64ull << 30, "l2-cache-size=1M,l2-cache-entry-size=512", 1 << 20, 4 * CLUSTER, 512 },
	{ 0, "", 2 * CLUSTER, 4 * CLUSTER, CLUSTER },
};

START_TEST(test_caches)
{
	struct bd_node node = { .size = caches[_i].disk };
	struct qcow2 q = { .node = &node, .cluster_size = CLUSTER, .l2_entry_size = 8 };
	struct bd_opts *opts = bd_opts_new();

	if (*caches[_i].options)
		ck_assert_int_eq(bd_opts_parse(opts, caches[_i].options, NULL, NULL), 0);
	ck_assert_int_eq(qcow2_cache_sizes(&q, opts, NULL), 0);
	ck_assert_uint_eq(q.l2_cache_size, caches[_i].l2);
	ck_assert_uint_eq(q.refcount_cache_size, caches[_i].refcount);
	ck_assert_uint_eq(q.l2_slice_size, caches[_i].slice);
	ck_assert_uint_eq(1u << q.slice_bits, caches[_i].slice / 8);
	bd_opts_free(opts);
}
END_TEST

START_TEST(test_counts)
{
	struct qcow2_counts counts;
	uint64_t done;

	ck_assert_int_eq(qcow2_counts_init(&counts, 100, 4), 0);
	ck_assert_int_eq(qcow2_counts_add_run(&counts, 60, 200, true, &done), 0);
	ck_assert_uint_eq(done, 200);
	ck_assert_uint_eq(qcow2_counts_get(&counts, 59), 0);
	ck_assert_uint_eq(qcow2_counts_get(&counts, 60), 1);
	ck_assert_uint_eq(qcow2_counts_get(&counts, 259), 1);
	ck_assert_uint_eq(qcow2_counts_get(&counts, 260), 0);
	for (unsigned i = 2; i <= 65535; i++)
		ck_assert_int_eq(qcow2_counts_add(&counts, 128, false), 0);
	ck_assert_uint_eq(qcow2_counts_get(&counts, 128), 65535);
	ck_assert_int_eq(qcow2_counts_add(&counts, 128, false), -ERANGE);
	ck_assert_uint_eq(qcow2_counts_get(&counts, 1 << 20), 0);
	ck_assert_int_eq(qcow2_counts_add(&counts, 1 << 20, false), 0);
	ck_assert_uint_eq(qcow2_counts_get(&counts, 1 << 20), 1);
	qcow2_counts_free(&counts);
	ck_assert_int_eq(qcow2_counts_init(&counts, 1, 0), 0);
	ck_assert_int_eq(qcow2_counts_add(&counts, 0, true), 0);
	ck_assert_int_eq(qcow2_counts_add(&counts, 0, true), -ERANGE);
	qcow2_counts_free(&counts);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("all");

	tcase_add_test(tc, test_good);
	tcase_add_loop_test(tc, test_bad, 0, sizeof(bad) / sizeof(bad[0]));
	tcase_add_test(tc, test_flags);
	tcase_add_test(tc, test_backing_in_header);
	tcase_add_test(tc, test_version2);
	tcase_add_test(tc, test_extensions);
	tcase_add_loop_test(tc, test_bad_extensions, 0, sizeof(bad_ext) / sizeof(bad_ext[0]));
	tcase_add_test(tc, test_feature_names);
	tcase_add_test(tc, test_encode);
	tcase_add_test(tc, test_encode_full);
	tcase_add_loop_test(tc, test_caches, 0, sizeof(caches) / sizeof(caches[0]));
	tcase_add_test(tc, test_counts);
	return suite_run("qcow2 header", tc, CK_FORK);
}
