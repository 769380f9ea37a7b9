/* SPDX-License-Identifier: MIT */
/* The commands of QMP that concern disks; all of this shape. */
#ifndef VKVM_BLOCK_COMMANDS_H
#define VKVM_BLOCK_COMMANDS_H

#include <jansson.h>

#include "blockdev/include/error.h"

struct control;

/*
 * @args: the command's arguments, or NULL; *out: its result, NULL: {}.  0, or a negative errno with
 * @err.  On the control thread; the work is done on the I/O thread, with the disk drained.
 */
typedef int block_command(struct control *control, json_t *args, json_t **out,
			  struct bd_error *err);

block_command block_query, block_query_stats, block_resize, block_snapshot, block_delete_snapshot,
	block_overlay, block_reopen, block_set_io_throttle, block_commit;

#endif
