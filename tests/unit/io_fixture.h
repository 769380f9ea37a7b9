/* SPDX-License-Identifier: MIT */
/* What the tests of the io layer share: one context, one file, opened in each way they need. */
#ifndef UNIT_IO_FIXTURE_H
#define UNIT_IO_FIXTURE_H

#include <check.h>
#include <stdint.h>

#include "blockdev/io/file.h"

#define KIB 1024u
#define MIB (1024u * KIB)

/* The fixture's context and the name of its file, between io_set_up() and io_tear_down(). */
extern struct io_ctx *ctx;
extern char path[64];

/* A context with the default engine; no file yet. */
void io_set_up(void);
void io_tear_down(void);
/* "": the default engine.  NULL: the engine is not in this build or not on this machine. */
struct io_ctx *new_ctx(const char *name, unsigned depth);
/* A new file of @size bytes at @path. */
void create(uint64_t size);
/* Open @path on @on; NULL and @err: it could not be opened. */
struct io_file *open_file(struct io_ctx *on, unsigned flags, struct bd_error *err);
/* Open @path on @ctx; fails the test if that fails. */
struct io_file *open_ok(unsigned flags);
/* Open "driver,key=value,..." for writing on @ctx; NULL and @err: it could not be opened. */
struct io_file *open_text(const char *text, struct bd_error *err);
/* The same; fails the test if that fails. */
struct io_file *open_text_ok(const char *text);

#endif
