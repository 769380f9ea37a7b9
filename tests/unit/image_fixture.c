/* SPDX-License-Identifier: MIT */
/* What tests of whole images share: see image_fixture.h. */
#include "tests/unit/image_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "blockdev/include/check.h"
#include "blockdev/include/create.h"
#include "blockdev/include/options.h"
#include "blockdev/include/secret.h"

struct bd_queue *queue;
char folder[64];

void image_set_up(void)
{
	struct bd_error err = {0};

	snprintf(folder, sizeof(folder), "%s/qimg-test-XXXXXX",
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_msg(bd_queue_new(NULL, 64, &queue, &err) == 0, "%s", err.msg);
}

void image_tear_down(void)
{
	char command[96];

	bd_queue_free(queue);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	ck_assert_int_eq(system(command), 0);
}

void image_key_set_up(void)
{
	struct bd_opts *opts = bd_opts_new();

	image_set_up();
	ck_assert_int_eq(bd_opts_parse(opts, "id=s,data=pass", NULL, NULL), 0);
	ck_assert_int_eq(bd_secret_add(opts, NULL), 0);
	bd_opts_free(opts);
}

void image_key_tear_down(void)
{
	bd_secrets_clear();
	image_tear_down();
}

const char *image_path(const char *name)
{
	static char paths[4][128];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

void image_create(const char *name, const char *options, uint64_t size, const char *backing)
{
	struct bd_create_args args = {.filename = image_path(name), .format = "qcow2"};
	struct bd_error err = {0};
	char text[24];

	args.opts = bd_opts_new();
	if (*options)
		ck_assert_int_eq(bd_opts_parse(args.opts, options, NULL, &err), 0);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)size);
	bd_opts_set(args.opts, "size", text);
	if (backing) {
		bd_opts_set(args.opts, "backing_file", image_path(backing));
		bd_opts_set(args.opts, "backing_fmt", "qcow2");
	}
	ck_assert_msg(bd_create(queue, &args, &err) == 0, "%s", err.msg);
	bd_opts_free(args.opts);
}

struct bd_node *image_open(const char *name, const char *options, unsigned flags)
{
	struct bd_open_args args = {.filename = image_path(name), .format = "qcow2",
				    .flags = flags};
	struct bd_opts *opts = bd_opts_new();
	struct bd_error err = {0};
	struct bd_node *node = NULL;

	if (*options)
		ck_assert_int_eq(bd_opts_parse(opts, options, NULL, &err), 0);
	args.opts = opts;
	ck_assert_msg(bd_open(queue, &args, &node, &err) == 0, "%s", err.msg);
	bd_opts_free(opts);
	return node;
}

void image_close(struct bd_node *node)
{
	ck_assert_int_eq(bd_close(node), 0);
}

static void finding(const char *line, void *user)
{
	(void)user;
	printf("%s\n", line);
}

void image_check(const char *name)
{
	struct bd_check check = {.report = finding};
	struct bd_error err = {0};
	struct bd_node *node = image_open(name, "", BD_O_CHECK | BD_O_NO_BACKING);

	ck_assert_msg(bd_check(node, 0, &check, &err) == 0, "%s", err.msg);
	ck_assert_uint_eq(check.corruptions, 0);
	ck_assert_uint_eq(check.leaks, 0);
	image_close(node);
}
