/* SPDX-License-Identifier: MIT */
/* Files of any driver: open by options, defaults of optional hooks, blocking transfers. */
#include "blockdev/io/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/cleanup.h"
#include "blockdev/base/opts_take.h"
#include "blockdev/io/ctx.h"
#include "blockdev/io/drivers.h"

const struct io_file_ops *const io_drivers[] = {
	&io_file_driver,
	&io_host_device_driver,
	&io_null_driver,
	&io_null_aio_driver,
	&io_fault_driver,
	&io_delay_driver,
	&io_throttle_driver,
	&io_record_driver,
	NULL
};

int io_file_init(struct io_file *file, const struct io_file_ops *ops, struct io_ctx *ctx,
		 const char *filename, unsigned flags)
{
	file->ops = ops;
	file->ctx = ctx;
	file->flags = flags;
	file->request_align = 1;
	file->buffer_align = 1;
	file->fd = -1;
	list_init(&file->writes);
	list_init(&file->held);
	file->filename = strdup(filename);
	return file->filename ? 0 : -ENOMEM;
}

static const struct io_file_ops *find_driver(const char *name)
{
	for (size_t i = 0; io_drivers[i]; i++)
		if (!strcmp(io_drivers[i]->name, name))
			return io_drivers[i];
	/* As the name of a driver "raw" is the format; only below another one is it a file. */
	return strcmp(name, io_window_driver.name) ? NULL : &io_window_driver;
}

bool io_driver_exists(const char *name)
{
	return find_driver(name);
}

/* --- options ----------------------------------------------------------------------------- */

static int take_flag(struct bd_opts *opts, const char *key, unsigned bit, unsigned *flags,
		     struct bd_error *err)
{
	bool on = *flags & bit;
	int ret = bd_opts_take_bool(opts, key, &on, err);

	if (on)
		*flags |= bit;
	else
		*flags &= ~bit;
	return ret;
}

/* Options every driver has. */
static int take_common(struct bd_opts *opts, unsigned *flags, struct bd_error *err)
{
	/* Accepted where they change nothing here: the layer above decides. */
	static const char *const ignored[] = {
		"cache.writeback", "auto-read-only", "discard", "detect-zeroes", "node-name",
	};
	bool read_only = false;
	int ret;

	ret = take_flag(opts, "cache.direct", BD_O_DIRECT, flags, err);
	if (ret == 0)
		ret = take_flag(opts, "cache.no-flush", BD_O_NO_FLUSH, flags, err);
	if (ret == 0)
		ret = take_flag(opts, "force-share", BD_O_FORCE_SHARE, flags, err);
	if (ret == 0)
		ret = bd_opts_take_bool(opts, "read-only", &read_only, err);
	if (read_only)
		*flags &= ~(unsigned)(BD_O_RDWR | BD_O_RESIZE);
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		free(bd_opts_take(opts, ignored[i]));
	return ret;
}

/* The driver's name, from "driver" or from what "filename" looks like. */
static int take_driver(struct bd_opts *opts, char **driver, struct bd_error *err)
{
	char *name;
	int ret = 0;

	*driver = bd_opts_take(opts, "driver");
	if (*driver)
		return 0;
	name = bd_opts_take(opts, "filename");
	if (!name)
		return bd_fail(err, -EINVAL, "Must specify either driver or file");
	ret = io_name_to_opts(name, opts, err);
	free(name);
	*driver = ret < 0 ? NULL : bd_opts_take(opts, "driver");
	return ret < 0 || *driver ? ret : bd_fail(err, -EINVAL,
						  "Must specify either driver or file");
}

int io_open(struct io_ctx *ctx, struct bd_opts *opts, unsigned flags, struct io_file **out,
	    struct bd_error *err)
{
	__cleanup(free) char *driver = NULL;
	const struct io_file_ops *ops;
	unsigned asked = flags;
	int ret;

