/* SPDX-License-Identifier: MIT */
/* The control thread's loop. */
#include "vkvm/control/control.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "vkvm/report.h"

/* Those that end the machine. */
static const int ending[] = { SIGTERM, SIGINT, SIGHUP };
enum { NR_ENDING = sizeof(ending) / sizeof(ending[0]) };

int control_init(struct control *control)
{
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	for (unsigned i = 0; i < NR_ENDING; i++)
		sigaddset(&set, ending[i]);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	control->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return control->signal_fd < 0 ? -errno : 0;
}

void control_event(struct control *control, const char *name, json_t *data)
{
	monitor_event(&control->qmp, name, data);
}

void control_end(struct control *control, int status, const char *reason)
{
	if (control->done)
		return;
	control->done = true;
	control->status = status;
	control_event(control, "SHUTDOWN", json_pack("{s:b, s:s}", "guest",
						     !strncmp(reason, "guest", 5), "reason",
						     reason));
}

/* --- stop and go on ---------------------------------------------------------------------- */

void control_stop(struct control *control)
{
	machine_stop(control->machine, STOP_USER);
	if (control->paused)
		return;
	control->paused = true;
	disks_pause(control->disks);
	control_event(control, "STOP", NULL);
}

void control_cont(struct control *control)
{
	if (control->paused)
		disks_resume(control->disks);
	else if (machine_running(control->machine))
		return;
	control->paused = control->io_stopped = false;
	control_event(control, "RESUME", NULL);
	machine_cont(control->machine, STOP_IO_ERROR);
	machine_cont(control->machine, STOP_USER);
}

/* --- events ------------------------------------------------------------------------------ */

static void reset(struct control *control)
{
	if (control->no_reboot) {
		control_end(control, 0, "guest-reset");
		return;
	}
	control_event(control, "RESET", json_pack("{s:b, s:s}", "guest", 1, "reason",
						  "guest-reset"));
	machine_reset(control->machine);
}

static void shut_down(struct control *control)
{
	if (control->no_shutdown)
		control_stop(control);
	else
		control_end(control, 0, "guest-shutdown");
}

/* What the I/O thread has to tell. */
static void tell_events(struct control *control)
{
	json_t *events = disks_take_events(control->disks), *one;
	size_t i;

	json_array_foreach(events, i, one)
		control_event(control, json_string_value(json_array_get(one, 0)),
			      json_incref(json_array_get(one, 1)));
	json_decref(events);
}

static void handle_events(struct control *control)
{
	struct machine *m = control->machine;
	unsigned events = machine_take_events(m);

	tell_events(control);
	if (!(events & ~(unsigned)EVENT_WAKE))
		return;
	machine_stop(m, STOP_CONTROL);
	if (events & EVENT_PANIC)
		control_end(control, 1, "guest-panic");
	else if (events & EVENT_DEBUG_EXIT)
		control_end(control, m->exit_status, "guest-shutdown");
	else if (events & EVENT_SHUTDOWN)
		shut_down(control);
	else if (events & EVENT_RESET)
		reset(control);
	if (events & EVENT_IO_ERROR) {
		control->io_stopped = true;
		control_stop(control);
	}
	machine_cont(m, STOP_EVENT);
	machine_cont(m, STOP_CONTROL);
}

