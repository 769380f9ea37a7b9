/* SPDX-License-Identifier: MIT */
/* Rules of fault injection; names, options and meaning are those of QEMU's blkdebug. */
#include "blockdev/io/filter/fault_rules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/cleanup.h"
#include "blockdev/base/opts_take.h"
#include "blockdev/io/drivers.h"

static const char *const event_names[] = {
	"l1_update", "l1_grow_alloc_table", "l1_grow_write_table", "l1_grow_activate_table",
	"l2_load", "l2_update", "l2_update_compressed", "l2_alloc_cow_read", "l2_alloc_write",
	"read_aio", "read_backing_aio", "read_compressed", "write_aio", "write_compressed",
	"vmstate_load", "vmstate_save", "cow_read", "cow_write", "reftable_load",
	"reftable_grow", "reftable_update", "refblock_load", "refblock_update",
	"refblock_update_part", "refblock_alloc", "refblock_alloc_hookup",
	"refblock_alloc_write", "refblock_alloc_write_blocks", "refblock_alloc_write_table",
	"refblock_alloc_switch_table", "cluster_alloc", "cluster_alloc_bytes", "cluster_free",
	"flush_to_os", "flush_to_disk", "pwritev_rmw_head", "pwritev_rmw_after_head",
	"pwritev_rmw_tail", "pwritev_rmw_after_tail", "pwritev", "pwritev_zero",
	"pwritev_done", "empty_image_prepare", "l1_shrink_write_table",
	"l1_shrink_free_l2_clusters", "cor_write", "cluster_alloc_space", "none",
};

/* As QEMU's enum: block-status is no operation here and never matches. */
static const struct {
	const char *name;
	unsigned kinds;
} iotypes[] = {
	{ "read", 1u << IO_READ },
	{ "write", 1u << IO_WRITE },
	{ "write-zeroes", 1u << IO_ZERO },
	{ "discard", 1u << IO_DISCARD },
	{ "flush", 1u << IO_FLUSH },
	{ "block-status", 0 },
};

#define ALL_KINDS (1u << IO_READ | 1u << IO_WRITE | 1u << IO_ZERO | 1u << IO_DISCARD | \
		   1u << IO_FLUSH)
#define SECTOR 512u

void io_fault_init(struct fault_rules *rules)
{
	list_init(&rules->all);
	list_init(&rules->active);
	rules->state = 1;
}

static void rule_free(struct fault_rule *rule)
{
	list_del(&rule->link);
	list_del(&rule->active);
	free(rule->tag);
	free(rule);
}

void io_fault_clear(struct fault_rules *rules)
{
	while (!list_empty(&rules->all))
		rule_free(container_of(rules->all.next, struct fault_rule, link));
}

int io_fault_event(const char *name)
{
	for (size_t i = 0; i < sizeof(event_names) / sizeof(event_names[0]); i++)
		if (!strcmp(event_names[i], name))
			return (int)i;
	return -ENOENT;
}

static struct fault_rule *rule_new(struct fault_rules *rules, enum fault_action action)
{
	struct fault_rule *rule = calloc(1, sizeof(*rule));

	if (!rule)
		return NULL;
	rule->action = action;
	rule->error = EIO;
	rule->off = UINT64_MAX;
	rule->kinds = ALL_KINDS;
	list_init(&rule->active);
	list_add_tail(&rules->all, &rule->link);
	return rule;
}

/* --- options ----------------------------------------------------------------------------- */

static int take_kinds(struct fault_rule *rule, struct bd_opts *opts, struct bd_error *err)
{
	__cleanup(free) char *text = bd_opts_take(opts, "iotype");

	if (!text)
		return 0;
	for (size_t i = 0; i < sizeof(iotypes) / sizeof(iotypes[0]); i++) {
		if (strcmp(iotypes[i].name, text))
			continue;
		rule->kinds = iotypes[i].kinds;
		return 0;
	}
	return bd_fail(err, -EINVAL, "invalid parameter value: %s", text);
}

