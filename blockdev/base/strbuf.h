/* SPDX-License-Identifier: MIT */
/* A growing string. */
#ifndef BD_STRBUF_H
#define BD_STRBUF_H

#include <stdbool.h>
#include <stddef.h>

/* Starts as "= {0}".  After a failed allocation it stays as it was and @failed is set. */
struct strbuf {
	char *text;     /* zero-terminated, or NULL: empty */
	size_t len;     /* bytes without the terminator */
	size_t room;    /* bytes allocated */
	bool failed;
};

/* Append bytes, one character, formatted text. */
void bd_strbuf_add(struct strbuf *buf, const void *bytes, size_t len);
void bd_strbuf_addc(struct strbuf *buf, char c);
void bd_strbuf_adds(struct strbuf *buf, const char *text);
void bd_strbuf_addf(struct strbuf *buf, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Shorten to @len bytes. */
void bd_strbuf_cut(struct strbuf *buf, size_t len);
/* The string, the caller's to free; NULL: an allocation failed.  The buffer is empty again. */
char *bd_strbuf_steal(struct strbuf *buf);
void bd_strbuf_free(struct strbuf *buf);

#endif
