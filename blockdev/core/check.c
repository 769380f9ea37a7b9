/* SPDX-License-Identifier: MIT */
/* Verbs that a format may not have: check, resize. */
#include <errno.h>

#include "blockdev/core/format.h"

int bd_check(struct bd_node *node, unsigned fix, struct bd_check *check, struct bd_error *err)
{
	if (!node->fmt->check)
		return bd_fail(err, -ENOTSUP, "This image format does not support checks");
	return node->fmt->check(node, fix, check, err);
}

int bd_resize(struct bd_node *node, uint64_t size, const char *prealloc, bool shrink,
	      struct bd_error *err)
{
	if (!node->fmt->create || !node->fmt->create->resize)
		return bd_fail(err, -ENOTSUP, "Image format driver does not support resize");
	if (!(node->flags & BD_O_RDWR))
		return bd_fail(err, -EACCES, "Image is read-only");
	if (size > INT64_MAX)
		return bd_fail(err, -EINVAL, "Required too big image size, it must be not greater "
					     "than %lld", (long long)INT64_MAX);
	if (size < node->size && !shrink)
		return bd_fail(err, -EINVAL,
			       "Use the --shrink option to perform a shrink operation.");
	return node->fmt->create->resize(node, size, prealloc ? prealloc : "off", shrink, err);
}
