/* SPDX-License-Identifier: MIT */
/* Lines for people: one line is one write, whichever thread it comes from. */
#include "vkvm/report.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void line(const char *what, const char *fmt, va_list args)
{
	char text[1200] = "vkvm: ";
	size_t len = 6 + (size_t)snprintf(text + 6, 16, "%s", what);
	int more = vsnprintf(text + len, sizeof(text) - len - 1, fmt, args);

	len = strlen(text);
	if (more < 0)
		return;
	text[len++] = '\n';
	if (write(STDERR_FILENO, text, len) < 0)
		return;
}

void report_error(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	line("", fmt, args);
	va_end(args);
}

void report_warning(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	line("warning: ", fmt, args);
	va_end(args);
}

void report_failure(const struct bd_error *err)
{
	report_error("%s%s%s", err->msg, err->hint[0] ? ". " : "", err->hint);
}
