/* SPDX-License-Identifier: MIT */
/* The table of formats, in probing order.  A new format is a declaration and a line here. */
#include <stddef.h>

#include "blockdev/core/format.h"

extern const struct bd_format bd_format_luks, bd_format_qcow2, bd_format_raw;

const struct bd_format *const bd_formats[] = {
	&bd_format_qcow2,
	&bd_format_luks,
	&bd_format_raw,    /* takes everything, so it comes last */
	NULL,
};
