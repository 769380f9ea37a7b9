/* SPDX-License-Identifier: MIT */
/* Breakpoints of the blkdebug driver below an image.  Like: qemu-io break, resume. */
#ifndef BD_DEBUG_H
#define BD_DEBUG_H

#include "blockdev/include/blockdev.h"

/* Suspend the next request that meets @event, and call it @tag.  -ENOTSUP: no blkdebug below. */
int bd_debug_break(struct bd_node *node, const char *event, const char *tag);
/* Forget the breakpoint @tag and let what it holds go on.  -ENOTSUP, -ENOENT. */
int bd_debug_remove_break(struct bd_node *node, const char *tag);
/* Let the request suspended at @tag go on.  -ENOTSUP, -ENOENT. */
int bd_debug_resume(struct bd_node *node, const char *tag);
/* Name an event before the requests it is about; nothing happens without blkdebug. */
void bd_debug_event(struct bd_node *node, const char *event);
/* Is a request suspended at @tag? */
bool bd_debug_is_suspended(struct bd_node *node, const char *tag);

#endif
