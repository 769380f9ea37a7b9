/* SPDX-License-Identifier: MIT */
/* What the tests of the io layer share: see io_fixture.h. */
#include "tests/unit/io_fixture.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

struct io_ctx *ctx;
char path[64];

void io_set_up(void)
{
	snprintf(path, sizeof(path), "test-io-%d.tmp", (int)getpid());
	ctx = new_ctx("", 64);
}

void io_tear_down(void)
{
	io_ctx_free(ctx);
	ctx = NULL;
	unlink(path);
}

struct io_ctx *new_ctx(const char *name, unsigned depth)
{
	struct bd_error err = {0};
	struct io_ctx *new = NULL;
	int ret = io_ctx_new(*name ? name : NULL, depth, &new, &err);

	ck_assert_msg(ret == 0 || ret == -ENOTSUP, "%s: %s", name, err.msg);
	return new;
}

void create(uint64_t size)
{
	struct bd_error err = {0};
	int ret;

	unlink(path);
	ret = io_create(ctx, path, size, "off", NULL, &err);
	ck_assert_msg(ret == 0, "%s", err.msg);
}

struct io_file *open_file(struct io_ctx *on, unsigned flags, struct bd_error *err)
{
	struct bd_opts *opts = bd_opts_new();
	struct io_file *file = NULL;
	int ret = io_name_to_opts(path, opts, err);

	if (ret == 0)
		ret = io_open(on, opts, flags, &file, err);
	ck_assert_int_eq(ret == 0, file != NULL);
	bd_opts_free(opts);
	return file;
}

struct io_file *open_ok(unsigned flags)
{
	struct bd_error err = {0};
	struct io_file *file = open_file(ctx, flags, &err);

	ck_assert_msg(file != NULL, "%s", err.msg);
	return file;
}

struct io_file *open_text(const char *text, struct bd_error *err)
{
	struct bd_opts *opts = bd_opts_new();
	struct io_file *file = NULL;

	ck_assert_int_eq(bd_opts_parse(opts, text, "driver", err), 0);
	io_open(ctx, opts, BD_O_RDWR, &file, err);
	bd_opts_free(opts);
	return file;
}

struct io_file *open_text_ok(const char *text)
{
	struct bd_error err = {0};
	struct io_file *file = open_text(text, &err);

	ck_assert_msg(file != NULL, "%s", err.msg);
	return file;
}
