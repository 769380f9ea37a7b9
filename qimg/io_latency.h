/* SPDX-License-Identifier: MIT */
/* qimg-io --latency: the times of a run. */
#ifndef QIMG_IO_LATENCY_H
#define QIMG_IO_LATENCY_H

#include <stdint.h>

struct io_latency;

struct io_latency *io_latency_new(void); /* NULL: out of memory */
/* An operation has ended.  @verb: as it is printed; @latency NULL: nobody asks. */
void io_latency_add(struct io_latency *latency, const char *verb, uint64_t ns, uint64_t bytes);
/* Write count, bytes and percentiles of each kind.  0, or 1: reported. */
int io_latency_write(struct io_latency *latency, const char *file);
void io_latency_free(struct io_latency *latency);

#endif
