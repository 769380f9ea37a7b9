/* SPDX-License-Identifier: MIT */
/* The commands of QMP that concern the machine, and the table of all. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/include/info.h"
#include "config.h"
#include "vkvm/control/control.h"

static int do_query_status(struct command *cmd)
{
	bool running = machine_running(cmd->control->machine);
	const char *status = cmd->control->io_stopped ? "io-error" : "paused";

	if (running)
		status = "running";
	cmd->out = json_pack("{s:b, s:s, s:b}", "running", running, "status", status,
			     "singlestep", 0);
	return 0;
}

static int do_query_version(struct command *cmd)
{
	cmd->out = json_pack("{s:{s:i, s:i, s:i}, s:s}", "qemu", "major", 7, "minor", 2, "micro",
			     22, "package", "vkvm " QIMG_VERSION);
	return 0;
}

static int do_query_commands(struct command *cmd)
{
	cmd->out = command_names();
	return 0;
}

static int do_query_name(struct command *cmd)
{
	if (cmd->control->name)
		cmd->out = json_pack("{s:o}", "name", bd_json_text(cmd->control->name));
	return 0;
}

static int do_stop(struct command *cmd)
{
	control_stop(cmd->control);
	return 0;
}

static int do_cont(struct command *cmd)
{
	control_cont(cmd->control);
	return 0;
}

static int do_reset(struct command *cmd)
{
	machine_raise(cmd->control->machine, EVENT_RESET);
	return 0;
}

static int do_powerdown(struct command *cmd)
{
	power_press(cmd->control->power);
	control_event(cmd->control, "POWERDOWN", NULL);
	return 0;
}

static int do_quit(struct command *cmd)
{
	control_end(cmd->control, 0, "host-qmp-quit");
	return 0;
}

static int do_human(struct command *cmd)
{
	const char *line = json_string_value(json_object_get(cmd->args, "command-line"));
	char *text;

	if (!line)
		return bd_fail(cmd->err, -EINVAL, "Parameter 'command-line' is missing");
	text = hmp_run(cmd->control, line);
	cmd->out = bd_json_text(text ? text : "");
	free(text);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(struct command *cmd);
	enum { HERE, ON_THREAD, ON_DISK } where;
} table[] = {
	{ "block-latency-histogram-set", block_set_histogram, ON_DISK },
	{ "block_resize", block_resize, ON_DISK },
	{ "block_set_io_throttle", block_set_io_throttle, ON_DISK },
	{ "blockdev-reopen", block_reopen, HERE },
	{ "blockdev-snapshot-delete-internal-sync", block_delete_snapshot, ON_DISK },
	{ "blockdev-snapshot-internal-sync", block_snapshot, ON_DISK },
	{ "blockdev-snapshot-sync", block_overlay, ON_DISK },
	{ "cont", do_cont, HERE },
	{ "human-monitor-command", do_human, HERE },
	{ "query-block", block_query, ON_THREAD },
	{ "query-blockstats", block_query_stats, ON_THREAD },
	{ "query-commands", do_query_commands, HERE },
	{ "query-name", do_query_name, HERE },
	{ "query-named-block-nodes", block_query_nodes, ON_THREAD },
	{ "query-status", do_query_status, HERE },
	{ "query-version", do_query_version, HERE },
	{ "quit", do_quit, HERE },
	{ "stop", do_stop, HERE },
	{ "system_powerdown", do_powerdown, HERE },
	{ "system_reset", do_reset, HERE },
	{ "x-commit", block_commit, ON_DISK },
};

int command_run(struct command *cmd, const char *name)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (strcmp(name, table[i].name))
			continue;
		return table[i].where == ON_DISK ? command_on_disk(cmd, table[i].run) :
		       table[i].where == ON_THREAD ? command_on_thread(cmd, table[i].run) :
		       table[i].run(cmd);
	}
	return bd_fail(cmd->err, -ENOSYS, "The command %s has not been found", name);
}

json_t *command_names(void)
{
	json_t *list = json_array();

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		json_array_append_new(list, json_pack("{s:s}", "name", table[i].name));
	json_array_append_new(list, json_pack("{s:s}", "name", "qmp_capabilities"));
	return list;
}
