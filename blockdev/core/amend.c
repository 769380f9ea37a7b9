/* SPDX-License-Identifier: MIT */
/* Amend: check the options; the work is the format's. */
#include <errno.h>
#include <string.h>

#include "blockdev/core/open.h"

const struct bd_option *bd_amend_options(const char *format)
{
	const struct bd_format *fmt = bd_format_find(format);

	return fmt && fmt->create ? fmt->create->amend_options : NULL;
}

static const struct bd_option *find(const struct bd_option *table, const char *key)
{
	while (table->name && strcmp(table->name, key))
		table++;
	return table->name ? table : NULL;
}

static int check_option(const struct bd_format *fmt, struct bd_opts *opts, const char *key,
			struct bd_error *err)
{
	const struct bd_option *option = find(fmt->create->amend_options, key);

	if (option)
		return bd_option_check(opts, option, err);
	bd_fail(err, -EINVAL, "Invalid parameter '%s'", key);
	if (find(fmt->create->options, key))
		bd_hint(err, "This option is only supported for image creation");
	return -EINVAL;
}

int bd_amend(struct bd_node *node, struct bd_opts *opts, bool force, struct bd_error *err)
{
	if (node->protocol || !bd_amend_options(node->fmt->name))
		return bd_fail(err, -ENOTSUP, "Format driver '%s' does not support option "
					      "amendment", bd_format_name(node));
	if (!(node->flags & BD_O_RDWR))
		return bd_fail(err, -EACCES, "Image is read-only");
	for (size_t i = 0; i < bd_opts_count(opts); i++) {
		int ret = check_option(node->fmt, opts, bd_opts_key(opts, i), err);

		if (ret < 0)
			return ret;
	}
	return node->fmt->create->amend(node, opts, force, err);
}
