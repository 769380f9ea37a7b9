/* SPDX-License-Identifier: MIT */
/* Damage met while running: told once, latched, and written down when the node is quiet. */
#include <errno.h>
#include <stdio.h>

#include "blockdev/core/format.h"
#include "blockdev/core/report.h"
#include "blockdev/core/slow.h"

int bd_corrupt(struct bd_node *node, uint64_t off, uint64_t len, const char *fmt, ...)
{
	bool fatal = (node->flags & BD_O_RDWR) && !(node->flags & BD_O_CHECK);
	char text[1024];
	va_list ap;

	(void)off;
	(void)len;
	if (node->corrupt || (node->told_damage && !fatal))
		return -EIO;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	node->told_damage = true;
	if (!fatal) {
		bd_report("%s: Image is corrupt: %s; further non-fatal corruption events will be "
			  "suppressed", node->fmt->name, text);
		return -EIO;
	}
	bd_report("%s: Marking image as corrupt: %s; further corruption events will be suppressed",
		  node->fmt->name, text);
	node->corrupt = true;
	node->slow_wanted = true;
	bd_queue_slow(node->queue, node);
	return -EIO;
}
