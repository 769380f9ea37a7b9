/* SPDX-License-Identifier: MIT */
/* The steps of opening an image: one layer, its options, its backing chain. */
#ifndef BD_OPEN_H
#define BD_OPEN_H

#include "blockdev/core/format.h"

/* Options of a node itself, in any format.  Like: QEMU's generic node options. */
struct bd_node_opts {
	char *driver;             /* owned; NULL: probe */
	bool read_only;
	unsigned flags;           /* BD_O_*, changed by options */
	struct bd_opts *backing;  /* "backing.*"; owned; NULL: none */
	char *backing_ref;        /* "backing"; owned; NULL: not given */
};

/* Take the generic options out of @opts.  @flags: BD_O_* asked for.  The caller frees @out. */
int bd_node_opts_take(struct bd_opts *opts, unsigned flags, struct bd_node_opts *out,
		      struct bd_error *err);
void bd_node_opts_free(struct bd_node_opts *nopts);

/*
 * Add what @filename (as a person writes it, "json:" included) says to @opts.  Keys there win.
 */
int bd_opts_add_filename(struct bd_opts *opts, const char *filename, struct bd_error *err);

/* Take "file.*" (or, for a protocol as @driver, everything) out of @opts and open that file. */
int bd_open_file(struct bd_queue *queue, struct bd_opts *opts, const char *driver,
		 unsigned flags, struct io_file **out, struct bd_error *err);

/* Is @name a driver of files ("file", "null-co", ...)? */
bool bd_is_protocol(const char *name);

/*
 * Open one layer by its options, which are used up.  @nopts gets the generic ones, among them
 * what is said about the next layer (the caller frees).  A key that nobody takes is an error.
 */
int bd_open_layer(struct bd_queue *queue, struct bd_opts *opts, unsigned flags,
		  struct bd_node_opts *nopts, struct bd_node **out, struct bd_error *err);

/* chain.c: open what lies below @top.  @nopts: of @top; changed. */
int bd_open_chain(struct bd_node *top, struct bd_node_opts *nopts, struct bd_error *err);
/*
 * What the backing name @name stored in the image in @file means: *full is the caller's to free.
 * -ENOTSUP: a relative name, and no folder it is relative to.
 */
int bd_backing_resolve(const struct io_file *file, const char *name, char **full,
		       struct bd_error *err);

/*
 * Show @node, to people and to who opens it again, under "json:{...}" with @opts and then its file.
 * @last: one more key behind the file, or NULL.  -ENOMEM.
 */
int bd_node_set_name(struct bd_node *node, struct bd_opts *opts, const char *last,
		     const char *value);

/* node.c: make the links and lists of a new node; free one whose format is closed. */
void bd_node_init_links(struct bd_node *node);
void bd_node_free(struct bd_node *node);

/*
 * Is the value of @option in @opts one of its type?  Sizes become plain numbers.  -EINVAL with
 * QEMU's message.
 */
int bd_option_check(struct bd_opts *opts, const struct bd_option *option, struct bd_error *err);

#endif
