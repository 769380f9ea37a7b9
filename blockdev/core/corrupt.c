/* SPDX-License-Identifier: MIT */
/* Damage met while running: told once, latched, and written down when the node is quiet. */
#include <errno.h>
#include <stdio.h>

#include "blockdev/core/format.h"
#include "blockdev/core/report.h"
#include "blockdev/core/slow.h"

static void say(struct bd_node *node, const char *text)
{
	if (node->told_damage)
		return;
	bd_report("%s: Image is corrupt: %s; further non-fatal corruption events will be "
		  "suppressed", node->fmt->name, text);
	node->told_damage = true;
	bd_tell_damage(node, text, false);
}

void bd_damage(struct bd_node *node, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	say(node, text);
}

int bd_corrupt(struct bd_node *node, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	if (node->corrupt)
		return -EIO;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* Without write access there is nothing to protect; a check looks on. */
	if (!(node->flags & BD_O_RDWR) || node->flags & BD_O_CHECK) {
		say(node, text);
		return -EIO;
	}
	bd_report("%s: Marking image as corrupt: %s; further corruption events will be suppressed",
		  node->fmt->name, text);
	bd_tell_damage(node, text, true);
	node->corrupt = true;
	node->slow_wanted = true;
	bd_queue_slow(node->queue, node);
	return -EIO;
}
