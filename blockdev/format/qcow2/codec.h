/* SPDX-License-Identifier: MIT */
/* Payload of a compressed cluster.  Spec: compression.  Thread-safe; contexts are per thread. */
#ifndef QCOW2_CODEC_H
#define QCOW2_CODEC_H

#include <stddef.h>

/* Bytes of @in taken to make exactly @out_len bytes (the rest is not looked at); -EIO: damaged. */
int qcow2_undeflate(const void *in, size_t in_len, void *out, size_t out_len);
int qcow2_unzstd(const void *in, size_t in_len, void *out, size_t out_len);
/*
 * Bytes written to @out; 0: does not fit in @room, or failed.  @level 0: 1 for deflate, 3 for zstd.
 * qcow2_deflate_4k() refers back 4 KiB at most, as QEMU's own streams do.
 */
size_t qcow2_deflate_raw(const void *in, size_t len, void *out, size_t room, unsigned level);
size_t qcow2_deflate_4k(const void *in, size_t len, void *out, size_t room, unsigned level);
size_t qcow2_zstd(const void *in, size_t len, void *out, size_t room, unsigned level);

#endif
