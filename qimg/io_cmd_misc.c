/* SPDX-License-Identifier: MIT */
/* qimg-io: breakpoints, sleep, signals, help, quit. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "blockdev/include/debug.h"
#include "qimg/io.h"

static int run_break(struct io_state *io, int argc, char **argv)
{
	int ret = bd_debug_break(io->node, argv[1], argv[2]);

	(void)argc;
	if (ret < 0)
		printf("Could not set breakpoint: %s\n", strerror(-ret));
	return ret;
}

static int run_remove_break(struct io_state *io, int argc, char **argv)
{
	int ret = bd_debug_remove_break(io->node, argv[1]);

	(void)argc;
	if (ret < 0)
		printf("Could not remove breakpoint %s: %s\n", argv[1], strerror(-ret));
	return ret;
}

static int run_resume(struct io_state *io, int argc, char **argv)
{
	int ret = bd_debug_resume(io->node, argv[1]);

	(void)argc;
	if (ret < 0)
		printf("Could not resume request: %s\n", strerror(-ret));
	bd_queue_poll(io->queue, false);
	return ret;
}

static int run_wait_break(struct io_state *io, int argc, char **argv)
{
	(void)argc;
	while (!bd_debug_is_suspended(io->node, argv[1])) {
		struct timespec pause = {0, 1000000};

		if (bd_queue_poll(io->queue, false) < 0)
			return -EIO;
		if (!bd_debug_is_suspended(io->node, argv[1]))
			nanosleep(&pause, NULL);
	}
	return 0;
}

static int run_sleep(struct io_state *io, int argc, char **argv)
{
	char *end = NULL;
	struct timespec until, now;
	long ms = strtol(argv[1], &end, 0);

	(void)argc;
	if (end == argv[1] || *end || ms < 0) {
		printf("%s is not a valid number\n", argv[1]);
		return -EINVAL;
	}
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	do { /* requests in flight and the clean-up timer go on */
		struct timespec pause = {0, 1000000};

		bd_queue_poll(io->queue, false);
		nanosleep(&pause, NULL);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec < until.tv_sec ||
		 (now.tv_sec == until.tv_sec && now.tv_nsec < until.tv_nsec));
	return 0;
}

static int run_sigraise(struct io_state *io, int argc, char **argv)
{
	int64_t number = io_number(argv[1]);

	(void)io;
	(void)argc;
	if (number < 0)
		return (int)number;
	if (number > NSIG) {
		printf("signal argument '%s' is too large to be a valid signal\n", argv[1]);
		return -EINVAL;
	}
	fflush(stdout); /* a fatal signal must not swallow what was said */
	raise((int)number);
	return 0;
}

static int run_abort(struct io_state *io, int argc, char **argv)
{
	(void)io;
	(void)argc;
	(void)argv;
	abort();
}

static int run_quit(struct io_state *io, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	io->quit = true;
	return 0;
}

/* @name: the command's, or a short form of it. */
static void help_line(const struct io_command *command, const char *name)
{
	printf("%s", name);
	if (command->args)
		printf(" %s", command->args);
	printf(" -- %s\n", command->summary);
}

static int run_help(struct io_state *io, int argc, char **argv)
{
	const struct io_command *command = argc > 1 ? io_find(argv[1]) : NULL;

	(void)io;
	if (argc > 1 && !command) {
		printf("command %s not found\n", argv[1]);
		return -EINVAL;
	}
	if (command) {
		help_line(command, argv[1]);
		if (command->help)
			printf("\n %s\n\n", command->help);
		return 0;
	}
	while ((command = io_next(command)))
		help_line(command, command->name);
	printf("\nUse 'help commandname' for extended help.\n");
	return 0;
}

const struct io_command io_misc_commands[] = {
	{"break", NULL, run_break, 2, 2, true, false, "event tag",
	 "sets a breakpoint on event and tags the stopped request as tag", NULL},
	{"remove_break", NULL, run_remove_break, 1, 1, true, false, "tag",
	 "remove a breakpoint by tag", NULL},
	{"resume", NULL, run_resume, 1, 1, true, false, "tag", "resumes the request tagged as tag",
	 NULL},
	{"wait_break", NULL, run_wait_break, 1, 1, true, false, "tag",
	 "waits for the suspension of a request", NULL},
	{"sleep", NULL, run_sleep, 1, 1, false, false, NULL,
	 "waits for the given value in milliseconds", NULL},
	{"sigraise", NULL, run_sigraise, 1, 1, false, false, "signal", "raises a signal",
	 "signal: its number; tests crash the program with it"},
	{"abort", NULL, run_abort, 0, 0, false, false, NULL,
	 "simulate a program crash using abort(3)", NULL},
	{"quit", "q", run_quit, 0, 0, false, false, NULL, "exit the program", NULL},
	{"help", "?", run_help, 0, 1, false, false, "[command]", "help for one or all commands",
	 NULL},
	{0},
};
