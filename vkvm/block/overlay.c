/* SPDX-License-Identifier: MIT */
/* Temporary overlays. */
#include "vkvm/block/overlay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "blockdev/include/create.h"

/* The format of @args' image, guessed if it was not given; the caller frees. */
static char *format_of(struct bd_queue *queue, const struct bd_open_args *args,
		       struct bd_error *err)
{
	struct bd_open_args look = *args;
	struct bd_node *node;
	char *format;

	look.flags &= ~(unsigned)BD_O_RDWR;
	if (bd_open(queue, &look, &node, err) < 0)
		return NULL;
	if (asprintf(&format, "%s", bd_format_name(node)) < 0)
		format = NULL;
	bd_close(node);
	return format;
}

static int create(struct bd_queue *queue, const char *path, const char *base, const char *format,
		  struct bd_error *err)
{
	struct bd_create_args args = { .format = "qcow2", .filename = path };
	char *full = realpath(base, NULL);
	int ret = -ENOMEM;

	args.opts = bd_opts_new();
	if (args.opts && bd_opts_set(args.opts, "backing_file", full ? full : base) == 0 &&
	    bd_opts_set(args.opts, "backing_fmt", format) == 0)
		ret = bd_create(queue, &args, err);
	bd_opts_free(args.opts);
	free(full);
	return ret;
}

int overlay_open(struct bd_queue *queue, const struct bd_open_args *args, struct bd_node **node,
		 struct bd_error *err)
{
	const char *dir = getenv("TMPDIR");
	struct bd_open_args top = { .format = "qcow2", .flags = args->flags | BD_O_RDWR };
	char path[4096], *format;
	int fd, ret;

	if (!args->filename)
		return bd_fail(err, -ENOTSUP, "a temporary overlay needs an image with a name");
	format = format_of(queue, args, err);
	if (!format)
		return -EIO;
	snprintf(path, sizeof(path), "%s/vkvm.XXXXXX", dir ? dir : "/var/tmp");
	fd = mkstemp(path);
	if (fd < 0) {
		ret = bd_fail_errno(err, -errno, "Could not create temporary overlay '%s'", path);
	} else {
		close(fd);
		top.filename = path;
		top.opts = NULL;
		ret = create(queue, path, args->filename, format, err);
		if (ret == 0)
			ret = bd_open(queue, &top, node, err);
		unlink(path);
	}
	free(format);
	return ret;
}
