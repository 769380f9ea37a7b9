/* SPDX-License-Identifier: MIT */
/* -daemonize: the program goes on in the background once everything is set up. */
#ifndef VKVM_DAEMON_H
#define VKVM_DAEMON_H

#include "blockdev/include/error.h"

struct daemon {
	bool on;
	int parent, null;            /* a pipe to whoever waits, and /dev/null */
};

/*
 * Fork; before any thread is started.  The parent waits for daemon_ready() of the child and ends
 * with 0, or with 1 if the child ends before; only the child comes back.
 */
int daemon_begin(struct daemon *daemon, struct bd_error *err);
/* From now on nobody waits, and standard input and output are nowhere. */
void daemon_ready(struct daemon *daemon);

#endif
