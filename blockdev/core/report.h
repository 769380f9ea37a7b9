/* SPDX-License-Identifier: MIT */
/* Lines the library says by itself: warnings, and damage met while running. */
#ifndef BD_REPORT_H
#define BD_REPORT_H

/* Pass one line (without newline) to the sink of bd_set_report(). */
void bd_report(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
