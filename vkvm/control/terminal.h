/* SPDX-License-Identifier: MIT */
/* The console on standard input and output: raw terminal, escape keys. */
#ifndef VKVM_TERMINAL_H
#define VKVM_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>

enum terminal_key {
	KEY_NONE,
	KEY_QUIT,       /* Ctrl-A x */
	KEY_MONITOR,    /* Ctrl-A c */
	KEY_COMMIT,     /* Ctrl-A s */
	KEY_BREAK,      /* Ctrl-A b */
	KEY_HELP,       /* Ctrl-A h */
};

struct terminal {
	bool escaped;           /* the last byte was Ctrl-A */
};

/* Switch a terminal on standard input to raw mode; it is restored at exit and on fatal signals. */
void terminal_open(struct terminal *terminal);
void terminal_close(void);
/*
 * Filter one typed byte.  true: *byte is for the guest; false: it is not, and *key may be set.
 */
bool terminal_filter(struct terminal *terminal, uint8_t *byte, enum terminal_key *key);

#endif
