/* SPDX-License-Identifier: MIT */
/* "throttle": limits of bytes and operations per second, given inline as "limits.*". */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "blockdev/base/bits.h"
#include "blockdev/base/bucket.h"
#include "blockdev/base/cleanup.h"
#include "blockdev/base/opts_take.h"
#include "blockdev/io/filter/filter.h"

/* A bucket counts operations or bytes, of all, reads or writes. */
static const struct {
	const char *name;
	bool bytes, reads, writes;
} kinds[] = {
	{ "bps-total", true, true, true },
	{ "bps-read", true, true, false },
	{ "bps-write", true, false, true },
	{ "iops-total", false, true, true },
	{ "iops-read", false, true, false },
	{ "iops-write", false, false, true },
};

#define NR_KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* Operations of one direction wait in line; only the first has a timer. */
struct line {
	struct throttle *throttle;
	struct link waiting;
	struct io_timer timer;
	bool write;
};

struct throttle {
	struct io_file file;
	struct bd_bucket buckets[NR_KINDS];
	uint64_t iops_size;    /* bytes that count as one operation; 0: any length */
	struct line lines[2];  /* reads, writes */
};

static struct throttle *to_throttle(struct io_file *file)
{
	return container_of(file, struct throttle, file);
}

static bool applies(size_t kind, bool write)
{
	return write ? kinds[kind].writes : kinds[kind].reads;
}

static uint64_t wait_of(struct throttle *throttle, bool write)
{
	uint64_t now = io_ctx_now(throttle->file.ctx), wait = 0;

	for (size_t i = 0; i < NR_KINDS; i++)
		if (applies(i, write))
			wait = max_u64(wait, bd_bucket_wait(&throttle->buckets[i], now));
	return wait;
}

static void pass(struct throttle *throttle, struct io_op *op, bool write)
{
	uint64_t now = io_ctx_now(throttle->file.ctx);
	double units = 1;

	if (throttle->iops_size && op->len > throttle->iops_size)
		units = (double)op->len / (double)throttle->iops_size;
	for (size_t i = 0; i < NR_KINDS; i++)
		if (applies(i, write))
			bd_bucket_fill(&throttle->buckets[i],
				       kinds[i].bytes ? (double)op->len : units, now);
	io_filter_forward(&throttle->file, op, NULL);
}

static void advance(struct line *line)
{
	struct throttle *throttle = line->throttle;

	while (!list_empty(&line->waiting)) {
		uint64_t wait = wait_of(throttle, line->write);

		if (wait) {
			io_timer_add(throttle->file.ctx, &line->timer,
				     io_ctx_now(throttle->file.ctx) + wait);
			return;
		}
		pass(throttle, container_of(list_pop(&line->waiting), struct io_op, link),
		     line->write);
	}
}

static void timer_fired(struct io_timer *timer)
{
	advance(container_of(timer, struct line, timer));
}

static void throttle_submit(struct io_file *file, struct io_op *op)
{
	struct throttle *throttle = to_throttle(file);
	struct line *line = &throttle->lines[op->kind != IO_READ];
	bool first = list_empty(&line->waiting);

	if (op->kind == IO_FLUSH || op->kind == IO_POLL || op->kind == IO_RESERVE) {
		io_filter_forward(file, op, NULL);
		return;
	}
	list_add_tail(&line->waiting, &op->link);
	if (first)
		advance(line);
}

static void throttle_close(struct io_file *file)
{
	struct throttle *throttle = to_throttle(file);

	for (int i = 0; i < 2; i++)
		io_timer_cancel(&throttle->lines[i].timer);
	free(throttle);
}

/* "limits.<name>", "limits.<name>-max" (burst) and "limits.<name>-max-length" (seconds of it). */
static int take_limit(struct throttle *throttle, size_t kind, struct bd_opts *opts,
		      struct bd_error *err)
{
	uint64_t value[3] = { 0, 0, 1 };
	static const char *const ends[] = { "", "-max", "-max-length" };

	for (int i = 0; i < 3; i++) {
		char key[64];
		int ret;

		snprintf(key, sizeof(key), "limits.%s%s", kinds[kind].name, ends[i]);
		ret = bd_opts_take_size(opts, key, &value[i], NULL, err);
		if (ret < 0)
			return ret;
	}
	if (value[1] && !value[0])
		return bd_fail(err, -EINVAL, "bps_max/iops_max require corresponding bps/iops "
			       "values");
	if (value[1] && value[1] < value[0])
		return bd_fail(err, -EINVAL, "bps_max/iops_max cannot be lower than bps/iops");
	bd_bucket_init(&throttle->buckets[kind], (double)value[0],
		       (double)value[1] * (double)value[2], io_ctx_now(throttle->file.ctx));
	return 0;
}

static int take_options(struct throttle *throttle, struct bd_opts *opts, struct bd_error *err)
{
	__cleanup(free) char *group = bd_opts_take(opts, "throttle-group");
	int ret = 0;

	if (group)
		return bd_fail(err, -ENOTSUP, "Throttle groups are not supported: "
			       "give limits.* to the driver");
	for (size_t i = 0; ret == 0 && i < NR_KINDS; i++)
		ret = take_limit(throttle, i, opts, err);
	if (ret == 0)
		ret = bd_opts_take_size(opts, "limits.iops-size", &throttle->iops_size, NULL, err);
	return ret;
}

static int throttle_open(struct io_ctx *ctx, struct bd_opts *opts, unsigned flags,
			 struct io_file **out, struct bd_error *err)
{
	struct throttle *throttle = calloc(1, sizeof(*throttle));
	struct io_file *child = NULL;
	int ret;

	if (!throttle)
		return bd_fail_errno(err, -ENOMEM, "Could not open driver 'throttle'");
	for (int i = 0; i < 2; i++) {
		struct line *line = &throttle->lines[i];

		line->throttle = throttle;
		line->write = i;
		line->timer.fire = timer_fired;
		list_init(&line->waiting);
		list_init(&line->timer.link);
	}
	ret = io_filter_open_child(ctx, opts, "file", flags, &child, err);
	if (ret == 0)
		ret = io_filter_init(&throttle->file, &io_throttle_driver, child, err);
	if (ret == 0)
		ret = take_options(throttle, opts, err);
	if (ret < 0) {
		io_filter_abort(&throttle->file);
		free(throttle);
		return ret;
	}
	*out = &throttle->file;
	return 0;
}

const struct io_file_ops io_throttle_driver = {
	.name = "throttle",
	.open = throttle_open,
	.close = throttle_close,
	.submit = throttle_submit,
	.length = io_filter_length,
	.resize = io_filter_resize,
	.hole = io_filter_hole,
	.event = io_filter_event,
	.allocated = io_filter_allocated,
};
