/* SPDX-License-Identifier: MIT */
/* Accounting and error policies. */
#include "blockdev/include/backend.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const char *const names[BD_OP_KINDS] = { "rd", "wr", "flush", "unmap" };

uint64_t bd_clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* --- accounting -------------------------------------------------------------------------- */

static void count_latency(struct bd_histogram *histogram, uint64_t ns)
{
	unsigned bin = 0;

	if (!histogram->nr)
		return;
	while (bin < histogram->nr && ns >= histogram->bounds[bin])
		bin++;
	histogram->bins[bin]++;
}

void bd_account_done(struct bd_account *account, enum bd_op_kind op, uint64_t off, uint64_t len,
		     uint64_t start_ns, bool failed)
{
	struct bd_op_stats *stats = &account->op[op];
	uint64_t now = bd_clock_ns();

	account->last_ns = now;
	stats->total_time_ns += now - start_ns;
	count_latency(&stats->latency, now - start_ns);
	if (failed) {
		stats->failed++;
		return;
	}
	stats->operations++;
	stats->bytes += len;
	if (op == BD_OP_WRITE && len && off + len > account->wr_highest_offset)
		account->wr_highest_offset = off + len;
}

int bd_histogram_set(struct bd_histogram *histogram, const uint64_t *bounds, size_t nr)
{
	uint64_t last = 0;

	if (nr > BD_HISTOGRAM_MAX)
		return -EINVAL;
	for (size_t i = 0; i < nr; i++) {
		if (bounds[i] <= last)
			return -EINVAL;
		last = bounds[i];
	}
	*histogram = (struct bd_histogram){ .nr = (unsigned)nr };
	if (nr)
		memcpy(histogram->bounds, bounds, nr * sizeof(*bounds));
	return 0;
}

static void add(json_t *json, const char *format, const char *name, json_t *value)
{
	char key[64];

	snprintf(key, sizeof(key), format, name);
	json_object_set_new(json, key, value);
}

static json_t *number(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static json_t *histogram_json(const struct bd_histogram *histogram)
{
	json_t *bounds = json_array(), *bins = json_array();

	for (unsigned i = 0; i <= histogram->nr; i++) {
		if (i < histogram->nr)
			json_array_append_new(bounds, number(histogram->bounds[i]));
		json_array_append_new(bins, number(histogram->bins[i]));
	}
	return json_pack("{s:o, s:o}", "boundaries", bounds, "bins", bins);
}

json_t *bd_account_json(const struct bd_account *account)
{
	json_t *json = json_pack("{s:b, s:b, s:[]}", "account_invalid", 1, "account_failed", 1,
				 "timed_stats");

	for (unsigned i = 0; json && i < BD_OP_KINDS; i++) {
		const struct bd_op_stats *op = &account->op[i];

		add(json, "%s_bytes", names[i], number(op->bytes));
		add(json, "%s_operations", names[i], number(op->operations));
		add(json, "%s_total_time_ns", names[i], number(op->total_time_ns));
		add(json, "%s_merged", names[i], number(0));
		add(json, "failed_%s_operations", names[i], number(op->failed));
		add(json, "invalid_%s_operations", names[i], number(op->invalid));
		if (op->latency.nr)
			add(json, "%s_latency_histogram", names[i], histogram_json(&op->latency));
	}
	add(json, "wr_highest_offset", "", number(account->wr_highest_offset));
	if (account->last_ns)
		add(json, "idle_time_ns", "", number(bd_clock_ns() - account->last_ns));
	return json;
}

/* --- policies ---------------------------------------------------------------------------- */

int bd_policy_parse(const char *name, bool for_read, enum bd_policy *policy, struct bd_error *err)
{
	static const char *const words[] = {
		[BD_POLICY_REPORT] = "report", [BD_POLICY_IGNORE] = "ignore",
		[BD_POLICY_STOP] = "stop", [BD_POLICY_ENOSPC] = "enospc",
	};

	for (unsigned i = 0; i < (for_read ? 3 : 4); i++) {
		if (!strcmp(name, words[i])) {
			*policy = (enum bd_policy)i;
			return 0;
		}
	}
	return bd_fail(err, -EINVAL, "'%s' invalid %s error action", name,
		       for_read ? "read" : "write");
}

enum bd_policy bd_policy_action(enum bd_policy policy, int error)
{
	/* An image found corrupt at run time is gone for good: nothing to wait for. */
	if (error == -ENOMEDIUM)
		return BD_POLICY_REPORT;
	if (policy == BD_POLICY_ENOSPC)
		return error == -ENOSPC ? BD_POLICY_STOP : BD_POLICY_REPORT;
	return policy;
}
