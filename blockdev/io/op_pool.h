/* SPDX-License-Identifier: MIT */
/* A pool of threads that carry out operations by plain system calls. */
#ifndef IO_OP_POOL_H
#define IO_OP_POOL_H

#include "blockdev/io/engine.h"
#include "blockdev/io/pool.h"

/* Items are struct io_op, each the pool's until it is collected.  @max: threads at most. */
int io_op_pool_new(unsigned max, struct io_pool **out);
/* Append what has finished to @done.  Returns how many those are. */
unsigned io_op_pool_collect(struct io_pool *pool, struct link *done);

#endif
