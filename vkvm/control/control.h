/* SPDX-License-Identifier: MIT */
/* The control thread: events of the machine, signals, monitors, the console's input. */
#ifndef VKVM_CONTROL_H
#define VKVM_CONTROL_H

#include "vkvm/block/disks.h"
#include "vkvm/control/chardev.h"
#include "vkvm/control/monitor.h"
#include "vkvm/control/terminal.h"
#include "vkvm/devices/power.h"
#include "vkvm/devices/serial.h"

/* Counters at intervals: a live line on standard error, a line of JSON in a file. */
struct stats {
	unsigned interval;           /* seconds; 0: never */
	bool live;                   /* on standard error */
	int fd;                      /* of the file; -1: none */
	uint64_t next_ns;            /* of bd_clock_ns() */
	struct stats_total {
		double operations, bytes, interrupts;
	} last[DRIVES_MAX];
};

struct control {
	struct machine *machine;
	struct disks *disks;
	struct serial *serial;
	struct power *power;
	struct terminal terminal;
	bool typing;                 /* what is typed goes to the monitor (Ctrl-A c) */
	char typed[256];             /* its line so far */
	size_t nr_typed;
	struct monitor qmp, hmp;
	struct stats stats;
	const char *name;            /* of the machine, or NULL; borrowed */
	int signal_fd;
	struct chardev console;      /* the serial line's; under the machine's lock */
	bool has_keys;               /* it is the terminal, and Ctrl-A means something */
	bool no_reboot, no_shutdown;
	bool io_stopped;             /* an error stopped the machine */
	bool paused;                 /* the disks are */
	bool done;
	int status;                  /* of the program */
};

/* Block the signals the control thread takes; before any other thread is started. */
int control_init(struct control *control);
/* Stop the guest and its disks; let them go on. */
void control_stop(struct control *control);
void control_cont(struct control *control);
/* End the program with @status; @reason: as QMP says it. */
void control_end(struct control *control, int status, const char *reason);
/* Tell monitors.  Takes @data. */
void control_event(struct control *control, const char *name, json_t *data);
/* Until the machine ends.  Returns the exit status of the program. */
int control_run(struct control *control);

/* --- stats.c ----------------------------------------------------------------------------- */

/* Milliseconds until stats_show() is due; -1: never. */
int stats_wait(const struct stats *stats);
/* Show, if it is time. */
void stats_show(struct stats *stats, struct control *control);
/* Once and at once, on standard error, as JSON. */
void stats_now(struct control *control);

/* --- sandbox.c --------------------------------------------------------------------------- */

/*
 * Give up, for all threads, what a monitor never needs (other programs, networks, other processes,
 * mounts, modules), and all files but the folders of the disks' images and temporary ones.
 * @files: others that must be removed at the end, up to a NULL.
 * After everything is open, before the guest runs.  What an old kernel cannot do is left out.
 */
int sandbox_enter(struct disks *disks, const char *const *files, struct bd_error *err);

#endif
