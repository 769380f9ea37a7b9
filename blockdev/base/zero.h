/* SPDX-License-Identifier: MIT */
/* Is memory all zero bytes, and how far. */
#ifndef BD_ZERO_H
#define BD_ZERO_H

#include <stdbool.h>
#include <stddef.h>

/* Any length, any alignment. */
bool bd_is_zero(const void *buf, size_t len);
/*
 * Length of the first run of 512-byte units that are all zero, or all not zero.
 * @nr: units in @buf, > 0; *zero: which of the two.  Returns units, 1..@nr.
 */
size_t bd_zero_run(const void *buf, size_t nr, bool *zero);

#endif
