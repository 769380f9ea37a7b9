/* SPDX-License-Identifier: MIT */
/* base/: parsing, options, strings, vectors, paths, zero scan, bucket, errors. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/be.h"
#include "blockdev/base/bits.h"
#include "blockdev/base/bucket.h"
#include "blockdev/base/cleanup.h"
#include "blockdev/base/iov.h"
#include "blockdev/base/path.h"
#include "blockdev/base/strbuf.h"
#include "blockdev/base/zero.h"
#include "blockdev/include/options.h"
#include "tests/unit/suite.h"

static const struct {
	const char *text;
	int ret;
	uint64_t bytes;
} sizes[] = {
	{ "1", 0, 1 },
	{ "512b", 0, 512 },
	{ "1k", 0, 1024 },
	{ "1K", 0, 1024 },
	{ "1.5G", 0, 1610612736 },
	{ "1.25k", 0, 1280 },
	{ "0.1k", 0, 102 },
	{ "1.k", 0, 1024 },
	{ "1.0", 0, 1 },
	{ " 5", 0, 5 },
	{ "0x10", 0, 16 },
	{ "0x10k", 0, 16384 },
	{ "2T", 0, 2ull << 40 },
	{ "1P", 0, 1ull << 50 },
	{ "7E", 0, 7ull << 60 },
	{ "9223372036854775807", 0, INT64_MAX },
	{ "9223372036854775808", -ERANGE, 0 },
	{ "18446744073709551616", -ERANGE, 0 },
	{ "8E", -ERANGE, 0 },
	{ "99999999999999999999E", -ERANGE, 0 },
	{ "-1", -EINVAL, 0 },
	{ "", -EINVAL, 0 },
	{ "k", -EINVAL, 0 },
	{ ".5k", -EINVAL, 0 },
	{ "1.5", -EINVAL, 0 },
	{ "1.5b", -EINVAL, 0 },
	{ "1e3", -EINVAL, 0 },
	{ "1 k", -EINVAL, 0 },
	{ "5kb", -EINVAL, 0 },
	{ "0x", -EINVAL, 0 },
	{ "1z", -EINVAL, 0 },
};

START_TEST(parse_sizes)
{
	uint64_t bytes = 0;

	ck_assert_int_eq(bd_parse_size(sizes[_i].text, &bytes), sizes[_i].ret);
	if (!sizes[_i].ret)
		ck_assert_uint_eq(bytes, sizes[_i].bytes);
}
END_TEST

START_TEST(parse_others)
{
	uint64_t value;
	bool on = false;

	ck_assert_int_eq(bd_parse_bool("on", &on), 0);
	ck_assert(on);
	ck_assert_int_eq(bd_parse_bool("n", &on), 0);
	ck_assert(!on);
	ck_assert_int_eq(bd_parse_bool("On", &on), -EINVAL);
	ck_assert_int_eq(bd_parse_u64("18446744073709551615", &value), 0);
	ck_assert_uint_eq(value, UINT64_MAX);
	ck_assert_int_eq(bd_parse_u64("0x1f", &value), 0);
	ck_assert_uint_eq(value, 31);
	ck_assert_int_eq(bd_parse_u64("1k", &value), -EINVAL);
	ck_assert_int_eq(bd_parse_u64("-1", &value), -EINVAL);
	ck_assert_int_eq(bd_parse_u64("18446744073709551616", &value), -ERANGE);
}
END_TEST

/* "key=value;key=value;" of a list. */
static char *dump(const struct bd_opts *opts)
{
	struct strbuf buf = {0};

	for (size_t i = 0; i < bd_opts_count(opts); i++)
		bd_strbuf_addf(&buf, "%s=%s;", bd_opts_key(opts, i), bd_opts_value(opts, i));
	return bd_strbuf_steal(&buf);
}

static void expect_opts(const struct bd_opts *opts, const char *text)
{
	__cleanup(free) char *have = dump(opts);

	ck_assert_str_eq(have, text);
}

