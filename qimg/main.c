/* SPDX-License-Identifier: MIT */
/* qimg: global options, then one command. */
#include <getopt.h>
#include <signal.h>
#include <stddef.h>

#include "qimg/command.h"
#include "qimg/program.h"
#include "qimg/report.h"

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ "trace", required_argument, NULL, 'T' },
		{ 0 },
	};
	const struct command *command;
	int val;

	signal(SIGPIPE, SIG_IGN);
	opterr = 0;
	while ((val = getopt_long(argc, argv, "+:hVT:", longs, NULL)) != -1) {
		switch (val) {
		case 'h':
			command_help_all();
			return program_finish(0);
		case 'V':
			program_version();
			return program_finish(0);
		case 'T':
			break;
		case ':':
			return report_usage("missing argument for option '%s'", argv[optind - 1]);
		default:
			return report_usage("unrecognized option '%s'", argv[optind - 1]);
		}
	}
	if (optind == argc)
		return report_usage("Not enough arguments");
	command = command_find(argv[optind]);
	if (!command)
		return report_usage("Command not found: %s", argv[optind]);
	return program_finish(command_run(command, argc - optind, argv + optind));
}
