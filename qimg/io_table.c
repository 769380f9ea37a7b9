/* SPDX-License-Identifier: MIT */
/* qimg-io: the table of commands, and running one line. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "qimg/io.h"
#include "qimg/report.h"

enum { WORDS_MAX = 1024 };

static const struct io_command *const groups[] = {
	io_rw_commands, io_aio_commands, io_file_commands, io_misc_commands, NULL,
};

const struct io_command *io_find(const char *name)
{
	for (unsigned g = 0; groups[g]; g++) {
		for (const struct io_command *c = groups[g]; c->name; c++) {
			if (!strcmp(c->name, name) || (c->alias && !strcmp(c->alias, name)))
				return c;
		}
	}
	return NULL;
}

const struct io_command *io_next(const struct io_command *command)
{
	const struct io_command *next = NULL;

	for (unsigned g = 0; groups[g]; g++) {
		for (const struct io_command *c = groups[g]; c->name; c++) {
			if (command && strcmp(c->name, command->name) <= 0)
				continue;
			if (!next || strcmp(c->name, next->name) < 0)
				next = c;
		}
	}
	return next;
}

void io_usage(const struct io_command *command)
{
	printf("%s %s -- %s\n", command->name, command->args ? command->args : "",
	       command->summary);
}

void io_getopt_start(void)
{
	optind = 0;
}

int io_getopt(const struct io_command *command, int argc, char **argv, const char *letters)
{
	int letter = getopt(argc, argv, letters);

	if (letter == '?' || letter == ':') {
		io_usage(command);
		return '?';
	}
	return letter;
}

static int bad_count(const struct io_command *command, int nr)
{
	if (command->max == -1)
		fprintf(stderr, "bad argument count %d to %s, expected at least %d arguments\n",
			nr, command->name, command->min);
	else if (command->min == command->max)
		fprintf(stderr, "bad argument count %d to %s, expected %d arguments\n", nr,
			command->name, command->min);
	else
		fprintf(stderr, "bad argument count %d to %s, expected between %d and %d "
			"arguments\n", nr, command->name, command->min, command->max);
	return -EINVAL;
}

static int run_words(struct io_state *io, int argc, char **argv)
{
	const struct io_command *command = io_find(argv[0]);
	int nr = argc - 1;

	if (!command) {
		fprintf(stderr, "command \"%s\" not found\n", argv[0]);
		return -EINVAL;
	}
	if (command->needs_file && !io->node) {
		fprintf(stderr, "no file open, try 'help open'\n");
		return -EINVAL;
	}
	if (nr < command->min || (command->max != -1 && nr > command->max))
		return bad_count(command, nr);
	if (command->modifies && !(io->how.flags & BD_O_RDWR)) {
		report_error("Block node is read-only");
		return -EACCES;
	}
	io_getopt_start();
	return command->run(io, argc, argv);
}

int io_run_line(struct io_state *io, char *line)
{
	char *words[WORDS_MAX + 1], *save = NULL;
	int nr = 0, ret = 0;

	for (char *word = strtok_r(line, " ", &save); word && nr < WORDS_MAX;
	     word = strtok_r(NULL, " ", &save))
		words[nr++] = word;
	words[nr] = NULL;
	if (nr)
		ret = run_words(io, nr, words);
	if (ret < 0)
		io->failed = 1;
	return ret;
}