START_TEST(options_text)
{
	__cleanup(opts) struct bd_opts *opts = bd_opts_new();
	__cleanup(opts) struct bd_opts *sub = bd_opts_new();
	struct bd_error err = {0};
	char *value;

	ck_assert_int_eq(bd_opts_parse(opts, "a=1,b=x,,y,word,noother,a=2", NULL, &err), 0);
	expect_opts(opts, "a=2;b=x,y;word=on;other=off;");
	value = bd_opts_take(opts, "b");
	ck_assert_str_eq(value, "x,y");
	free(value);
	ck_assert_ptr_null(bd_opts_take(opts, "b"));
	ck_assert_int_eq(bd_opts_parse(opts, "x,file.a=1,file.b=2", "driver", &err), 0);
	expect_opts(opts, "a=2;word=on;other=off;driver=x;file.a=1;file.b=2;");
	ck_assert_uint_eq(bd_opts_take_prefix(opts, "file.", sub), 2);
	expect_opts(sub, "a=1;b=2;");
	expect_opts(opts, "a=2;word=on;other=off;driver=x;");
	ck_assert_int_eq(bd_opts_parse(opts, "size=1k,", NULL, &err), -EINVAL);
	ck_assert_str_eq(err.msg, "Invalid option list: size=1k,");
	ck_assert_int_eq(bd_opts_parse(opts, ",", NULL, &err), -EINVAL);
	ck_assert_int_eq(bd_opts_parse(opts, "z=1k,,", NULL, &err), 0);
	ck_assert_str_eq(bd_opts_get(opts, "z"), "1k,");
}
END_TEST

START_TEST(options_json)
{
	__cleanup(opts) struct bd_opts *opts = bd_opts_new();
	__cleanup(free) char *text = NULL;
	struct bd_error err = {0};

	ck_assert_int_eq(bd_opts_parse_json(opts, "{'driver':'raw', \"file\": {\"n\": \"it's\","
		"'q':'\"', 'list':[1, -2, true, false, null]}, 'a.b': 1.5}", &err), 0);
	expect_opts(opts, "driver=raw;file.n=it's;file.q=\";file.list.0=1;file.list.1=-2;"
		    "file.list.2=on;file.list.3=off;file.list.4=;a.b=1.5;");
	text = bd_opts_to_json(opts);
	ck_assert_ptr_nonnull(strstr(text, "\"driver\": \"raw\""));
	ck_assert_ptr_nonnull(strstr(text, "\"n\": \"it's\""));
	ck_assert_ptr_nonnull(strstr(text, "\"q\": \"\\\"\""));
	ck_assert_ptr_nonnull(strstr(text, "\"a\": {\"b\": 1.5}"));
}
END_TEST

START_TEST(options_json_bad)
{
	__cleanup(opts) struct bd_opts *opts = bd_opts_new();
	struct bd_error err = {0};
	char deep[4096] = "";

	ck_assert_int_eq(bd_opts_parse_json(opts, "{", &err), -EINVAL);
	ck_assert_str_eq(err.msg,
			 "Could not parse the JSON options: JSON parse error, premature EOI");
	ck_assert_int_eq(bd_opts_parse_json(opts, "[]", &err), -EINVAL);
	ck_assert_str_eq(err.msg, "Invalid JSON object given");
	ck_assert_int_eq(bd_opts_parse_json(opts, "{'a':1,'a':2}", &err), -EINVAL);
	ck_assert_str_eq(err.msg,
			 "Could not parse the JSON options: JSON parse error, duplicate key");
	for (int i = 0; i < 600; i++)
		strcat(deep, "{'a':");
	strcat(deep, "1");
	for (int i = 0; i < 600; i++)
		strcat(deep, "}");
	ck_assert_int_eq(bd_opts_parse_json(opts, deep, &err), -EINVAL);
	ck_assert_uint_eq(bd_opts_count(opts), 0);
}
END_TEST

