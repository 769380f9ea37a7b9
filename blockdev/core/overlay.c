/* SPDX-License-Identifier: MIT */
/* Overlays: a new qcow2 image over one that is there. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blockdev/base/cleanup.h"
#include "blockdev/include/create.h"

int bd_overlay_create(struct bd_queue *queue, const char *path, const struct bd_overlay *base,
		      struct bd_error *err)
{
	struct bd_create_args args = { .format = "qcow2", .filename = path,
				       .backing_unsafe = base->in_use };
	__cleanup(free) char *full = realpath(base->filename, NULL);
	char size[24];
	int ret = -ENOMEM;

	snprintf(size, sizeof(size), "%llu", (unsigned long long)base->size);
	args.opts = bd_opts_new();
	if (!full && base->in_use)
		ret = bd_fail(err, -ENOTSUP, "'%s' cannot be named as a backing file",
			      base->filename);
	else if (args.opts && (!base->in_use || bd_opts_set(args.opts, "size", size) == 0) &&
		 bd_opts_set(args.opts, "backing_file", full ? full : base->filename) == 0 &&
		 bd_opts_set(args.opts, "backing_fmt", base->format) == 0)
		ret = bd_create(queue, &args, err);
	bd_opts_free(args.opts);
	return ret;
}

int bd_overlay_temporary(struct bd_queue *queue, const struct bd_overlay *base, char *path,
			 size_t size, struct bd_error *err)
{
	const char *dir = getenv("TMPDIR");
	int fd, ret;

	snprintf(path, size, "%s/vl.XXXXXX", dir ? dir : "/var/tmp");
	fd = mkstemp(path);
	if (fd < 0)
		return bd_fail_errno(err, -errno, "Could not create temporary overlay '%s'", path);
	close(fd);
	ret = bd_overlay_create(queue, path, base, err);
	if (ret < 0)
		unlink(path);
	return ret;
}

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
	format = strdup(bd_format_name(node));
	bd_close(node);
	return format;
}

int bd_overlay_open(struct bd_queue *queue, const struct bd_open_args *args, struct bd_node **node,
		    struct bd_error *err)
{
	struct bd_open_args top = { .format = "qcow2", .flags = args->flags | BD_O_RDWR };
	__cleanup(free) char *format = NULL;
	char path[4096];
	int ret;

	if (!args->filename)
		return bd_fail(err, -ENOTSUP, "a temporary overlay needs an image with a name");
	format = format_of(queue, args, err);
	if (!format)
		return -EIO;
	ret = bd_overlay_temporary(queue, &(struct bd_overlay){ args->filename, format, false, 0 },
				   path, sizeof(path), err);
	if (ret < 0)
		return ret;
	top.filename = path;
	ret = bd_open(queue, &top, node, err);
	unlink(path);
	return ret;
}
