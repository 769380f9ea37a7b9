/* SPDX-License-Identifier: MIT */
/* Commit: what the layers above a base define is copied into the base. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "blockdev/base/cleanup.h"
#include "blockdev/core/chain.h"
#include "blockdev/core/format.h"
#include "blockdev/core/open.h"
#include "blockdev/include/chain.h"
#include "blockdev/include/copy.h"

struct bd_node *bd_chain_find(struct bd_node *top, const char *path)
{
	struct stat want, have;
	bool known = stat(path, &want) == 0;

	for (struct bd_node *node = top->backing; node; node = node->backing) {
		const struct io_file *file = node->file;

		if (!strcmp(path, node->filename))
			return node;
		while (file->fd < 0 && file->child)
			file = file->child;
		if (known && file->fd >= 0 && fstat(file->fd, &have) == 0 &&
		    have.st_dev == want.st_dev && have.st_ino == want.st_ino)
			return node;
	}
	return NULL;
}

/* The layer called @name: as stored in the layer above it, or as a file name. */
static struct bd_node *find_base(struct bd_node *top, const char *name)
{
	__cleanup(free) char *full = NULL;

	for (struct bd_node *node = top; node->backing; node = node->backing) {
		if (node->backing_name && !strcmp(node->backing_name, name))
			return node->backing;
	}
	if (bd_backing_resolve(top->file, name, &full, NULL) < 0)
		return NULL;
	return bd_chain_find(top, full);
}

static int choose_base(const struct bd_commit_args *args, struct bd_node **base,
		       struct bd_error *err)
{
	*base = args->base ? find_base(args->top, args->base) : args->top->backing;
	if (*base)
		return 0;
	if (!args->base)
		return bd_fail(err, -ENOENT, "Image does not have a backing file");
	return bd_fail(err, -ENOENT, "Did not find '%s' in the backing chain of '%s'", args->base,
		       args->top->filename);
}

/* The base was opened to be read only. */
static int make_writable(struct bd_node *base, unsigned flags, struct bd_error *err)
{
	const unsigned more = BD_O_RDWR | BD_O_RESIZE | (flags & BD_O_UNMAP);
	int ret;

	if (base->flags & BD_O_RDWR)
		return 0;
	ret = io_reopen(base->file, base->file->flags | more, err);
	if (ret == 0 && base->data != base->file)
		ret = io_reopen(base->data, base->data->flags | more, err);
	if (ret < 0)
		return ret;
	base->flags |= more;
	if (base->fmt->chain && base->fmt->chain->make_writable)
		ret = base->fmt->chain->make_writable(base, err);
	if (ret < 0)
		base->flags &= ~(unsigned)(BD_O_RDWR | BD_O_RESIZE);
	return ret;
}

static int copy_down(const struct bd_commit_args *args, struct bd_node *base, struct bd_error *err)
{
	struct bd_node *src[1] = {args->top};
	const struct bd_copy_args copy = {
		.src = src,
		.nr_src = 1,
		.dst = base,
		.sparse_size = 4096,
		.exact = true,
		.rate = args->rate,
		.keep_backing = true,
		.base = base,
		.out_of_order = true,
		.count_first = args->progress != NULL,
		.cancel = args->cancel,
		.progress = args->progress,
		.user = args->user,
	};

	return bd_copy(&copy, err);
}

int bd_commit(const struct bd_commit_args *args, struct bd_error *err)
{
	struct bd_node *top = args->top, *base;
	int ret = choose_base(args, &base, err);

	if (ret == 0)
		ret = make_writable(base, top->flags, err);
	if (ret == 0 && base->size < top->size)
		ret = bd_resize(base, top->size, "off", false, err);
	if (ret == 0)
		ret = copy_down(args, base, err);
	/* The copy is durable now: only then may the original go. */
	if (ret == 0 && !args->keep_top && base == top->backing && top->fmt->chain &&
	    top->fmt->chain->make_empty)
		ret = top->fmt->chain->make_empty(top, err);
	return ret;
}
