/* SPDX-License-Identifier: MIT */
/* One declaration per driver of files, and what drivers share. */
#ifndef IO_DRIVERS_H
#define IO_DRIVERS_H

#include "blockdev/io/file.h"

extern const struct io_file_ops io_file_driver, io_host_device_driver, io_null_driver,
	io_null_aio_driver, io_fault_driver, io_delay_driver, io_throttle_driver,
	io_record_driver;

/* Take a boolean, a size, a number out of @opts; *value stays as it is if @key is not there. */
int io_take_bool(struct bd_opts *opts, const char *key, bool *value, struct bd_error *err);
int io_take_size(struct bd_opts *opts, const char *key, uint64_t *value, struct bd_error *err);
int io_take_u64(struct bd_opts *opts, const char *key, uint64_t *value, struct bd_error *err);

/* file_prealloc.c: QEMU's way of making a regular file longer or shorter. */
int io_local_resize(int fd, uint64_t size, const char *prealloc, struct bd_error *err);

#endif
