/* SPDX-License-Identifier: MIT */
/* Damage met while running: told once, latched, and written down when the node is quiet. */
#include <errno.h>
#include <stdio.h>

#include "blockdev/core/format.h"
#include "blockdev/core/slow.h"

static void to_stderr(const char *line, void *user)
{
	(void)user;
	fprintf(stderr, "%s\n", line);
}

static struct {
	void (*report)(const char *line, void *user);
	void *user;
} sink = {to_stderr, NULL};

void bd_set_report(void (*report)(const char *line, void *user), void *user)
{
	sink.report = report ? report : to_stderr;
	sink.user = user;
}

void bd_report(const char *fmt, ...)
{
	char line[1200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	sink.report(line, sink.user);
}

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
