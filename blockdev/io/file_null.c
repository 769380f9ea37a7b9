/* SPDX-License-Identifier: MIT */
/* null-co and null-aio: a file of any size that reads as zeros and forgets what is written. */
#include <errno.h>
#include <stdlib.h>

#include "blockdev/base/cleanup.h"
#include "blockdev/base/iov.h"
#include "blockdev/base/opts_take.h"
#include "blockdev/io/drivers.h"

struct null_file {
	struct io_file file;
	uint64_t size;         /* bytes */
	uint64_t latency_ns;
	bool read_zeroes;      /* the layer above may know that it reads as zeros */
	struct link waiting;   /* operations, oldest first, while there is a latency */
	struct io_timer timer;
};

static void null_close(struct io_file *file)
{
	struct null_file *null = container_of(file, struct null_file, file);

	io_timer_cancel(&null->timer);
	free(null);
}

static void finish(struct io_file *file, struct io_op *op)
{
	/* Also without read-zeroes: nobody gets to see old memory. */
	if (op->kind == IO_READ)
		bd_iov_memset(op->iov, op->niov, 0, 0, op->len);
	io_ctx_complete(file->ctx, op, 0);
}

static void latency_over(struct io_timer *timer)
{
	struct null_file *null = container_of(timer, struct null_file, timer);
	struct io_ctx *ctx = null->file.ctx;

	while (!list_empty(&null->waiting)) {
		struct io_op *op = container_of(null->waiting.next, struct io_op, link);
		uint64_t when = (uint64_t)op->raw;

		if (when > io_ctx_now(ctx)) {
			io_timer_add(ctx, timer, when);
			return;
		}
		list_del(&op->link);
		finish(&null->file, op);
	}
}

static void null_submit(struct io_file *file, struct io_op *op)
{
	struct null_file *null = container_of(file, struct null_file, file);

	if (!null->latency_ns) {
		finish(file, op);
		return;
	}
	op->raw = (int64_t)(io_ctx_now(file->ctx) + null->latency_ns);
	if (list_empty(&null->waiting))
		io_timer_add(file->ctx, &null->timer, (uint64_t)op->raw);
	list_add_tail(&null->waiting, &op->link);
}

static int64_t null_length(struct io_file *file)
{
	return (int64_t)container_of(file, struct null_file, file)->size;
}

static int null_hole(struct io_file *file, uint64_t off, uint64_t *len)
{
	(void)off;
	(void)len;
	return container_of(file, struct null_file, file)->read_zeroes;
}

static int64_t null_allocated(struct io_file *file)
{
	(void)file;
	return 0;
}

static int take_options(struct null_file *null, struct bd_opts *opts, struct bd_error *err)
{
	int ret = bd_opts_take_size(opts, "size", &null->size, NULL, err);

	if (ret == 0)
		ret = bd_opts_take_number(opts, "latency-ns", &null->latency_ns, NULL, err);
	if (ret == 0)
		ret = bd_opts_take_bool(opts, "read-zeroes", &null->read_zeroes, err);
	if (ret == 0 && null->latency_ns > INT64_MAX / 2)
		ret = bd_fail(err, -EINVAL, "latency-ns is invalid");
	return ret;
}

/* What is read from the device does not depend on how long it takes. */
static char *null_name(const struct io_file_ops *ops, const struct bd_opts *opts)
{
	__cleanup(opts) struct bd_opts *given = bd_opts_copy(opts);
	__cleanup(free) char *json = NULL;
	char *name;

	if (!given)
		return NULL;
	free(bd_opts_take(given, "latency-ns"));
	if (!bd_opts_count(given))
		return asprintf(&name, "%s://", ops->name) < 0 ? NULL : name;
	if (bd_opts_set(given, "driver", ops->name) < 0)
		return NULL;
	json = bd_opts_to_json(given);
	return !json || asprintf(&name, "json:%s", json) < 0 ? NULL : name;
}

static int open_null(const struct io_file_ops *ops, struct io_ctx *ctx, struct bd_opts *opts,
		     unsigned flags, struct io_file **out, struct bd_error *err)
{
	struct null_file *null = calloc(1, sizeof(*null));
	char *name = null_name(ops, opts);
	int ret = -ENOMEM;

	if (!null || !name)
		goto out;
	null->size = 1ull << 30;
	list_init(&null->waiting);
	list_init(&null->timer.link);
	null->timer.fire = latency_over;
	ret = io_file_init(&null->file, ops, ctx, name, flags);
	if (ret == 0)
		ret = take_options(null, opts, err);
	null->file.can_zero = true;
	null->file.can_unmap = true;
	null->file.zero_init = null->read_zeroes;
out:
	if (ret < 0 && null)
		free(null->file.filename);
	if (ret < 0)
		free(null);
	*out = ret < 0 ? NULL : &null->file;
	free(name);
	return ret == -ENOMEM ? bd_fail_errno(err, ret, "Could not open null device") : ret;
}

static int null_co_open(struct io_ctx *ctx, struct bd_opts *opts, unsigned flags,
			struct io_file **out, struct bd_error *err)
{
	return open_null(&io_null_driver, ctx, opts, flags, out, err);
}

static int null_aio_open(struct io_ctx *ctx, struct bd_opts *opts, unsigned flags,
			 struct io_file **out, struct bd_error *err)
{
	return open_null(&io_null_aio_driver, ctx, opts, flags, out, err);
}

const struct io_file_ops io_null_driver = {
	.name = "null-co",
	.open = null_co_open,
	.close = null_close,
	.submit = null_submit,
	.length = null_length,
	.hole = null_hole,
	.allocated = null_allocated,
};

const struct io_file_ops io_null_aio_driver = {
	.name = "null-aio",
	.open = null_aio_open,
	.close = null_close,
	.submit = null_submit,
	.length = null_length,
	.hole = null_hole,
	.allocated = null_allocated,
};
