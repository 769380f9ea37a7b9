/* SPDX-License-Identifier: MIT */
/* HMP: words for people, each a command of QMP. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vkvm/control/control.h"
#include "vkvm/control/monitor.h"

/* A line's words become these arguments, in order. */
static const struct hmp {
	const char *words;           /* what is typed */
	const char *command;         /* QMP's */
	const char *args[3];         /* '#' in front: a size */
	const char *help;
} table[] = {
	{ "info status", "query-status", {0}, "is the guest running" },
	{ "info block", "query-block", {0}, "the disks and their images" },
	{ "info blockstats", "query-blockstats", {0}, "counters" },
	{ "info qcow2", "query-blockstats", {0}, NULL },
	{ "info snapshots", "query-named-block-nodes", {0}, "images, with their snapshots" },
	{ "info name", "query-name", {0}, "what the machine is called" },
	{ "info version", "query-version", {0}, "of the program" },
	{ "stop", "stop", {0}, "stop the guest" },
	{ "cont", "cont", {0}, "let it go on; requests that failed are tried again" },
	{ "c", "cont", {0}, NULL },
	{ "system_reset", "system_reset", {0}, "reset" },
	{ "system_powerdown", "system_powerdown", {0}, "press the power button" },
	{ "quit", "quit", {0}, "end the program" },
	{ "q", "quit", {0}, NULL },
	{ "block_resize", "block_resize", { "device", "#size" }, "DEVICE SIZE" },
	{ "snapshot_blkdev", "blockdev-snapshot-sync", { "device", "snapshot-file", "format" },
	  "DEVICE FILE: go on in a new overlay" },
	{ "snapshot_blkdev_internal", "blockdev-snapshot-internal-sync", { "device", "name" },
	  "DEVICE NAME" },
	{ "snapshot_delete_blkdev_internal", "blockdev-snapshot-delete-internal-sync",
	  { "device", "name" }, "DEVICE NAME" },
	{ "savevm-disk", "blockdev-snapshot-internal-sync", { "device", "name" }, NULL },
	{ "delvm", "blockdev-snapshot-delete-internal-sync", { "device", "name" }, NULL },
	{ "commit", "x-commit", { "device" }, "DEVICE: write an overlay into its base" },
};

static int add_arg(json_t *args, const char *name, const char *word, struct bd_error *err)
{
	uint64_t size;

	if (name[0] != '#') {
		json_object_set_new(args, name, json_string(word));
		return 0;
	}
	if (bd_parse_size(word, &size) < 0)
		return bd_fail(err, -EINVAL, "'%s' is no size", word);
	json_object_set_new(args, name + 1, json_integer((json_int_t)size));
	return 0;
}

static char *help(void)
{
	char *text = calloc(1, sizeof(table) / sizeof(table[0]) * 128);

	for (size_t i = 0; text && i < sizeof(table) / sizeof(table[0]); i++) {
		if (table[i].help)
			sprintf(text + strlen(text), "%s -- %s\n", table[i].words, table[i].help);
	}
	return text;
}

static const struct hmp *find(const char *line, const char **rest)
{
	const struct hmp *found = NULL;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		size_t len = strlen(table[i].words);

		if (strncmp(line, table[i].words, len) || (line[len] && line[len] != ' '))
			continue;
		found = &table[i];
		*rest = line + len;
	}
	return found;
}

static int run(struct command *cmd, const struct hmp *hmp, const char *rest)
{
	char *copy = strdup(rest), *save = NULL, *word = copy ? strtok_r(copy, " ", &save) : NULL;
	int ret = 0;

	for (unsigned i = 0; word && i < 3 && hmp->args[i] && ret == 0; i++) {
		ret = add_arg(cmd->args, hmp->args[i], word, cmd->err);
		word = strtok_r(NULL, " ", &save);
	}
	if (ret == 0 && word)
		ret = bd_fail(cmd->err, -EINVAL, "%s: extraneous characters at the end of line",
			      hmp->words);
	if (ret == 0)
		ret = command_run(cmd, hmp->command);
	free(copy);
	return ret;
}

char *hmp_run(struct control *control, const char *line)
{
	struct bd_error err = {0};
	const char *rest;
	struct command cmd = { .control = control, .err = &err };
	char *text = NULL;
	const struct hmp *hmp;

	while (*line == ' ')
		line++;
	if (!*line)
		return strdup("");
	if (!strcmp(line, "help") || !strcmp(line, "?"))
		return help();
	hmp = find(line, &rest);
	if (!hmp) {
		bd_fail(&err, -EINVAL, "unknown command: '%s'", line);
		return asprintf(&text, "%s\n", err.msg) < 0 ? NULL : text;
	}
	cmd.args = json_object();
	if (run(&cmd, hmp, rest) < 0) {
		if (asprintf(&text, "Error: %s\n", err.msg) < 0)
			text = NULL;
	} else if (cmd.out) {
		char *json = json_dumps(cmd.out, JSON_INDENT(4) | JSON_PRESERVE_ORDER);

		if (!json || asprintf(&text, "%s\n", json) < 0)
			text = NULL;
		free(json);
	} else {
		text = strdup("");
	}
	json_decref(cmd.args);
	json_decref(cmd.out);
	return text;
}
