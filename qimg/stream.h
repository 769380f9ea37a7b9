/* SPDX-License-Identifier: MIT */
/* Guest bytes into a pipe: for targets that cannot be sought. */
#ifndef QIMG_STREAM_H
#define QIMG_STREAM_H

#include <stdbool.h>

#include "blockdev/include/blockdev.h"

/* Is @name (NULL: standard output) something bytes can only be pushed into? */
bool stream_wanted(const char *name);
/*
 * Write guest bytes [off, end) of @node to @fd, reading ahead.
 * 0, or 1: reported.
 */
int stream_range(struct bd_node *node, uint64_t off, uint64_t end, int fd);
/* Write all of @buf to @fd.  0, or 1: reported. */
int stream_write(int fd, const uint8_t *buf, size_t len);
/* Write @len zero bytes to @fd.  0, or 1: reported. */
int stream_zeros(uint64_t len, int fd);

#endif
