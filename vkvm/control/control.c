/* SPDX-License-Identifier: MIT */
/* The control thread's loop. */
#include "vkvm/control/control.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "vkvm/report.h"

int control_init(struct control *control)
{
	static const int taken[] = { SIGTERM, SIGINT, SIGHUP };
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	for (unsigned i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		sigaddset(&set, taken[i]);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	control->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return control->signal_fd < 0 ? -errno : 0;
}

static void end(struct control *control, int status)
{
	control->done = true;
	control->status = status;
}

/* --- events ------------------------------------------------------------------------------ */

static void reset(struct control *control)
{
	if (control->no_reboot) {
		end(control, 0);
		return;
	}
	machine_reset(control->machine);
}

static void shut_down(struct control *control)
{
	if (control->no_shutdown)
		machine_stop(control->machine, STOP_USER);
	else
		end(control, 0);
}

static void handle_events(struct control *control)
{
	struct machine *m = control->machine;
	unsigned events = machine_take_events(m);

	if (!(events & ~(unsigned)EVENT_WAKE))
		return;
	machine_stop(m, STOP_CONTROL);
	if (events & EVENT_PANIC)
		end(control, 1);
	else if (events & EVENT_DEBUG_EXIT)
		end(control, m->exit_status);
	else if (events & EVENT_SHUTDOWN)
		shut_down(control);
	else if (events & EVENT_RESET)
		reset(control);
	if ((events & EVENT_IO_ERROR) && !control->io_stopped) {
		control->io_stopped = true;
		disks_pause(control->disks);
	}
	machine_cont(m, STOP_EVENT);
	machine_cont(m, STOP_CONTROL);
}

/* The first signal ends the machine in order; a second one does not wait. */
static void handle_signal(struct control *control)
{
	struct signalfd_siginfo info;

	if (read(control->signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	report_error("terminating on signal %u from pid %u", info.ssi_signo, info.ssi_pid);
	end(control, 0);
	signal((int)info.ssi_signo, SIG_DFL);
}

/* --- console ----------------------------------------------------------------------------- */

static void handle_key(struct control *control, enum terminal_key key)
{
	switch (key) {
	case KEY_QUIT:
		report_error("terminated by the user");
		end(control, 0);
		break;
	case KEY_HELP:
		report_error("Ctrl-A x: end the machine; Ctrl-A Ctrl-A: send Ctrl-A");
		break;
	default:
		break;
	}
}

static void handle_input(struct control *control)
{
	struct serial *serial = control->serial;
	uint8_t typed[256], kept[256];
	unsigned nr = 0, room;
	ssize_t got;

	pthread_mutex_lock(&control->machine->lock);
	room = serial_room(serial);
	pthread_mutex_unlock(&control->machine->lock);
	if (!room)
		return;
	got = read(STDIN_FILENO, typed, room < sizeof(typed) ? room : sizeof(typed));
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0)
		control->input = false;
	for (ssize_t i = 0; i < got; i++) {
		enum terminal_key key;

		if (terminal_filter(&control->terminal, &typed[i], &key))
			kept[nr++] = typed[i];
		handle_key(control, key);
	}
	pthread_mutex_lock(&control->machine->lock);
	serial_put(serial, kept, nr);
	pthread_mutex_unlock(&control->machine->lock);
}

static bool wants_input(struct control *control)
{
	bool room;

	pthread_mutex_lock(&control->machine->lock);
	room = serial_room(control->serial) != 0;
	pthread_mutex_unlock(&control->machine->lock);
	return control->input && room;
}

/* --- loop -------------------------------------------------------------------------------- */

int control_run(struct control *control)
{
	while (!control->done) {
		struct pollfd fds[] = {
			{ .fd = control->machine->event_fd, .events = POLLIN },
			{ .fd = control->signal_fd, .events = POLLIN },
			{ .fd = wants_input(control) ? STDIN_FILENO : -1, .events = POLLIN },
		};

		if (poll(fds, sizeof(fds) / sizeof(fds[0]), -1) < 0) {
			if (errno != EINTR)
				return 1;
			continue;
		}
		if (fds[0].revents)
			handle_events(control);
		if (fds[1].revents)
			handle_signal(control);
		if (fds[2].revents)
			handle_input(control);
	}
	return control->status;
}
