/* SPDX-License-Identifier: MIT */
/*
 * "blkdebug": operations fail or are held by rule.  An event is named by the layer above before
 * the operation it is about; a breakpoint holds the operation that follows its event.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/base/cleanup.h"
#include "blockdev/base/opts_take.h"
#include "blockdev/io/filter/fault_rules.h"
#include "blockdev/io/filter/filter.h"

struct held {
	struct link link;
	struct io_op *op;
	char *tag;
};

struct fault {
	struct io_file file;
	struct fault_rules rules;
	char *next_tag;        /* a breakpoint has been hit: holds the next operation */
	struct link held;
};

static struct fault *to_fault(struct io_file *file)
{
	return container_of(file, struct fault, file);
}

static void fault_event(struct io_file *file, const char *name)
{
	struct fault *fault = to_fault(file);
	int event = io_fault_event(name);
	char *tag = event < 0 ? NULL : io_fault_happen(&fault->rules, event);

	if (tag) {
		free(fault->next_tag);
		fault->next_tag = tag;
	}
	io_event(file->child, name);
}

static void after_write(struct io_file *file, struct io_op *op)
{
	(void)op;
	fault_event(file, "pwritev_done");
}

/* Decide and pass down. */
static void run(struct io_file *file, struct io_op *op)
{
	bool write = op->kind == IO_WRITE || op->kind == IO_ZERO;
	int error = io_fault_check(&to_fault(file)->rules, op);

	if (error)
		io_ctx_complete(file->ctx, op, -error);
	else
		io_filter_forward(file, op, write ? after_write : NULL);
}

/* The events QEMU's block layer raises for each request of the file itself. */
static void own_events(struct io_file *file, const struct io_op *op)
{
	if (op->kind == IO_WRITE)
		fault_event(file, "pwritev");
	if (op->kind == IO_ZERO)
		fault_event(file, "pwritev_zero");
	if (op->kind == IO_FLUSH) {
		fault_event(file, "flush_to_os");
		fault_event(file, "flush_to_disk");
	}
}

static void fault_submit(struct io_file *file, struct io_op *op)
{
	struct fault *fault = to_fault(file);
	struct held *held;

	own_events(file, op);
	if (!fault->next_tag) {
		run(file, op);
		return;
	}
	held = calloc(1, sizeof(*held));
	if (!held) {
		io_ctx_complete(file->ctx, op, -ENOMEM);
		return;
	}
	held->op = op;
	held->tag = fault->next_tag;
	fault->next_tag = NULL;
	list_add_tail(&fault->held, &held->link);
	/* For people and for scripts that compare output, as QEMU says it. */
	printf("blkdebug: Suspended request '%s'\n", held->tag);
}

/* --- breakpoints ------------------------------------------------------------------------- */

static struct held *find_held(struct fault *fault, const char *tag)
{
	for (struct link *i = fault->held.next; i != &fault->held; i = i->next) {
		struct held *held = container_of(i, struct held, link);

		if (!strcmp(held->tag, tag))
			return held;
	}
	return NULL;
}

static int fault_resume(struct io_file *file, const char *tag)
{
	struct held *held = find_held(to_fault(file), tag);

	if (!held)
		return -ENOENT;
	printf("blkdebug: Resuming request '%s'\n", tag);
	list_del(&held->link);
	run(file, held->op);
	free(held->tag);
	free(held);
	return 0;
}

static int fault_breakpoint(struct io_file *file, const char *event, const char *tag)
{
	int idx = io_fault_event(event);

	return idx < 0 ? -ENOENT : io_fault_add_break(&to_fault(file)->rules, idx, tag);
}

static int fault_remove_break(struct io_file *file, const char *tag)
{
	int ret = io_fault_remove_break(&to_fault(file)->rules, tag);

	while (fault_resume(file, tag) == 0)
		;
	return ret;
}

static bool fault_is_suspended(struct io_file *file, const char *tag)
{
	return find_held(to_fault(file), tag);
}

/* --- open -------------------------------------------------------------------------------- */

static void fault_close(struct io_file *file)
{
	struct fault *fault = to_fault(file);

	io_fault_clear(&fault->rules);
	free(fault->next_tag);
	free(fault);
}

static int take_rules(struct fault *fault, struct bd_opts *opts, char **config,
		      struct bd_error *err)
{
	int ret = 0;

	*config = bd_opts_take(opts, "config");
	if (*config && **config)
		ret = io_fault_read_config(*config, opts, err);
	return ret < 0 ? ret : io_fault_parse(&fault->rules, opts, err);
}

