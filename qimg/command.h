/* SPDX-License-Identifier: MIT */
/* A command is data and one function; the table of all of them is in command.c. */
#ifndef QIMG_COMMAND_H
#define QIMG_COMMAND_H

#include "qimg/opts.h"

/* What a command is run with. */
struct invocation {
	const struct command *command;
	void *values;         /* the command's own struct, filled from its option table */
	char **operands;
	int nr_operands;
};

struct command {
	const char *name;
	const char *operands; /* as shown in the synopsis */
	const char *summary;  /* one line */
	const struct opt *opts;
	size_t values_size;
	int object_status;    /* the exit status when --object is wrong; 0: the usual 1 */
	/* Optional: may take words out of argv (a "-1G" that is no option) before it is parsed. */
	void (*prepare)(int *argc, char **argv, void *values);
	opts_look *look;      /* optional: sees the options as they are met */
	int (*run)(struct invocation *inv); /* the exit status */
};

extern const struct command *const commands[]; /* in alphabetic order; NULL-terminated */

const struct command *command_find(const char *name); /* NULL: unknown */
/* Parse argv[1..] and run; argv[0] is the command's name.  The exit status. */
int command_run(const struct command *command, int argc, char **argv);
/* The help of one command, and of all of them. */
void command_help(const struct command *command);
void command_help_all(void);

#endif
