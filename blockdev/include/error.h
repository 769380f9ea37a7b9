/* SPDX-License-Identifier: MIT */
/* Errors of the control plane: a negative errno and one line of text for people. */
#ifndef BD_ERROR_H
#define BD_ERROR_H

#include <stdarg.h>
#include <stdbool.h>

/*
 * Text of one failure.  Caller-owned, usually on the stack and zeroed ("= {0}").  Fixed size, so
 * that an error path never allocates.  Printed once, by the program.
 */
struct bd_error {
	char msg[4096];  /* one phrase, no newline, no final stop */
	char hint[512];  /* a second line for people, or empty */
};

/* Set @err's text (if @err is not NULL) and return @ret, a negative errno. */
int bd_fail(struct bd_error *err, int ret, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* As bd_fail(), with ": strerror(-ret)" appended. */
int bd_fail_errno(struct bd_error *err, int ret, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Put text in front of @err's message.  Does nothing if @err is NULL. */
void bd_prefix(struct bd_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Set @err's second line, shown below the message.  Does nothing if @err is NULL. */
void bd_hint(struct bd_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
