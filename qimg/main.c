/* SPDX-License-Identifier: MIT */
/* qimg: global options, then one command. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qimg/command.h"
#include "qimg/report.h"

/* What could not be written to standard output is an error, also when it was only text. */
static int finish(int status)
{
	bool bad = ferror(stdout);

	errno = 0;
	if (fclose(stdout) != 0)
		bad = true;
	if (bad && status == 0) {
		fprintf(stderr, "%s: Could not write to standard output: %s\n",
			program_invocation_short_name, strerror(errno ? errno : EIO));
		return 1;
	}
	return status;
}

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
			return finish(0);
		case 'V':
			command_version();
			return finish(0);
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
	return finish(command_run(command, argc - optind, argv + optind));
}
