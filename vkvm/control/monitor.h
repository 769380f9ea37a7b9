/* SPDX-License-Identifier: MIT */
/* Monitors: QMP and HMP over a unix socket, one client at a time each. */
#ifndef VKVM_MONITOR_H
#define VKVM_MONITOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "blockdev/include/error.h"

enum { MONITOR_ROOM = 1 << 16 };

struct control;

struct monitor {
	bool qmp;
	bool negotiated;             /* qmp_capabilities was said */
	char *path;                  /* of the socket; removed at the end */
	int listen_fd, fd;           /* -1: none */
	char input[MONITOR_ROOM];
	size_t len;                  /* bytes of an unfinished line */
};

/* @where: "unix:PATH,server..." or "none".  -ENOTSUP and errors of the socket. */
int monitor_open(struct monitor *monitor, const char *where, bool qmp, struct bd_error *err);
void monitor_close(struct monitor *monitor);
/* The descriptor to wait for; -1: none. */
int monitor_fd(const struct monitor *monitor);
/* It is readable: take a client, or what the client says. */
void monitor_ready(struct monitor *monitor, struct control *control);
/* Send an event to a QMP client; takes @data (NULL: none). */
void monitor_event(struct monitor *monitor, const char *name, json_t *data);

/* --- commands.c -------------------------------------------------------------------------- */

/* One command of QMP. */
struct command {
	struct control *control;
	json_t *args;                /* or NULL; borrowed */
	json_t *out;                 /* its result; NULL: {} */
	struct bd_error *err;
	struct disk_unit *unit;      /* of command_on_disk() */
	int (*run)(struct command *cmd); /* there */
	int ret;
};

/* Run it.  0, or a negative errno with @cmd->err; the caller has @cmd->out then. */
int command_run(struct command *cmd, const char *name);
/* Names of all commands, as query-commands shows them. */
json_t *command_names(void);

/* --- block_commands.c -------------------------------------------------------------------- */

/* An argument that is a text; NULL: it is none. */
const char *command_text(const struct command *cmd, const char *name);
/* Run @run on the I/O thread; with the disk that the arguments name drained. */
int command_on_thread(struct command *cmd, int (*run)(struct command *cmd));
int command_on_disk(struct command *cmd, int (*run)(struct command *cmd));

/* These run there, but for block_reopen(). */

int block_query(struct command *cmd);
int block_query_nodes(struct command *cmd);
int block_query_stats(struct command *cmd);
int block_resize(struct command *cmd);
int block_snapshot(struct command *cmd);
int block_delete_snapshot(struct command *cmd);
int block_overlay(struct command *cmd);
int block_reopen(struct command *cmd);
int block_set_io_throttle(struct command *cmd);
int block_set_histogram(struct command *cmd);
int block_commit(struct command *cmd);

/* --- hmp.c ------------------------------------------------------------------------------- */

/* Run a line of HMP; returns its output, which the caller frees; NULL: no memory. */
char *hmp_run(struct control *control, const char *line);

#endif
