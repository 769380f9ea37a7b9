/* SPDX-License-Identifier: MIT */
/* The commands of QMP that concern the machine, and the table of all. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "vkvm/control/block_commands.h"
#include "vkvm/control/control.h"

static json_t *query_status(struct control *control)
{
	const char *status = control->io_stopped ? "io-error" :
			     machine_running(control->machine) ? "running" : "paused";

	return json_pack("{s:b, s:s, s:b}", "running", machine_running(control->machine),
			 "status", status, "singlestep", 0);
}

static int do_query_status(struct control *control, json_t *args, json_t **out,
			   struct bd_error *err)
{
	(void)args;
	(void)err;
	*out = query_status(control);
	return 0;
}

static int do_query_version(struct control *control, json_t *args, json_t **out,
			    struct bd_error *err)
{
	(void)control;
	(void)args;
	(void)err;
	*out = json_pack("{s:{s:i, s:i, s:i}, s:s}", "qemu", "major", 7, "minor", 2, "micro", 22,
			 "package", "vkvm " QIMG_VERSION);
	return 0;
}

static int do_query_commands(struct control *control, json_t *args, json_t **out,
			     struct bd_error *err)
{
	(void)control;
	(void)args;
	(void)err;
	*out = command_names();
	return 0;
}

static int do_query_name(struct control *control, json_t *args, json_t **out, struct bd_error *err)
{
	(void)args;
	(void)err;
	*out = control->name ? json_pack("{s:s}", "name", control->name) : NULL;
	return 0;
}

static int do_stop(struct control *control, json_t *args, json_t **out, struct bd_error *err)
{
	(void)args;
	(void)out;
	(void)err;
	control_stop(control);
	return 0;
}

static int do_cont(struct control *control, json_t *args, json_t **out, struct bd_error *err)
{
	(void)args;
	(void)out;
	(void)err;
	control_cont(control);
	return 0;
}

static int do_reset(struct control *control, json_t *args, json_t **out, struct bd_error *err)
{
	(void)args;
	(void)out;
	(void)err;
	machine_raise(control->machine, EVENT_RESET);
	return 0;
}

static int do_powerdown(struct control *control, json_t *args, json_t **out, struct bd_error *err)
{
	(void)args;
	(void)out;
	(void)err;
	power_press(control->power);
	control_event(control, "POWERDOWN", NULL);
	return 0;
}

static int do_quit(struct control *control, json_t *args, json_t **out, struct bd_error *err)
{
	(void)args;
	(void)out;
	(void)err;
	control_end(control, 0, "host-qmp-quit");
	return 0;
}

static int do_human(struct control *control, json_t *args, json_t **out, struct bd_error *err)
{
	const char *line = json_string_value(json_object_get(args, "command-line"));
	char *text;

	if (!line)
		return bd_fail(err, -EINVAL, "Parameter 'command-line' is missing");
	text = hmp_run(control, line);
	*out = json_string(text ? text : "");
	free(text);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(struct control *control, json_t *args, json_t **out, struct bd_error *err);
} table[] = {
	{ "block_resize", block_resize },
	{ "block_set_io_throttle", block_set_io_throttle },
	{ "blockdev-reopen", block_reopen },
	{ "blockdev-snapshot-delete-internal-sync", block_delete_snapshot },
	{ "blockdev-snapshot-internal-sync", block_snapshot },
	{ "blockdev-snapshot-sync", block_overlay },
	{ "cont", do_cont },
	{ "human-monitor-command", do_human },
	{ "query-block", block_query },
	{ "query-blockstats", block_query_stats },
	{ "query-commands", do_query_commands },
	{ "query-name", do_query_name },
	{ "query-status", do_query_status },
	{ "query-version", do_query_version },
	{ "quit", do_quit },
	{ "stop", do_stop },
	{ "system_powerdown", do_powerdown },
	{ "system_reset", do_reset },
	{ "x-commit", block_commit },
};

int command_run(struct control *control, const char *name, json_t *args, json_t **out,
		struct bd_error *err)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (!strcmp(name, table[i].name))
			return table[i].run(control, args, out, err);
	}
	return bd_fail(err, -ENOSYS, "The command %s has not been found", name);
}

json_t *command_names(void)
{
	json_t *list = json_array();

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		json_array_append_new(list, json_pack("{s:s}", "name", table[i].name));
	json_array_append_new(list, json_pack("{s:s}", "name", "qmp_capabilities"));
	return list;
}