START_TEST(options_json_many)
{
	__cleanup(opts) struct bd_opts *opts = bd_opts_new();
	struct strbuf text = {0};
	struct bd_error err = {0};

	bd_strbuf_adds(&text, "{");
	for (int i = 0; i < 20000; i++)
		bd_strbuf_addf(&text, "%s'k%d':1", i ? "," : "", i);
	bd_strbuf_adds(&text, "}");
	ck_assert_int_lt(bd_opts_parse_json(opts, text.text, &err), 0);
	bd_strbuf_free(&text);
}
END_TEST

START_TEST(strings)
{
	struct strbuf buf = {0};
	char *text;

	for (int i = 0; i < 1000; i++)
		bd_strbuf_addc(&buf, 'x');
	ck_assert_uint_eq(buf.len, 1000);
	bd_strbuf_cut(&buf, 2);
	bd_strbuf_addf(&buf, "-%d-%s", 7, "y");
	text = bd_strbuf_steal(&buf);
	ck_assert_str_eq(text, "xx-7-y");
	free(text);
	text = bd_strbuf_steal(&buf);
	ck_assert_str_eq(text, "");
	free(text);
}
END_TEST

START_TEST(vectors)
{
	char a[] = "abc", b[] = "", c[] = "defgh", out[9] = "";
	struct iovec iov[] = { { a, 3 }, { b, 0 }, { c, 5 } }, cut[3];

	ck_assert_uint_eq(bd_iov_total(iov, 3), 8);
	ck_assert_uint_eq(bd_iov_to_buf(iov, 3, 2, out, 4), 4);
	ck_assert_str_eq(out, "cdef");
	ck_assert_uint_eq(bd_iov_to_buf(iov, 3, 6, out, 4), 2);
	ck_assert_uint_eq(bd_iov_from_buf(iov, 3, 1, "XYZ", 3), 3);
	ck_assert_str_eq(a, "aXY");
	ck_assert_str_eq(c, "Zefgh");
	ck_assert_uint_eq(bd_iov_memset(iov, 3, 2, '.', 3), 3);
	ck_assert_str_eq(a, "aX.");
	ck_assert_str_eq(c, "..fgh");
	ck_assert_int_eq(bd_iov_slice(iov, 3, 2, 3, cut), 2);
	ck_assert_ptr_eq(cut[0].iov_base, a + 2);
	ck_assert_uint_eq(cut[0].iov_len, 1);
	ck_assert_ptr_eq(cut[1].iov_base, c);
	ck_assert_uint_eq(cut[1].iov_len, 2);
	ck_assert_int_eq(bd_iov_slice(iov, 3, 8, 1, cut), 0);
}
END_TEST

