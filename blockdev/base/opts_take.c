/* SPDX-License-Identifier: MIT */
/* Options as values: see opts_take.h. */
#include "blockdev/base/opts_take.h"

#include <errno.h>
#include <stdlib.h>

#include "blockdev/base/cleanup.h"

int bd_opt_bool(const char *key, const char *text, bool *value, struct bd_error *err)
{
	if (bd_parse_bool(text, value) < 0)
		return bd_fail(err, -EINVAL, "Parameter '%s' expects 'on' or 'off'", key);
	return 0;
}

int bd_opt_size(const char *key, const char *text, uint64_t *value, struct bd_error *err)
{
	int ret = bd_parse_size(text, value);

	if (ret == 0)
		return 0;
	if (ret == -ERANGE)
		return bd_fail(err, ret, "Value '%s' is out of range for parameter '%s'", text,
			       key);
	bd_fail(err, -EINVAL, "Parameter '%s' expects a non-negative number below 2^64", key);
	bd_hint(err, "Optional suffix k, M, G, T, P or E means kilo-, mega-, giga-, tera-, peta-\n"
		     "and exabytes, respectively.");
	return -EINVAL;
}

int bd_opt_number(const char *key, const char *text, uint64_t *value, struct bd_error *err)
{
	int ret = bd_parse_u64(text, value);

	if (ret == -ERANGE)
		return bd_fail(err, ret, "Value '%s' is too large for parameter '%s'", text, key);
	return ret < 0 ? bd_fail(err, ret, "Parameter '%s' expects a number", key) : 0;
}

int bd_opts_take_bool(struct bd_opts *opts, const char *key, bool *value, struct bd_error *err)
{
	__cleanup(free) char *text = bd_opts_take(opts, key);

	return text ? bd_opt_bool(key, text, value, err) : 0;
}

int bd_opts_take_size(struct bd_opts *opts, const char *key, uint64_t *value, bool *given,
		      struct bd_error *err)
{
	__cleanup(free) char *text = bd_opts_take(opts, key);

	if (given)
		*given = text != NULL;
	return text ? bd_opt_size(key, text, value, err) : 0;
}

int bd_opts_take_number(struct bd_opts *opts, const char *key, uint64_t *value, bool *given,
			struct bd_error *err)
{
	__cleanup(free) char *text = bd_opts_take(opts, key);

	if (given)
		*given = text != NULL;
	return text ? bd_opt_number(key, text, value, err) : 0;
}
