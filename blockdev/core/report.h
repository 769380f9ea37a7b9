/* SPDX-License-Identifier: MIT */
/* Lines the library says by itself: warnings, and damage met while running. */
#ifndef BD_REPORT_H
#define BD_REPORT_H

#include <stdbool.h>

/* Pass one line (without newline) to the sink of bd_set_report(). */
void bd_report(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Tell whoever called bd_set_damage() of damage to @node's image. */
struct bd_node;
void bd_tell_damage(const struct bd_node *node, const char *what, bool fatal);

#endif
