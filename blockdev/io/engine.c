/* SPDX-License-Identifier: MIT */
/* The table of engines, in order of preference. */
#include "blockdev/io/engines.h"

#include "config.h"

const struct io_engine_ops *const io_engines[] = {
#if CONFIG_URING
	&io_uring_engine,
#endif
	&io_threads_engine,
#if CONFIG_AIO
	&io_aio_engine,
#endif
	&io_sync_engine,
	&io_mmap_engine,
	&io_null_engine,
	NULL
};
