/* SPDX-License-Identifier: MIT */
/* How every unit test program ends: run one suite, and what main() returns. */
#ifndef UNIT_SUITE_H
#define UNIT_SUITE_H

#include <check.h>

/*
 * Run @tcase as suite @name.  @fork_status: CK_NOFORK where tests are many and small, CK_FORK
 * where one may hang or kill itself.  Returns the exit status.
 */
int suite_run(const char *name, TCase *tcase, enum fork_status fork_status);

/* The thread sanitizer's shadow memory counts as ours, and it takes SIGBUS for its own. */
#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN true
#else
#define UNDER_TSAN false
#endif

#endif
