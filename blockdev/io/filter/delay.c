/* SPDX-License-Identifier: MIT */
/*
 * "delay": a slow disk.  An operation that does not start where the last one ended pays a seek;
 * all pay for their bytes.  @parallel seeks at once; the bytes go one operation after the other.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/base/cleanup.h"
#include "blockdev/base/opts_take.h"
#include "blockdev/io/filter/filter.h"

#define MAX_PARALLEL 64
#define NS_PER_S 1000000000u

struct preset {
	const char *name;
	uint64_t seek_us;   /* on average; each is 60 to 140 % of it */
	uint64_t rate;      /* bytes per second */
	uint64_t parallel;
};

static const struct preset presets[] = {
	{ "none", 0, 0, 1 },
	/* 100 random operations and 150 MB in a second. */
	{ "hdd", 10000, 150000000, 1 },
	/* 80 us, so about 12,000 one by one and 400,000 together, until the rate is the limit. */
	{ "ssd", 80, 500000000, 32 },
};

struct delay {
	struct io_file file;
	struct preset disk;
	uint64_t head_free[MAX_PARALLEL]; /* ns: when each seek place is free */
	uint64_t bus_free;                /* ns */
	uint64_t next_off;                /* byte where the last operation ended */
	uint64_t random;                  /* state of the generator */
};

/* An operation that waits for its time. */
struct delayed {
	struct io_timer timer;
	struct io_op *op;
};

static struct delay *to_delay(struct io_file *file)
{
	return container_of(file, struct delay, file);
}

/* 60 to 140 % of the average, evenly; always the same sequence, so that tests repeat. */
static uint64_t seek_ns(struct delay *delay)
{
	uint64_t avg = delay->disk.seek_us * 1000;

	delay->random = delay->random * 6364136223846793005u + 1442695040888963407u;
	return avg * 6 / 10 + avg * 8 / 10 * (delay->random >> 40) / (1u << 24);
}

/* When the disk is through with @op. */
static uint64_t finish_time(struct delay *delay, const struct io_op *op)
{
	uint64_t now = io_ctx_now(delay->file.ctx), start, end;
	bool data = op->kind == IO_READ || op->kind == IO_WRITE;
	unsigned best = 0;

	for (unsigned i = 1; i < delay->disk.parallel; i++)
		if (delay->head_free[i] < delay->head_free[best])
			best = i;
	start = max_u64(now, delay->head_free[best]);
	end = start;
	if (!data || op->off != delay->next_off)
		end += seek_ns(delay);
	if (data && delay->disk.rate) {
		end = max_u64(end, delay->bus_free);
		end += (uint64_t)((double)op->len / (double)delay->disk.rate * NS_PER_S);
		delay->bus_free = end;
	}
	if (data)
		delay->next_off = op->off + op->len;
	delay->head_free[best] = end;
	return end;
}

static void time_over(struct io_timer *timer)
{
	struct delayed *delayed = container_of(timer, struct delayed, timer);
	struct io_op *op = delayed->op;

	free(delayed);
	io_filter_forward(op->file, op, NULL);
}

static void delay_submit(struct io_file *file, struct io_op *op)
{
	bool instant = op->kind == IO_POLL || op->kind == IO_RESERVE;
	struct delayed *delayed = instant ? NULL : calloc(1, sizeof(*delayed));

	if (!delayed) {
		io_filter_forward(file, op, NULL);
		return;
	}
	delayed->op = op;
	delayed->timer.fire = time_over;
	io_timer_add(file->ctx, &delayed->timer, finish_time(to_delay(file), op));
}

static void delay_close(struct io_file *file)
{
	free(to_delay(file));
}

static int take_options(struct preset *disk, struct bd_opts *opts, struct bd_error *err)
{
	__cleanup(free) char *name = bd_opts_take(opts, "preset");
	size_t nr = sizeof(presets) / sizeof(presets[0]), i = 0;
	int ret;

	while (name && i < nr && strcmp(presets[i].name, name))
		i++;
	if (i == nr)
		return bd_fail(err, -EINVAL, "invalid parameter value: %s", name);
	*disk = presets[i];
	ret = bd_opts_take_number(opts, "seek-us", &disk->seek_us, NULL, err);
	if (ret == 0)
		ret = bd_opts_take_size(opts, "bytes-per-second", &disk->rate, NULL, err);
	if (ret == 0)
		ret = bd_opts_take_number(opts, "parallel", &disk->parallel, NULL, err);
	if (ret == 0 && (disk->parallel < 1 || disk->parallel > MAX_PARALLEL))
		ret = bd_fail(err, -EINVAL, "parallel must be between 1 and %d", MAX_PARALLEL);
	if (ret == 0 && disk->seek_us > 60u * 1000000)
		ret = bd_fail(err, -EINVAL, "seek-us must be at most 60000000");
	return ret;
}

static int delay_open(struct io_ctx *ctx, struct bd_opts *opts, unsigned flags,
		      struct io_file **out, struct bd_error *err)
{
	struct delay *delay = calloc(1, sizeof(*delay));
	struct io_file *child = NULL;
	int ret;

	if (!delay)
		return bd_fail_errno(err, -ENOMEM, "Could not open driver 'delay'");
	ret = io_filter_open_child(ctx, opts, "image", flags, &child, err);
	if (ret == 0)
		ret = io_filter_init(&delay->file, &io_delay_driver, child, err);
	if (ret == 0)
		ret = take_options(&delay->disk, opts, err);
	if (ret < 0) {
		io_filter_abort(&delay->file);
		free(delay);
		return ret;
	}
	delay->next_off = UINT64_MAX;
	*out = &delay->file;
	return 0;
}

const struct io_file_ops io_delay_driver = {
	.name = "delay",
	.open = delay_open,
	.close = delay_close,
	.submit = delay_submit,
	.length = io_filter_length,
	.resize = io_filter_resize,
	.hole = io_filter_hole,
	.event = io_filter_event,
	.allocated = io_filter_allocated,
};
