/* SPDX-License-Identifier: MIT */
/* Breakpoints of the blkdebug driver below an image. */
#include "blockdev/include/debug.h"

#include <errno.h>

#include "blockdev/core/node.h"

int bd_debug_break(struct bd_node *node, const char *event, const char *tag)
{
	struct io_file *file = node->file;

	return file->ops->breakpoint ? file->ops->breakpoint(file, event, tag) : -ENOTSUP;
}

int bd_debug_remove_break(struct bd_node *node, const char *tag)
{
	struct io_file *file = node->file;

	return file->ops->remove_break ? file->ops->remove_break(file, tag) : -ENOTSUP;
}

int bd_debug_resume(struct bd_node *node, const char *tag)
{
	struct io_file *file = node->file;

	return file->ops->resume ? file->ops->resume(file, tag) : -ENOTSUP;
}

void bd_debug_event(struct bd_node *node, const char *event)
{
	io_event(node->file, event);
}

bool bd_debug_is_suspended(struct bd_node *node, const char *tag)
{
	struct io_file *file = node->file;

	return file->ops->is_suspended && file->ops->is_suspended(file, tag);
}
