/* SPDX-License-Identifier: MIT */
/* Finding the format that can describe a file. */
#include "blockdev/include/inspect.h"

#include <errno.h>

#include "blockdev/core/format.h"

int bd_inspect(const struct bd_inspect_args *args, struct json_t **out, struct bd_error *err)
{
	*out = NULL;
	for (size_t i = 0; bd_formats[i]; i++) {
		int ret = -ENOTSUP;

		if (bd_formats[i]->inspect)
			ret = bd_formats[i]->inspect(args, out, err);
		if (ret != -ENOTSUP)
			return ret;
	}
	return bd_fail(err, -ENOTSUP, "Image is not in qcow2 format");
}
