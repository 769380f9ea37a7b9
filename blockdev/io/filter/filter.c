/* SPDX-License-Identifier: MIT */
/* What filters share: a file below, and operations passed down to it. */
#include "blockdev/io/filter/filter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/base/cleanup.h"

/* An operation below that stands for one above. */
struct forward {
	struct io_op op;
	struct io_op *above;
	struct io_file *file;
	void (*after)(struct io_file *file, struct io_op *op);
};

int io_filter_open_child(struct io_ctx *ctx, struct bd_opts *opts, const char *name,
			 unsigned flags, struct io_file **out, struct bd_error *err)
{
	__cleanup(opts) struct bd_opts *sub = bd_opts_new();
	__cleanup(free) char *plain = bd_opts_take(opts, name);
	char prefix[32];

	*out = NULL;
	if (!sub)
		return bd_fail_errno(err, -ENOMEM, "Could not open the file below");
	snprintf(prefix, sizeof(prefix), "%s.", name);
	bd_opts_take_prefix(opts, prefix, sub);
	if (plain && *plain && io_name_to_opts(plain, sub, err) < 0)
		return -EINVAL;
	if (!bd_opts_count(sub))
		return bd_fail(err, -EINVAL, "A block device must be specified for \"%s\"", name);
	return io_open(ctx, sub, flags, out, err);
}

int io_filter_init(struct io_file *file, const struct io_file_ops *ops, struct io_file *child,
		   struct bd_error *err)
{
	__cleanup(free) char *name = NULL;

	file->child = child;
	if (asprintf(&name, "%s:%s", ops->name, child->filename) < 0)
		name = NULL;
	if (!name || io_file_init(file, ops, child->ctx, name, child->flags) < 0)
		return bd_fail_errno(err, -ENOMEM, "Could not open driver '%s'", ops->name);
	/* The file below widens and splits requests itself. */
	file->can_zero = child->can_zero;
	file->can_unmap = child->can_unmap;
	file->zero_init = child->zero_init;
	return 0;
}

void io_filter_abort(struct io_file *file)
{
	io_close(file->child);
	free(file->filename);
}

static void forward_done(struct io_op *op)
{
	struct forward *fwd = container_of(op, struct forward, op);
	struct io_op *above = fwd->above;

	above->res = op->res;
	if (fwd->after)
		fwd->after(fwd->file, above);
	/* A failed flush below is a failed flush here. */
	fwd->file->broken = fwd->file->child->broken;
	io_ctx_complete(fwd->file->ctx, above, above->res);
	free(fwd);
}

void io_filter_forward(struct io_file *file, struct io_op *op,
		       void (*after)(struct io_file *file, struct io_op *op))
{
	struct forward *fwd = calloc(1, sizeof(*fwd));

	if (!fwd) {
		io_ctx_complete(file->ctx, op, -ENOMEM);
		return;
	}
	fwd->op = (struct io_op){ .kind = op->kind, .flags = op->flags, .file = file->child,
				  .off = op->off, .len = op->len, .iov = op->iov,
				  .niov = op->niov, .fd = op->fd, .done = forward_done };
	fwd->above = op;
	fwd->file = file;
	fwd->after = after;
	io_op_submit(&fwd->op);
}

int64_t io_filter_length(struct io_file *file)
{
	return io_length(file->child);
}

int io_filter_resize(struct io_file *file, uint64_t size, const char *prealloc,
		     struct bd_error *err)
{
	return io_resize(file->child, size, prealloc, err);
}

int io_filter_hole(struct io_file *file, uint64_t off, uint64_t *len)
{
	return io_hole(file->child, off, len);
}

int64_t io_filter_allocated(struct io_file *file)
{
	return io_allocated(file->child);
}

void io_filter_event(struct io_file *file, const char *name)
{
	io_event(file->child, name);
}