static int take_inject(struct fault_rule *rule, struct bd_opts *opts, struct bd_error *err)
{
	uint64_t sector = UINT64_MAX, number = (uint64_t)rule->error;
	bool immediately = false;
	int ret;

	ret = bd_opts_take_number(opts, "errno", &number, NULL, err);
	if (ret == 0)
		ret = bd_opts_take_number(opts, "sector", &sector, NULL, err);
	if (ret == 0)
		ret = bd_opts_take_bool(opts, "once", &rule->once, err);
	/* Whether an operation fails at once or a moment later is the same here. */
	if (ret == 0)
		ret = bd_opts_take_bool(opts, "immediately", &immediately, err);
	if (ret == 0)
		ret = take_kinds(rule, opts, err);
	rule->error = number < 4096 ? (int)number : EIO;
	if (sector <= INT64_MAX / SECTOR)
		rule->off = sector * SECTOR;
	return ret;
}

static int take_rule(struct fault_rules *rules, enum fault_action action, struct bd_opts *opts,
		     struct bd_error *err)
{
	__cleanup(free) char *event = bd_opts_take(opts, "event");
	struct fault_rule *rule = rule_new(rules, action);
	int ret;

	if (!rule)
		return bd_fail_errno(err, -ENOMEM, "Could not set up fault injection");
	if (!event)
		return bd_fail(err, -EINVAL, "Missing event name for rule");
	rule->event = io_fault_event(event);
	if (rule->event < 0)
		return bd_fail(err, -EINVAL, "invalid parameter value: %s", event);
	ret = bd_opts_take_number(opts, "state", &rule->state, NULL, err);
	if (ret == 0 && action == FAULT_SET_STATE)
		ret = bd_opts_take_number(opts, "new_state", &rule->new_state, NULL, err);
	if (ret == 0 && action == FAULT_INJECT)
		ret = take_inject(rule, opts, err);
	if (ret == 0 && bd_opts_count(opts))
		ret = bd_fail(err, -EINVAL, "[%s] section doesn't support the option '%s'",
			      action == FAULT_INJECT ? "inject-error" : "set-state",
			      bd_opts_key(opts, 0));
	return ret;
}

/* "<section>.<number>.<option>"; each number is one rule. */
static int take_section(struct fault_rules *rules, enum fault_action action,
			const char *section, struct bd_opts *opts, struct bd_error *err)
{
	size_t len = strlen(section), i = 0;

	while (i < bd_opts_count(opts)) {
		__cleanup(opts) struct bd_opts *sub = bd_opts_new();
		const char *key = bd_opts_key(opts, i), *dot;
		char prefix[64];
		int ret;

		dot = !strncmp(key, section, len) ? strchr(key + len, '.') : NULL;
		if (!dot || (size_t)(dot + 1 - key) >= sizeof(prefix)) {
			i++;
			continue;
		}
		snprintf(prefix, sizeof(prefix), "%.*s", (int)(dot + 1 - key), key);
		if (!sub)
			return bd_fail_errno(err, -ENOMEM, "Could not set up fault injection");
		if (!bd_opts_take_prefix(opts, prefix, sub))
			return bd_fail_errno(err, -ENOMEM, "Could not set up fault injection");
		ret = take_rule(rules, action, sub, err);
		if (ret < 0)
			return ret;
	}
	return 0;
}

int io_fault_parse(struct fault_rules *rules, struct bd_opts *opts, struct bd_error *err)
{
	int ret = take_section(rules, FAULT_INJECT, "inject-error.", opts, err);

	return ret < 0 ? ret : take_section(rules, FAULT_SET_STATE, "set-state.", opts, err);
}

/* --- configuration file ------------------------------------------------------------------ */

struct section {
	char name[32];       /* "inject-error" */
	unsigned nr;         /* of the section, over all kinds */
};

static const char *const option_names[] = {
	"event", "state", "errno", "sector", "once", "immediately", "iotype", "new_state",
};

static int config_option(const struct section *section, const char *name, const char *value,
			 struct bd_opts *opts, struct bd_error *err)
{
	char key[128];
	size_t i;

	for (i = 0; i < sizeof(option_names) / sizeof(option_names[0]); i++)
		if (!strcmp(option_names[i], name))
			break;
	if (i == sizeof(option_names) / sizeof(option_names[0]))
		return bd_fail(err, -EINVAL, "Invalid parameter '%s'", name);
	snprintf(key, sizeof(key), "%s.config%u.%s", section->name, section->nr, name);
	if (bd_opts_set(opts, key, value) < 0)
		return bd_fail_errno(err, -ENOMEM, "Could not read blkdebug config file");
	return 0;
}

