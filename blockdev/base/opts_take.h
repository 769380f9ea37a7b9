/* SPDX-License-Identifier: MIT */
/* Options as values, with QEMU's messages where the text is no value of the type. */
#ifndef BD_OPTS_TAKE_H
#define BD_OPTS_TAKE_H

#include "blockdev/include/options.h"

/*
 * The value of option @key as its type: -EINVAL with QEMU's text if @text is none.
 * *value is changed only on success.
 */
int bd_opt_bool(const char *key, const char *text, bool *value, struct bd_error *err);
int bd_opt_size(const char *key, const char *text, uint64_t *value, struct bd_error *err);
int bd_opt_number(const char *key, const char *text, uint64_t *value, struct bd_error *err);

#endif
