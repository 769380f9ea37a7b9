/* SPDX-License-Identifier: MIT */
/* Counters, latencies and error policies of a disk. */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "blockdev/include/backend.h"
#include "tests/unit/suite.h"

static json_int_t at(json_t *json, const char *key)
{
	ck_assert_msg(json_is_integer(json_object_get(json, key)), "%s", key);
	return json_integer_value(json_object_get(json, key));
}

START_TEST(counters)
{
	struct bd_account account = {0};
	json_t *json;

	bd_account_done(&account, BD_OP_WRITE, 1024, 512, bd_clock_ns(), false);
	bd_account_done(&account, BD_OP_WRITE, 8192, 512, bd_clock_ns(), true);
	bd_account_done(&account, BD_OP_READ, 65536, 4096, bd_clock_ns(), false);
	bd_account_done(&account, BD_OP_FLUSH, 0, 0, bd_clock_ns(), false);
	account.op[BD_OP_UNMAP].invalid++;
	json = bd_account_json(&account);
	ck_assert_int_eq(at(json, "wr_operations"), 1);
	ck_assert_int_eq(at(json, "wr_bytes"), 512);
	ck_assert_int_eq(at(json, "failed_wr_operations"), 1);
	ck_assert_int_eq(at(json, "wr_highest_offset"), 1536);
	ck_assert_int_eq(at(json, "rd_bytes"), 4096);
	ck_assert_int_eq(at(json, "flush_operations"), 1);
	ck_assert_int_eq(at(json, "invalid_unmap_operations"), 1);
	ck_assert_int_ge(at(json, "idle_time_ns"), 0);
	ck_assert_ptr_null(json_object_get(json, "rd_latency_histogram"));
	json_decref(json);
}
END_TEST

START_TEST(latencies)
{
	const uint64_t bounds[] = { 1000, UINT64_MAX };
	const uint64_t bad[][2] = { { 0, 5 }, { 5, 5 }, { 6, 5 } };
	uint64_t many[BD_HISTOGRAM_MAX + 1];
	struct bd_account account = {0};
	struct bd_histogram *histogram = &account.op[BD_OP_READ].latency;
	uint64_t now = bd_clock_ns();

	for (unsigned i = 0; i <= BD_HISTOGRAM_MAX; i++)
		many[i] = i + 1;
	ck_assert_int_eq(bd_histogram_set(histogram, many, BD_HISTOGRAM_MAX + 1), -EINVAL);
	for (unsigned i = 0; i < 3; i++)
		ck_assert_int_eq(bd_histogram_set(histogram, bad[i], 2), -EINVAL);
	ck_assert_int_eq(bd_histogram_set(histogram, bounds, 2), 0);
	/* One that began a second ago is above the first bound on any machine. */
	bd_account_done(&account, BD_OP_READ, 0, 512, now - 1000000000, false);
	ck_assert_uint_eq(histogram->bins[0] + histogram->bins[2], 0);
	ck_assert_uint_eq(histogram->bins[1], 1);
	/* New bounds count anew; none of them: nothing. */
	ck_assert_int_eq(bd_histogram_set(histogram, bounds, 1), 0);
	ck_assert_uint_eq(histogram->bins[1], 0);
	bd_account_done(&account, BD_OP_READ, 0, 512, now - 1000000000, true);
	ck_assert_uint_eq(histogram->bins[1], 1);
	ck_assert_int_eq(bd_histogram_set(histogram, NULL, 0), 0);
	ck_assert_uint_eq(histogram->nr, 0);
}
END_TEST

START_TEST(policies)
{
	struct bd_error err = {0};
	enum bd_policy policy = BD_POLICY_STOP;

	ck_assert_int_eq(bd_policy_parse("enospc", true, &policy, &err), -EINVAL);
	ck_assert_str_eq(err.msg, "'enospc' invalid read error action");
	ck_assert_int_eq(policy, BD_POLICY_STOP);
	ck_assert_int_eq(bd_policy_parse("enospc", false, &policy, &err), 0);
	ck_assert_int_eq(bd_policy_action(policy, -ENOSPC), BD_POLICY_STOP);
	ck_assert_int_eq(bd_policy_action(policy, -EIO), BD_POLICY_REPORT);
	ck_assert_int_eq(bd_policy_action(BD_POLICY_IGNORE, -EIO), BD_POLICY_IGNORE);
	ck_assert_int_eq(bd_policy_action(BD_POLICY_STOP, -ENOMEDIUM), BD_POLICY_REPORT);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("backend");

	tcase_add_test(tc, counters);
	tcase_add_test(tc, latencies);
	tcase_add_test(tc, policies);
	return suite_run("backend", tc, CK_NOFORK);
}
