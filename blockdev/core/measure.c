/* SPDX-License-Identifier: MIT */
/* How large would an image be: dispatch to the format. */
#include <errno.h>
#include <string.h>

#include "blockdev/core/format.h"

int bd_measure(const char *format, struct bd_opts *opts, struct bd_node *src,
	       struct bd_measure *out, struct bd_error *err)
{
	const struct bd_format *fmt = bd_format_find(format);

	*out = (struct bd_measure){ .want_compressed = out->want_compressed };
	if (!fmt)
		return bd_fail(err, -ENOENT, io_driver_exists(format)
			       ? "Format driver '%s' does not support image creation"
			       : "Unknown file format '%s'", format);
	if (!fmt->create || !fmt->create->measure)
		return bd_fail(err, -ENOTSUP, "Block driver '%s' does not support size measurement",
			       fmt->name);
	if (out->want_compressed && (!src || !(fmt->caps & BD_CAP_COMPRESS)))
		return bd_fail(err, -ENOTSUP, "Compression can be measured for an image and a "
					      "format that has it");
	return fmt->create->measure(opts, src, out, err);
}
