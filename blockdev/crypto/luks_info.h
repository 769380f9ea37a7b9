/* SPDX-License-Identifier: MIT */
/* A LUKS header as information. */
#ifndef LUKS_INFO_H
#define LUKS_INFO_H

#include <jansson.h>

#include "blockdev/crypto/luks1.h"

/*
 * Add what the header says to the object @data, in QEMU's order.
 * @format: an additional "format", or NULL.
 */
void luks_describe(const struct luks *luks, const char *format, json_t *data);

#endif
