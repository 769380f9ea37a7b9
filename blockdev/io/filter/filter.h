/* SPDX-License-Identifier: MIT */
/* What filters share: a file below, and operations passed down to it. */
#ifndef IO_FILTER_H
#define IO_FILTER_H

#include "blockdev/io/drivers.h"

/*
 * Open the file below, whose keys start with @name and a dot ("image.", "file."), or which is
 * the plain name in the key @name itself.
 */
int io_filter_open_child(struct io_ctx *ctx, struct bd_opts *opts, const char *name,
			 unsigned flags, struct io_file **out, struct bd_error *err);
/* Set up @file above @child, which it owns from here on even on failure (io_filter_abort). */
int io_filter_init(struct io_file *file, const struct io_file_ops *ops, struct io_file *child,
		   struct bd_error *err);
/* Undo a filter that could not be opened; frees the file below and the names, not @file. */
void io_filter_abort(struct io_file *file);

/*
 * Do @op on the file below; then @after (if not NULL), which may change op->res; then @op is
 * finished.
 */
void io_filter_forward(struct io_file *file, struct io_op *op,
		       void (*after)(struct io_file *file, struct io_op *op));

/* Hooks that ask the file below. */
int64_t io_filter_length(struct io_file *file);
int io_filter_resize(struct io_file *file, uint64_t size, const char *prealloc,
		     struct bd_error *err);
int io_filter_hole(struct io_file *file, uint64_t off, uint64_t *len);
int64_t io_filter_allocated(struct io_file *file);
void io_filter_event(struct io_file *file, const char *name);

#endif
