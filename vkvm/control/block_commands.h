/* SPDX-License-Identifier: MIT */
/* The commands of QMP that concern disks.  The work is done on the I/O thread, the disk drained. */
#ifndef VKVM_BLOCK_COMMANDS_H
#define VKVM_BLOCK_COMMANDS_H

#include "vkvm/control/monitor.h"

int block_query(struct command *cmd);
int block_query_nodes(struct command *cmd);
int block_query_stats(struct command *cmd);
int block_resize(struct command *cmd);
int block_snapshot(struct command *cmd);
int block_delete_snapshot(struct command *cmd);
int block_overlay(struct command *cmd);
int block_reopen(struct command *cmd);
int block_set_io_throttle(struct command *cmd);
int block_set_histogram(struct command *cmd);
int block_commit(struct command *cmd);

#endif