/* One asks for counters; the first of the others ends the machine in order, a second at once. */
static void handle_signal(struct control *control)
{
	struct signalfd_siginfo info;
	sigset_t set;

	if (read(control->signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	if (info.ssi_signo == SIGUSR1) {
		stats_now(control);
		return;
	}
	report_error("terminating on signal %u from pid %u", info.ssi_signo, info.ssi_pid);
	control_end(control, 0, "host-signal");
	sigemptyset(&set);
	for (unsigned i = 0; i < NR_ENDING; i++) {
		signal(ending[i], SIG_DFL);
		sigaddset(&set, ending[i]);
	}
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

/* --- console ----------------------------------------------------------------------------- */

static void show(const char *text)
{
	if (write(STDOUT_FILENO, text, strlen(text)) < 0)
		return;
}

/* A byte for the monitor on the console. */
static void type(struct control *control, uint8_t byte)
{
	char echo[] = { (char)byte, 0 }, *text;

	if (byte != '\r' && byte != '\n') {
		if (byte == 0x7f && control->nr_typed)
			control->nr_typed--;
		else if (byte >= ' ' && control->nr_typed < sizeof(control->typed) - 1)
			control->typed[control->nr_typed++] = (char)byte;
		show(byte == 0x7f ? "\b \b" : echo);
		return;
	}
	control->typed[control->nr_typed] = 0;
	control->nr_typed = 0;
	text = hmp_run(control, control->typed);
	show("\n");
	show(text ? text : "");
	show("(vkvm) ");
	free(text);
}

static void commit_all(struct control *control)
{
	char line[64];

	for (unsigned i = 0; i < control->disks->nr; i++) {
		char *text;

		if (!control->disks->units[i].drive->snapshot)
			continue;
		snprintf(line, sizeof(line), "commit %s", control->disks->units[i].disk.id);
		text = hmp_run(control, line);
		show(text ? text : "");
		free(text);
	}
}

static void handle_key(struct control *control, enum terminal_key key)
{
	switch (key) {
	case KEY_MONITOR:
		control->typing = !control->typing;
		show(control->typing ? "\n(vkvm) " : "\n");
		break;
	case KEY_COMMIT:
		commit_all(control);
		break;
	case KEY_BREAK:
		pthread_mutex_lock(&control->machine->lock);
		serial_break(control->serial);
		pthread_mutex_unlock(&control->machine->lock);
		break;
	case KEY_QUIT:
		report_error("terminated by the user");
		control_end(control, 0, "host-ui");
		break;
	case KEY_HELP:
		show("\nCtrl-A h    this help\nCtrl-A x    end the machine\n"
		     "Ctrl-A s    write temporary overlays into their images\n"
		     "Ctrl-A b    send a break\n"
		     "Ctrl-A c    switch between console and monitor\n"
		     "Ctrl-A Ctrl-A  send Ctrl-A\n");
		break;
	default:
		break;
	}
}

/* Escape keys and the monitor's line are taken out; what stays is the guest's. */
static unsigned filter(struct control *control, uint8_t *bytes, size_t nr)
{
	unsigned kept = 0;

	for (size_t i = 0; i < nr; i++) {
		enum terminal_key key;
		bool passes = terminal_filter(&control->terminal, &bytes[i], &key);

		if (passes && control->typing)
			type(control, bytes[i]);
		else if (passes)
			bytes[kept++] = bytes[i];
		handle_key(control, key);
	}
	return kept;
}

static void handle_input(struct control *control)
{
	struct serial *serial = control->serial;
	uint8_t bytes[256];
	size_t nr = 0, room;

	pthread_mutex_lock(&control->machine->lock);
	room = serial_room(serial);
	if (chardev_ready(&control->console) && room)
		nr = chardev_read(&control->console, bytes,
				  room < sizeof(bytes) ? room : sizeof(bytes));
	pthread_mutex_unlock(&control->machine->lock);
	if (control->has_keys)
		nr = filter(control, bytes, nr);
	pthread_mutex_lock(&control->machine->lock);
	serial_put(serial, bytes, (unsigned)nr);
	pthread_mutex_unlock(&control->machine->lock);
}

/* The console's descriptor; -1: it must wait until the guest has read what there is. */
static int console_fd(struct control *control)
{
	int fd;

	pthread_mutex_lock(&control->machine->lock);
	fd = serial_room(control->serial) ? chardev_fd(&control->console) : -1;
	pthread_mutex_unlock(&control->machine->lock);
	return fd;
}

/* --- loop -------------------------------------------------------------------------------- */

int control_run(struct control *control)
{
	while (!control->done) {
		struct pollfd fds[] = {
			{ .fd = control->machine->event_fd, .events = POLLIN },
			{ .fd = control->signal_fd, .events = POLLIN },
			{ .fd = console_fd(control), .events = POLLIN },
			{ .fd = monitor_fd(&control->qmp), .events = POLLIN },
			{ .fd = monitor_fd(&control->hmp), .events = POLLIN },
		};

		if (poll(fds, sizeof(fds) / sizeof(fds[0]), stats_wait(&control->stats)) < 0) {
			if (errno != EINTR)
				return 1;
			continue;
		}
		stats_show(&control->stats, control);
		if (fds[0].revents)
			handle_events(control);
		if (fds[1].revents)
			handle_signal(control);
		if (fds[2].revents)
			handle_input(control);
		if (fds[3].revents)
			monitor_ready(&control->qmp, control);
		if (fds[4].revents)
			monitor_ready(&control->hmp, control);
	}
	monitor_close(&control->qmp);
	monitor_close(&control->hmp);
	return control->status;
}