START_TEST(paths)
{
	static const struct {
		const char *base, *name, *want;
	} cases[] = {
		{ "dir/top.qcow2", "base.raw", "dir/base.raw" },
		{ "top.qcow2", "base.raw", "base.raw" },
		{ "/a/b/top.qcow2", "../base.raw", "/a/b/../base.raw" },
		{ "/a/b/top.qcow2", "/base.raw", "/base.raw" },
		{ "file:top.qcow2", "base.raw", "file:base.raw" },
		{ "file:a/top.qcow2", "base.raw", "file:a/base.raw" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		__cleanup(free) char *path = bd_path_combine(cases[i].base, cases[i].name);

		ck_assert_str_eq(path, cases[i].want);
	}
	ck_assert(bd_path_has_protocol("nbd:x"));
	ck_assert(!bd_path_has_protocol("./a:b"));
	ck_assert(!bd_path_has_protocol("plain"));
	ck_assert(bd_path_is_absolute("file:/x"));
}
END_TEST

START_TEST(zero_scan)
{
	static uint8_t buf[8192];
	bool zero;

	for (size_t at = 0; at < 700; at++) {
		buf[at] = 1;
		ck_assert(!bd_is_zero(buf, at + 1));
		ck_assert(bd_is_zero(buf, at));
		ck_assert(bd_is_zero(buf + at + 1, 300));
		buf[at] = 0;
	}
	ck_assert(bd_is_zero(buf, 0));
	buf[1024] = buf[1600] = 1;
	ck_assert_uint_eq(bd_zero_run(buf, 16, &zero), 2);
	ck_assert(zero);
	ck_assert_uint_eq(bd_zero_run(buf + 1024, 14, &zero), 2);
	ck_assert(!zero);
	ck_assert_uint_eq(bd_zero_run(buf + 2048, 12, &zero), 12);
	ck_assert(zero);
	buf[1024] = buf[1600] = 0;
}
END_TEST

START_TEST(bucket)
{
	struct bd_bucket b;
	uint64_t now = 1000, wait;

	bd_bucket_init(&b, 1000, 0, now);
	/* Larger than the bucket, but the first passes. */
	ck_assert_uint_eq(bd_bucket_wait(&b, now), 0);
	bd_bucket_fill(&b, 600, now);
	wait = bd_bucket_wait(&b, now);
	ck_assert_uint_ge(wait, 500000000);
	ck_assert_uint_le(wait, 500000100);
	ck_assert_uint_eq(bd_bucket_wait(&b, now + wait), 0);
	bd_bucket_init(&b, 0, 0, now);
	bd_bucket_fill(&b, 1e18, now);
	ck_assert_uint_eq(bd_bucket_wait(&b, now), 0);
}
END_TEST

START_TEST(errors)
{
	struct bd_error err = {0};
	char *big = malloc(5000);

	ck_assert_int_eq(bd_fail(&err, -EINVAL, "a %d", 1), -EINVAL);
	bd_hint(&err, "try");
	bd_prefix(&err, "Could not open '%s': ", "x");
	ck_assert_str_eq(err.msg, "Could not open 'x': a 1");
	ck_assert_str_eq(err.hint, "try");
	ck_assert_int_eq(bd_fail_errno(&err, -ENOENT, "b"), -ENOENT);
	ck_assert_str_eq(err.msg, "b: No such file or directory");
	ck_assert_str_eq(err.hint, "");
	memset(big, 'x', 4999);
	big[4999] = '\0';
	bd_fail(&err, -1, "%s", big);
	bd_prefix(&err, "%s", big);
	ck_assert_uint_eq(strlen(err.msg), sizeof(err.msg) - 1);
	ck_assert_int_eq(bd_fail(NULL, -EIO, "x"), -EIO);
	bd_prefix(NULL, "x");
	free(big);
}
END_TEST

START_TEST(numbers)
{
	uint64_t out;

	ck_assert_uint_eq(be64_get(be64_make(0x0102030405060708)), 0x0102030405060708);
	ck_assert_uint_eq(be32_get(be32_make(0x81020304)), 0x81020304);
	ck_assert_uint_eq(be16_get(be16_make(0x8102)), 0x8102);
	ck_assert_uint_eq(round_up(513, 512), 1024);
	ck_assert_uint_eq(round_down(513, 512), 512);
	ck_assert(!checked_add(UINT64_MAX, 1, &out));
	ck_assert(!checked_mul(1ull << 33, 1ull << 33, &out));
	ck_assert_uint_eq(log2_floor(65536), 16);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("base");

	tcase_add_loop_test(tcase, parse_sizes, 0, sizeof(sizes) / sizeof(sizes[0]));
	tcase_add_test(tcase, parse_others);
	tcase_add_test(tcase, options_text);
	tcase_add_test(tcase, options_json);
	tcase_add_test(tcase, options_json_bad);
	tcase_add_test(tcase, options_json_many);
	tcase_add_test(tcase, strings);
	tcase_add_test(tcase, vectors);
	tcase_add_test(tcase, paths);
	tcase_add_test(tcase, zero_scan);
	tcase_add_test(tcase, bucket);
	tcase_add_test(tcase, errors);
	tcase_add_test(tcase, numbers);
	return suite_run("base", tcase, CK_NOFORK);
}
