/* SPDX-License-Identifier: MIT */
/* A growing string. */
#include "blockdev/base/strbuf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool grow(struct strbuf *buf, size_t more)
{
	size_t want, room;
	char *text;

	if (buf->failed || __builtin_add_overflow(buf->len, more, &want) || want > SIZE_MAX / 4) {
		buf->failed = true;
		return false;
	}
	want++;
	if (want <= buf->room)
		return true;
	room = want < 32 ? 64 : want * 2;
	text = realloc(buf->text, room);
	if (!text) {
		buf->failed = true;
		return false;
	}
	buf->text = text;
	buf->room = room;
	return true;
}

void bd_strbuf_add(struct strbuf *buf, const void *bytes, size_t len)
{
	if (!grow(buf, len))
		return;
	if (len)
		memcpy(buf->text + buf->len, bytes, len);
	buf->len += len;
	buf->text[buf->len] = '\0';
}

void bd_strbuf_addc(struct strbuf *buf, char c)
{
	bd_strbuf_add(buf, &c, 1);
}

void bd_strbuf_adds(struct strbuf *buf, const char *text)
{
	bd_strbuf_add(buf, text, strlen(text));
}

void bd_strbuf_addf(struct strbuf *buf, const char *fmt, ...)
{
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (len < 0 || !grow(buf, (size_t)len)) {
		buf->failed = true;
		return;
	}
	va_start(ap, fmt);
	vsnprintf(buf->text + buf->len, (size_t)len + 1, fmt, ap);
	va_end(ap);
	buf->len += (size_t)len;
}

void bd_strbuf_cut(struct strbuf *buf, size_t len)
{
	if (len >= buf->len)
		return;
	buf->len = len;
	buf->text[len] = '\0';
}

char *bd_strbuf_steal(struct strbuf *buf)
{
	char *text;

	bd_strbuf_add(buf, "", 0);
	if (buf->failed) {
		bd_strbuf_free(buf);
		return NULL;
	}
	text = buf->text;
	*buf = (struct strbuf){0};
	return text;
}

void bd_strbuf_free(struct strbuf *buf)
{
	free(buf->text);
	*buf = (struct strbuf){0};
}
