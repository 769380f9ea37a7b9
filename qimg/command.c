/* SPDX-License-Identifier: MIT */
/* The table of commands, and what is printed from it. */
#include "qimg/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/include/blockdev.h"
#include "qimg/program.h"
#include "qimg/report.h"

extern const struct command cmd_amend, cmd_bench, cmd_bitmap, cmd_check, cmd_checksum, cmd_commit,
	cmd_compare, cmd_convert, cmd_create, cmd_dd, cmd_info, cmd_inspect, cmd_map, cmd_measure,
	cmd_rebase, cmd_resize, cmd_snapshot;

const struct command *const commands[] = {
	&cmd_amend,
	&cmd_bench,
	&cmd_bitmap,
	&cmd_check,
	&cmd_checksum,
	&cmd_commit,
	&cmd_compare,
	&cmd_convert,
	&cmd_create,
	&cmd_dd,
	&cmd_info,
	&cmd_inspect,
	&cmd_map,
	&cmd_measure,
	&cmd_rebase,
	&cmd_resize,
	&cmd_snapshot,
	NULL,
};

const struct command *command_find(const char *name)
{
	for (const struct command *const *command = commands; *command; command++) {
		if (!strcmp((*command)->name, name))
			return *command;
	}
	return NULL;
}

int command_run(const struct command *command, int argc, char **argv)
{
	struct invocation inv = { .command = command };
	int first = 0, status = 1;

	inv.values = calloc(1, command->values_size ? command->values_size : 1);
	if (!inv.values) {
		report_error("%s", strerror(ENOMEM));
		return 1;
	}
	if (command->prepare)
		command->prepare(&argc, argv, inv.values);
	switch (opts_parse(command->opts, inv.values, command->look, argc, argv, &first)) {
	case OPTS_HELP:
		command_help(command);
		status = 0;
		break;
	case OPTS_BAD_OBJECT:
		status = command->object_status ? command->object_status : 1;
		break;
	case OPTS_OK:
		inv.operands = argv + first;
		inv.nr_operands = argc - first;
		status = command->run(&inv);
		break;
	}
	opts_clear(command->opts, inv.values);
	free(inv.values);
	return status;
}

void command_help(const struct command *command)
{
	printf("usage: %s %s [options] %s\n%s.\n\nOptions:\n", program_invocation_short_name,
	       command->name, command->operands, command->summary);
	opts_print_help(command->opts);
}

static void print_formats(void)
{
	printf("Supported formats:");
	for (const char *name = bd_format_next(NULL); name; name = bd_format_next(name))
		printf(" %s", name);
	printf("\n");
}

void command_help_all(void)
{
	program_version();
	printf("usage: %s [options] COMMAND [command options]\n\n",
	       program_invocation_short_name);
	printf("  %-34s %s\n", "-h, --help", "this text");
	printf("  %-34s %s\n", "-V, --version", "print the version");
	printf("  %-34s %s\n\n", "-T, --trace=SPEC", "accepted, without effect");
	printf("Commands (COMMAND --help describes the options):\n");
	for (const struct command *const *command = commands; *command; command++) {
		printf("  %s", (*command)->name);
		opts_print_synopsis((*command)->opts);
		printf(" %s\n", (*command)->operands);
	}
	printf("\nSizes are bytes; the suffixes k, M, G, T, P and E multiply by powers of 1024.\n");
	printf("Cache modes: none, writeback, writethrough, directsync, unsafe.\n\n");
	print_formats();
}
