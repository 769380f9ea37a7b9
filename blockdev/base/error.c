/* SPDX-License-Identifier: MIT */
/* Error texts: formatted into fixed buffers, so that an error path never allocates. */
#include "blockdev/include/error.h"

#include <stdio.h>
#include <string.h>

static void set(struct bd_error *err, const char *fmt, va_list ap)
{
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	err->hint[0] = '\0';
}

int bd_fail(struct bd_error *err, int ret, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return ret;
	va_start(ap, fmt);
	set(err, fmt, ap);
	va_end(ap);
	return ret;
}

int bd_fail_errno(struct bd_error *err, int ret, const char *fmt, ...)
{
	va_list ap;
	size_t len;

	if (!err)
		return ret;
	va_start(ap, fmt);
	set(err, fmt, ap);
	va_end(ap);
	len = strlen(err->msg);
	snprintf(err->msg + len, sizeof(err->msg) - len, ": %s", strerror(-ret));
	return ret;
}

void bd_prefix(struct bd_error *err, const char *fmt, ...)
{
	char front[sizeof(err->msg)];
	va_list ap;
	size_t len, old;

	if (!err)
		return;
	va_start(ap, fmt);
	vsnprintf(front, sizeof(front), fmt, ap);
	va_end(ap);
	len = strlen(front);
	old = strlen(err->msg);
	if (old > sizeof(err->msg) - 1 - len)
		old = sizeof(err->msg) - 1 - len;
	memmove(err->msg + len, err->msg, old);
	memcpy(err->msg, front, len);
	err->msg[len + old] = '\0';
}

void bd_hint(struct bd_error *err, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return;
	va_start(ap, fmt);
	vsnprintf(err->hint, sizeof(err->hint), fmt, ap);
	va_end(ap);
}
