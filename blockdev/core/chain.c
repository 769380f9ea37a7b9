/* SPDX-License-Identifier: MIT */
/* The backing chain: any depth, in a loop, with loops of files refused. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "blockdev/base/cleanup.h"
#include "blockdev/base/path.h"
#include "blockdev/core/open.h"

/* The plain path below filters; NULL: it is no local file. */
static const char *exact_path(const struct io_file *file)
{
	while (file && !file->exact)
		file = file->child;
	return file ? file->exact : NULL;
}

int bd_backing_resolve(const struct io_file *file, const char *name, char **full,
		       struct bd_error *err)
{
	const char *base;

	*full = NULL;
	if (bd_path_has_protocol(name) || bd_path_is_absolute(name)) {
		*full = strdup(name);
		return *full ? 0 : bd_fail(err, -ENOMEM, "Out of memory");
	}
	base = exact_path(file);
	if (!base)
		return bd_fail(err, -ENOTSUP, "Cannot generate a base directory for '%s'",
			       file->filename);
	*full = bd_path_combine(base, name);
	return *full ? 0 : bd_fail(err, -ENOMEM, "Out of memory");
}

/* The same host file twice in a chain never ends. */
static bool same_file(const struct io_file *a, const struct io_file *b)
{
	struct stat sa, sb;

	while (a && a->fd < 0)
		a = a->child;
	while (b && b->fd < 0)
		b = b->child;
	if (!a || !b || fstat(a->fd, &sa) < 0 || fstat(b->fd, &sb) < 0)
		return false;
	if (S_ISBLK(sa.st_mode) && S_ISBLK(sb.st_mode))
		return sa.st_rdev == sb.st_rdev;
	return sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

static int check_loop(const struct bd_node *node, struct bd_error *err)
{
	const struct bd_node *above;

	for (above = node->overlay; above; above = above->overlay)
		if (same_file(above->file, node->file))
			return bd_fail(err, -EINVAL, "Backing file '%s' creates an infinite loop.",
				       node->filename);
	return 0;
}

static unsigned backing_flags(unsigned flags)
{
	return flags & ~(unsigned)(BD_O_RDWR | BD_O_RESIZE | BD_O_CHECK);
}

/* What the image itself says about the next layer, where the user said nothing. */
static int add_stored(struct bd_node *node, struct bd_opts *opts, struct bd_error *err)
{
	__cleanup(free) char *full = NULL;
	int ret;

	if (node->backing_format && !bd_opts_get(opts, "driver") &&
	    bd_opts_set(opts, "driver", node->backing_format) < 0)
		return bd_fail(err, -ENOMEM, "Out of memory");
	if (bd_opts_get(opts, "file") || bd_opts_get(opts, "file.driver") ||
	    bd_opts_get(opts, "file.filename") || !node->backing_name)
		return 0;
	if (node->flags & BD_O_NO_FOLLOW)
		return bd_fail(err, -EPERM, "A second file named by the image is not allowed");
	if (!strncmp(node->backing_name, "json:", 5))
		return bd_fail(err, -EPERM,
			       "A json: name that comes from inside an image is not followed");
	ret = bd_backing_resolve(node->file, node->backing_name, &full, err);
	return ret < 0 ? ret : bd_opts_add_filename(opts, full, err);
}

static bool ends_here(const struct bd_node *node, const struct bd_node_opts *nopts)
{
	if (node->flags & BD_O_NO_BACKING || !(node->fmt->caps & BD_CAP_BACKING))
		return true;
	if (nopts->backing_ref && (!*nopts->backing_ref || !strcmp(nopts->backing_ref, "null")))
		return true;
	return !nopts->backing_ref && !bd_opts_count(nopts->backing) && !node->backing_name;
}

/* Open the layer below @node.  @nopts: of @node; becomes that of the new layer. */
static int open_next(struct bd_node *node, struct bd_node_opts *nopts, struct bd_error *err)
{
	struct bd_opts *opts = nopts->backing;
	struct bd_node_opts next = {0};
	struct bd_node *below;
	int ret;

	if (nopts->backing_ref)
		return bd_fail(err, -ENODEV, "Cannot find device='%s' nor node-name='%s'",
			       nopts->backing_ref, nopts->backing_ref);
	ret = add_stored(node, opts, err);
	if (ret < 0)
		return ret;
	ret = bd_open_layer(node->queue, opts, backing_flags(node->flags), &next, &below, err);
	bd_node_opts_free(nopts);
	*nopts = next;
	if (ret < 0)
		return ret;
	node->backing = below;
	below->overlay = node;
	return check_loop(below, err);
}

int bd_open_chain(struct bd_node *top, struct bd_node_opts *nopts, struct bd_error *err)
{
	struct bd_node *node = top;
	unsigned depth = 0;
	int ret = 0;

	while (!ends_here(node, nopts)) {
		depth++;
		ret = open_next(node, nopts, err);
		if (ret < 0)
			break;
		node = node->backing;
	}
	/* As if each layer had reported the failure of the one below; long chains are cut. */
	for (unsigned i = 0; ret < 0 && i < depth && i < 16; i++)
		bd_prefix(err, "Could not open backing file: ");
	return ret;
}