static int config_line(struct section *section, const char *line, struct bd_opts *opts,
		       struct bd_error *err)
{
	char name[64], value[256] = "";
	char end;

	if (sscanf(line, " %c", &end) != 1 || end == '#')
		return 0;
	if (sscanf(line, " [%31[^]\" ]]", section->name) == 1) {
		section->nr++;
		if (!strcmp(section->name, "inject-error") || !strcmp(section->name, "set-state"))
			return 0;
		return bd_fail(err, -EINVAL, "There is no option group '%s'", section->name);
	}
	if (sscanf(line, " %63[^ =] = \"%255[^\"]\"", name, value) < 1 || !strchr(line, '='))
		return bd_fail(err, -EINVAL, "parse error");
	if (!section->nr)
		return bd_fail(err, -EINVAL, "no group defined");
	return config_option(section, name, value, opts, err);
}

int io_fault_read_config(const char *path, struct bd_opts *opts, struct bd_error *err)
{
	FILE *file = fopen(path, "re");
	struct section section = {0};
	char line[512];
	int ret = 0;

	if (!file)
		return bd_fail_errno(err, -errno, "Could not read blkdebug config file");
	while (ret == 0 && fgets(line, sizeof(line), file))
		ret = config_line(&section, line, opts, err);
	if (ret == 0 && ferror(file))
		ret = bd_fail_errno(err, -EIO, "Could not read blkdebug config file");
	fclose(file);
	return ret;
}

/* --- running ----------------------------------------------------------------------------- */

char *io_fault_happen(struct fault_rules *rules, int event)
{
	uint64_t state = rules->state;
	bool injected = false;
	char *tag = NULL;
	struct link *i, *next;

	for (i = rules->all.next; i != &rules->all; i = next) {
		struct fault_rule *rule = container_of(i, struct fault_rule, link);

		next = i->next;
		if (rule->event != event || (rule->state && rule->state != state))
			continue;
		if (rule->action == FAULT_SET_STATE) {
			rules->state = rule->new_state;
		} else if (rule->action == FAULT_INJECT) {
			/* The first of an event puts earlier events' rules out of force. */
			while (!injected && list_pop(&rules->active))
				;
			injected = true;
			list_del(&rule->active);
			list_add_head(&rules->active, &rule->active);
		} else if (!tag) {
			tag = rule->tag;
			rule->tag = NULL;
			rule_free(rule);
		}
	}
	return tag;
}

static bool matches(const struct fault_rule *rule, const struct io_op *op)
{
	if (!(rule->kinds & 1u << op->kind))
		return false;
	return rule->off == UINT64_MAX || (rule->off >= op->off && rule->off - op->off < op->len);
}

int io_fault_check(struct fault_rules *rules, const struct io_op *op)
{
	for (struct link *i = rules->active.next; i != &rules->active; i = i->next) {
		struct fault_rule *rule = container_of(i, struct fault_rule, active);
		int error = rule->error;

		if (!matches(rule, op))
			continue;
		if (rule->once)
			rule_free(rule);
		return error;
	}
	return 0;
}

int io_fault_add_break(struct fault_rules *rules, int event, const char *tag)
{
	struct fault_rule *rule = rule_new(rules, FAULT_SUSPEND);

	if (!rule)
		return -ENOMEM;
	rule->event = event;
	rule->tag = strdup(tag);
	if (rule->tag)
		return 0;
	rule_free(rule);
	return -ENOMEM;
}

int io_fault_remove_break(struct fault_rules *rules, const char *tag)
{
	struct link *i, *next;
	int ret = -ENOENT;

	for (i = rules->all.next; i != &rules->all; i = next) {
		struct fault_rule *rule = container_of(i, struct fault_rule, link);

		next = i->next;
		if (rule->action != FAULT_SUSPEND || strcmp(rule->tag, tag))
			continue;
		rule_free(rule);
		ret = 0;
	}
	return ret;
}