/* Limits QEMU lets a test set; those about sizes of zero and discard requests change nothing. */
static int take_limits(struct io_file *file, struct bd_opts *opts, struct bd_error *err)
{
	static const char *const names[] = {
		"max-transfer", "opt-write-zero", "max-write-zero", "opt-discard", "max-discard",
	};
	uint64_t align = 0, max = 0, value;
	int ret = bd_opts_take_size(opts, "align", &align, NULL, err);

	if (ret == 0 && align && (align >= INT32_MAX || !is_pow2(align)))
		return bd_fail(err, -EINVAL, "Cannot meet constraints with align %llu",
			       (unsigned long long)align);
	for (size_t i = 0; ret == 0 && i < sizeof(names) / sizeof(names[0]); i++) {
		value = 0;
		ret = bd_opts_take_size(opts, names[i], &value, NULL, err);
		if (ret == 0 && align && value % align)
			return bd_fail(err, -EINVAL, "Cannot meet constraints with %s %llu",
				       names[i], (unsigned long long)value);
		max = i ? max : value;
	}
	free(bd_opts_take(opts, "take-child-perms"));
	free(bd_opts_take(opts, "unshare-child-perms"));
	if (ret < 0)
		return ret;
	if (align)
		file->request_align = (uint32_t)align;
	if (max && max < UINT32_MAX)
		file->max_transfer = (uint32_t)max;
	return 0;
}

/* All of @given, what was said about this file alone, and the file below. */
static char *json_name(const struct io_file *file, struct bd_opts *given)
{
	__cleanup(free) char *json = NULL;
	char *name;

	if (bd_opts_set(given, "driver", "blkdebug") < 0 ||
	    bd_opts_set(given, "image.driver", file->child->ops->name) < 0 ||
	    bd_opts_set(given, "image.filename", file->child->filename) < 0)
		return NULL;
	json = bd_opts_to_json(given);
	return json && asprintf(&name, "json:%s", json) >= 0 ? name : NULL;
}

/* "blkdebug:config:image" where that says everything. */
static int set_name(struct io_file *file, struct bd_opts *given, struct bd_error *err)
{
	const char *config = bd_opts_get(given, "config");
	char *name;

	if (bd_opts_count(given) > (config != NULL))
		name = json_name(file, given);
	else if (asprintf(&name, "blkdebug:%s:%s", config ? config : "",
			  file->child->filename) < 0)
		name = NULL;
	if (!name)
		return bd_fail_errno(err, -ENOMEM, "Could not open driver 'blkdebug'");
	free(file->filename);
	file->filename = name;
	return 0;
}

static int open_above(struct fault *fault, struct bd_opts *opts, struct bd_error *err)
{
	__cleanup(opts) struct bd_opts *given = bd_opts_copy(opts);
	__cleanup(free) char *config = NULL;
	int ret = given ? take_rules(fault, opts, &config, err) : -ENOMEM;

	if (ret == 0)
		ret = set_name(&fault->file, given, err);
	if (ret == 0)
		ret = take_limits(&fault->file, opts, err);
	if (ret == 0)
		fault_event(&fault->file, "none");
	return ret;
}

static int fault_open(struct io_ctx *ctx, struct bd_opts *opts, unsigned flags,
		      struct io_file **out, struct bd_error *err)
{
	struct fault *fault = calloc(1, sizeof(*fault));
	struct io_file *child = NULL;
	int ret;

	if (!fault)
		return bd_fail_errno(err, -ENOMEM, "Could not open driver 'blkdebug'");
	list_init(&fault->held);
	io_fault_init(&fault->rules);
	ret = io_filter_open_child(ctx, opts, bd_opts_get(opts, "x-image") ? "x-image" : "image",
				   flags, &child, err);
	if (ret == 0)
		ret = io_filter_init(&fault->file, &io_fault_driver, child, err);
	if (ret == 0)
		ret = open_above(fault, opts, err);
	if (ret < 0) {
		io_filter_abort(&fault->file);
		fault_close(&fault->file);
		return ret;
	}
	*out = &fault->file;
	return 0;
}

const struct io_file_ops io_fault_driver = {
	.name = "blkdebug",
	.open = fault_open,
	.close = fault_close,
	.submit = fault_submit,
	.length = io_filter_length,
	.resize = io_filter_resize,
	.hole = io_filter_hole,
	.event = fault_event,
	.allocated = io_filter_allocated,
	.breakpoint = fault_breakpoint,
	.remove_break = fault_remove_break,
	.resume = fault_resume,
	.is_suspended = fault_is_suspended,
};
