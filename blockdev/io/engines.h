/* SPDX-License-Identifier: MIT */
/* One declaration per engine: what engine.c lists. */
#ifndef IO_ENGINES_H
#define IO_ENGINES_H

#include "blockdev/io/engine.h"

extern const struct io_engine_ops io_uring_engine, io_threads_engine, io_aio_engine,
	io_sync_engine, io_mmap_engine, io_null_engine;

#endif
