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

/*
 * The same, taking @key out of @opts.  Without the key *value stays as it is.
 * @given: whether it was there; may be NULL.
 */
int bd_opts_take_bool(struct bd_opts *opts, const char *key, bool *value, struct bd_error *err);
int bd_opts_take_size(struct bd_opts *opts, const char *key, uint64_t *value, bool *given,
		      struct bd_error *err);
int bd_opts_take_number(struct bd_opts *opts, const char *key, uint64_t *value, bool *given,
			struct bd_error *err);

#endif
