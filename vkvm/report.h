/* SPDX-License-Identifier: MIT */
/* Lines for people, on standard error. */
#ifndef VKVM_REPORT_H
#define VKVM_REPORT_H

#include "blockdev/include/error.h"

/* "vkvm: text". */
void report_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* "vkvm: warning: text". */
void report_warning(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* An error with its hint. */
void report_failure(const struct bd_error *err);

#endif