	*out = NULL;
	ret = take_driver(opts, &driver, err);
	if (ret < 0)
		return ret;
	ops = find_driver(driver);
	if (!ops)
		return bd_fail(err, -EINVAL, "Unknown driver '%s'", driver);
	ret = take_common(opts, &flags, err);
	if (ret < 0)
		return ret;
	ret = ops->open(ctx, opts, flags, out, err);
	if (ret < 0)
		return ret;
	(*out)->flags_on = flags & ~asked;
	(*out)->flags_off = asked & ~flags;
	if (bd_opts_count(opts)) {
		io_close(*out);
		*out = NULL;
		return bd_fail(err, -EINVAL, "Block protocol '%s' doesn't support the option '%s'",
			       ops->name, bd_opts_key(opts, 0));
	}
	return 0;
}

void io_close(struct io_file *file)
{
	struct io_ctx *ctx;

	if (!file)
		return;
	ctx = file->ctx;
	if (ctx->eng->forget)
		ctx->eng->forget(ctx->engine, file);
	io_close(file->child);
	free(file->filename);
	free(file->exact);
	file->ops->close(file);
}

/* --- optional hooks ---------------------------------------------------------------------- */

int64_t io_length(struct io_file *file)
{
	return file->ops->length(file);
}

int io_resize(struct io_file *file, uint64_t size, const char *prealloc, struct bd_error *err)
{
	struct io_ctx *ctx = file->ctx;

	if (!file->ops->resize)
		return bd_fail(err, -ENOTSUP, "Image format driver does not support resize");
	if (ctx->eng->forget)
		ctx->eng->forget(ctx->engine, file);
	return file->ops->resize(file, size, prealloc, err);
}

int io_hole(struct io_file *file, uint64_t off, uint64_t *len)
{
	return file->ops->hole ? file->ops->hole(file, off, len) : 0;
}

int64_t io_allocated(struct io_file *file)
{
	return file->ops->allocated ? file->ops->allocated(file) : -ENOTSUP;
}

void io_event(struct io_file *file, const char *name)
{
	if (file->ops->event)
		file->ops->event(file, name);
}

int io_reopen(struct io_file *file, unsigned flags, struct bd_error *err)
{
	int ret = 0;

	flags = (flags | file->flags_on) & ~file->flags_off;
	if (file->ops->reopen)
		ret = file->ops->reopen(file, flags, err);
	else if (file->child)
		ret = io_reopen(file->child, flags, err);
	if (ret == 0)
		file->flags = flags;
	return ret;
}

/* --- blocking transfers ------------------------------------------------------------------ */

static void wake_up(struct io_op *op)
{
	*(bool *)op->user = true;
}

static int run_blocking(struct io_op *op)
{
	bool finished = false;

	op->done = wake_up;
	op->user = &finished;
	io_op_submit(op);
	while (!finished) {
		/* The operation is on this stack: there is no way back from a broken engine. */
		if (io_ctx_poll(op->file->ctx, true) < 0)
			abort();
	}
	return op->res;
}

int io_pread(struct io_file *file, uint64_t off, void *buf, size_t len)
{
	struct iovec iov = { buf, len };
	struct io_op op = { .kind = IO_READ, .flags = IO_META, .file = file, .off = off,
			    .len = len, .iov = &iov, .niov = 1 };

	return run_blocking(&op);
}

int io_pwrite(struct io_file *file, uint64_t off, const void *buf, size_t len)
{
	struct iovec iov = { (void *)buf, len };
	struct io_op op = { .kind = IO_WRITE, .file = file, .off = off, .len = len,
			    .iov = &iov, .niov = 1 };

	return run_blocking(&op);
}

int io_pzero(struct io_file *file, uint64_t off, uint64_t len, unsigned io_flags)
{
	struct io_op op = { .kind = IO_ZERO, .flags = io_flags, .file = file, .off = off,
			    .len = len };

	return run_blocking(&op);
}

int io_pdiscard(struct io_file *file, uint64_t off, uint64_t len)
{
	struct io_op op = { .kind = IO_DISCARD, .file = file, .off = off, .len = len };

	return run_blocking(&op);
}

int io_pflush(struct io_file *file)
{
	struct io_op op = { .kind = IO_FLUSH, .file = file };

	return run_blocking(&op);
}
