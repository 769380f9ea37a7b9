/* SPDX-License-Identifier: MIT */
/* qimg-io: commands from standard input; on a terminal with line editing, if libedit is there. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "qimg/io.h"

#if CONFIG_EDITLINE
#include <editline/readline.h>

/* The next command that starts with @text, for the tab key; @again: not the first time. */
static char *next_name(const char *text, int again)
{
	static const struct io_command *last;

	if (!again)
		last = NULL;
	do {
		last = io_next(last);
	} while (last && strncmp(last->name, text, strlen(text)));
	return last ? strdup(last->name) : NULL;
}

/* Commands at the start of the line, files behind it. */
static char **complete(const char *text, int start, int end)
{
	(void)end;
	return start == 0 ? rl_completion_matches(text, next_name) : NULL;
}

static char *edit_line(const char *prompt)
{
	char *line;

	rl_attempted_completion_function = complete;
	line = readline(prompt);
	if (line && *line)
		add_history(line);
	return line;
}
#else
static char *edit_line(const char *prompt)
{
	(void)prompt;
	return NULL;
}
#endif

static char *plain_line(const char *prompt)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t len;

	printf("%s", prompt);
	fflush(stdout);
	len = getline(&line, &room, stdin);
	if (len < 0) {
		free(line);
		return NULL;
	}
	if (len && line[len - 1] == '\n')
		line[len - 1] = 0;
	return line;
}

void io_run_input(struct io_state *io)
{
	bool edit = CONFIG_EDITLINE && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	char prompt[64], *line;

	snprintf(prompt, sizeof(prompt), "%s> ", program_invocation_short_name);
	while (!io->quit && (line = edit ? edit_line(prompt) : plain_line(prompt))) {
		io_run_line(io, line);
		free(line);
		/* What has finished meanwhile is told before the next command. */
		while (bd_queue_poll(io->queue, false) > 0)
			;
	}
}
