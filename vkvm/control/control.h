/* SPDX-License-Identifier: MIT */
/* The control thread: events of the machine, signals, the console's input. */
#ifndef VKVM_CONTROL_H
#define VKVM_CONTROL_H

#include "vkvm/block/disks.h"
#include "vkvm/control/terminal.h"
#include "vkvm/devices/serial.h"

struct control {
	struct machine *machine;
	struct disks *disks;
	struct serial *serial;
	struct terminal terminal;
	int signal_fd;
	bool input;                  /* standard input is the serial line's, and is still open */
	bool no_reboot, no_shutdown;
	bool io_stopped;             /* disks are paused because of an error */
	bool done;
	int status;                  /* of the program */
};

/* Block the signals the control thread takes; before any other thread is started. */
int control_init(struct control *control);
/* Until the machine ends.  Returns the exit status of the program. */
int control_run(struct control *control);

#endif
