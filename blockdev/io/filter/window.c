/* SPDX-License-Identifier: MIT */
/* "raw" where a file is expected: a part of the file below.  Like: QEMU's file.driver=raw. */
#include <errno.h>
#include <stdlib.h>

#include "blockdev/base/bits.h"
#include "blockdev/base/iov.h"
#include "blockdev/base/opts_take.h"
#include "blockdev/io/filter/filter.h"

struct window {
	struct io_file file;
	uint64_t off, size;  /* bytes of the file below; size: only if @fixed */
	bool fixed;
};

static struct window *to_window(struct io_file *file)
{
	return container_of(file, struct window, file);
}

static int64_t window_length(struct io_file *file)
{
	const struct window *window = to_window(file);
	int64_t length = window->fixed ? (int64_t)window->size : io_length(file->child);

	if (window->fixed || length < 0)
		return length;
	return (uint64_t)length > window->off ? length - (int64_t)window->off : 0;
}

/* What lies behind the window is not to be seen: it reads as zeros, as behind any file. */
static void hide_rest(struct io_file *file, struct io_op *op)
{
	const struct window *window = to_window(file);
	uint64_t end = window->off + window->size;

	op->off -= window->off;
	end -= window->off;
	if (window->fixed && op->kind == IO_READ && op->res >= 0 && op->off + op->len > end) {
		uint64_t seen = op->off < end ? end - op->off : 0;

		bd_iov_memset(op->iov, op->niov, seen, 0, op->len - seen);
	}
}

static void window_submit(struct io_file *file, struct io_op *op)
{
	const struct window *window = to_window(file);
	uint64_t end;

	if (op->kind == IO_FLUSH || op->kind == IO_POLL) {
		io_filter_forward(file, op, NULL);
		return;
	}
	if (!checked_add(op->off, op->len, &end) || end > INT64_MAX - window->off ||
	    (window->fixed && end > window->size &&
	     (op->kind != IO_READ || op->flags & IO_META))) {
		io_ctx_complete(file->ctx, op, -EIO);
		return;
	}
	op->off += window->off;
	io_filter_forward(file, op, hide_rest);
}

static int window_resize(struct io_file *file, uint64_t size, const char *prealloc,
			 struct bd_error *err)
{
	const struct window *window = to_window(file);

	if (window->fixed)
		return bd_fail(err, -ENOTSUP, "Cannot resize fixed-size raw disks");
	if (size > INT64_MAX - window->off)
		return bd_fail(err, -EINVAL, "New disk size too large for the chosen offset");
	return io_resize(file->child, size + window->off, prealloc, err);
}

static int window_hole(struct io_file *file, uint64_t off, uint64_t *len)
{
	const struct window *window = to_window(file);

	if (off > INT64_MAX - window->off)
		return 0;
	return io_hole(file->child, off + window->off, len);
}

static void window_close(struct io_file *file)
{
	free(to_window(file));
}

static int take_options(struct window *window, struct bd_opts *opts, struct bd_error *err)
{
	int64_t length = io_length(window->file.child);
	int ret;

	if (length < 0)
		return bd_fail_errno(err, (int)length, "Could not get image size");
	if ((ret = bd_opts_take_size(opts, "offset", &window->off, NULL, err)) < 0 ||
	    (ret = bd_opts_take_size(opts, "size", &window->size, &window->fixed, err)) < 0)
		return ret;
	if (window->off > (uint64_t)length)
		return bd_fail(err, -EINVAL, "Offset (%llu) cannot be greater than size of the "
			       "containing file (%lld)", (unsigned long long)window->off,
			       (long long)length);
	if (window->fixed && window->size % 512)
		return bd_fail(err, -EINVAL, "Specified size is not multiple of %d", 512);
	if (window->fixed && window->size > (uint64_t)length - window->off)
		return bd_fail(err, -EINVAL, "The sum of offset (%llu) and size (%llu) has to be "
			       "smaller or equal to the  actual size of the containing file "
			       "(%lld)", (unsigned long long)window->off,
			       (unsigned long long)window->size, (long long)length);
	return 0;
}

static int window_open(struct io_ctx *ctx, struct bd_opts *opts, unsigned flags,
		       struct io_file **out, struct bd_error *err)
{
	struct window *window = calloc(1, sizeof(*window));
	struct io_file *child = NULL;
	int ret;

	if (!window)
		return bd_fail_errno(err, -ENOMEM, "Could not open driver 'raw'");
	ret = io_filter_open_child(ctx, opts, "file", flags, &child, err);
	if (ret == 0)
		ret = io_filter_init(&window->file, &io_window_driver, child, err);
	if (ret == 0)
		ret = take_options(window, opts, err);
	if (ret < 0) {
		io_filter_abort(&window->file);
		free(window);
		return ret;
	}
	*out = &window->file;
	return 0;
}

const struct io_file_ops io_window_driver = {
	.name = "raw",
	.open = window_open,
	.close = window_close,
	.submit = window_submit,
	.length = window_length,
	.resize = window_resize,
	.hole = window_hole,
	.event = io_filter_event,
	.allocated = io_filter_allocated,
};
