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
	return bd_fail(err, -EINVAL, "Invalid parameter '%s'", key);
}

/* Whether image creation would take all of these options. */
static bool fit_for_creation(const struct bd_format *fmt, struct bd_opts *opts)
{
	struct bd_error ignored = {0};

	for (size_t i = 0; i < bd_opts_count(opts); i++) {
		const char *key = bd_opts_key(opts, i);
		const struct bd_option *option = find(fmt->create->options, key);

		if (!option)
			option = find(fmt->create->amend_options, key);
		if (!option || bd_option_check(opts, option, &ignored) < 0)
			return false;
	}
	return true;
}

int bd_amend_check(struct bd_node *node, struct bd_opts *opts, struct bd_error *err)
{
	if (node->protocol || !bd_amend_options(node->fmt->name))
		return bd_fail(err, -ENOTSUP, "Format driver '%s' does not support option "
					      "amendment", bd_format_name(node));
	for (size_t i = 0; i < bd_opts_count(opts); i++) {
		int ret = check_option(node->fmt, opts, bd_opts_key(opts, i), err);

		if (ret < 0 && fit_for_creation(node->fmt, opts))
			bd_hint(err, "This option is only supported for image creation");
		if (ret < 0)
			return ret;
	}
	return 0;
}

int bd_amend(struct bd_node *node, struct bd_opts *opts, const struct bd_amend_args *args,
	     struct bd_error *err)
{
	int ret = bd_amend_check(node, opts, err);

	if (ret < 0)
		return ret;
	if (!(node->flags & BD_O_RDWR))
		return bd_fail(err, -EACCES, "Image is read-only");
	return node->fmt->create->amend(node, opts, args, err);
}
