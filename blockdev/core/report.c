/* SPDX-License-Identifier: MIT */
/* The sink for lines the library says by itself. */
#include "blockdev/core/report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "blockdev/core/format.h"

/* Process-wide on purpose: warnings also come from places that have no queue and no image yet. */
static void (*sink)(const char *line, void *user);
static void *sink_user;

void bd_set_report(void (*report)(const char *line, void *user), void *user)
{
	sink = report;
	sink_user = user;
}

static void (*damage_sink)(const struct bd_node *node, const char *what, bool fatal, void *user);
static void *damage_user;

void bd_set_damage(void (*told)(const struct bd_node *node, const char *what, bool fatal,
				void *user), void *user)
{
	damage_sink = told;
	damage_user = user;
}

void bd_tell_damage(const struct bd_node *node, const char *what, bool fatal)
{
	if (damage_sink)
		damage_sink(node, what, fatal, damage_user);
}

static void say(const char *line)
{
	if (sink)
		sink(line, sink_user);
	else if (!strncmp(line, "warning: ", 9))
		fprintf(stderr, "%s: %s\n", program_invocation_short_name, line);
	else
		fprintf(stderr, "%s\n", line);
}

void bd_report(const char *fmt, ...)
{
	char line[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	say(line);
}
