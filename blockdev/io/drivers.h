/* SPDX-License-Identifier: MIT */
/* One declaration per driver of files, and what drivers share. */
#ifndef IO_DRIVERS_H
#define IO_DRIVERS_H

#include "blockdev/io/file.h"

extern const struct io_file_ops io_file_driver, io_host_device_driver, io_null_driver,
	io_null_aio_driver, io_fault_driver, io_delay_driver, io_throttle_driver,
	io_record_driver, io_window_driver;

/* file_prealloc.c: QEMU's way of making a regular file longer or shorter. */
int io_local_resize(int fd, uint64_t size, const char *prealloc, struct bd_error *err);

#endif
