/* SPDX-License-Identifier: MIT */
/* The sockets and framing of monitors. */
#include "vkvm/control/monitor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "blockdev/include/info.h"
#include "vkvm/control/control.h"

/* --- sockets ----------------------------------------------------------------------------- */

int monitor_open(struct monitor *monitor, const char *where, bool qmp, struct bd_error *err)
{
	size_t len;

	*monitor = (struct monitor){ .qmp = qmp, .listen_fd = -1, .fd = -1 };
	if (!where || !strcmp(where, "none"))
		return 0;
	len = strncmp(where, "unix:", 5) ? 0 : strcspn(where + 5, ",");
	if (!len)
		return bd_fail(err, -ENOTSUP, "%s %s: 'unix:PATH,server=on,wait=off' is expected",
			       qmp ? "-qmp" : "-monitor", where);
	monitor->path = strndup(where + 5, len);
	monitor->listen_fd = monitor->path ? chardev_listen(monitor->path, err) : -ENOMEM;
	return monitor->listen_fd < 0 ? monitor->listen_fd : 0;
}

static void hang_up(struct monitor *monitor)
{
	if (monitor->fd >= 0)
		close(monitor->fd);
	monitor->fd = -1;
	monitor->len = 0;
	monitor->negotiated = false;
}

void monitor_close(struct monitor *monitor)
{
	hang_up(monitor);
	if (monitor->listen_fd >= 0)
		close(monitor->listen_fd);
	if (monitor->path)
		unlink(monitor->path);
	free(monitor->path);
	*monitor = (struct monitor){ .listen_fd = -1, .fd = -1 };
}

int monitor_fd(const struct monitor *monitor)
{
	return monitor->fd >= 0 ? monitor->fd : monitor->listen_fd;
}

/* A client that does not read what it asked for is dropped: nobody waits for it. */
static void say(struct monitor *monitor, const char *text, size_t len)
{
	if (monitor->fd >= 0 && send(monitor->fd, text, len, MSG_NOSIGNAL | MSG_DONTWAIT) !=
					(ssize_t)len)
		hang_up(monitor);
}

/* Takes @json. */
static void say_json(struct monitor *monitor, json_t *json)
{
	char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;

	if (text) {
		size_t len = strlen(text);

		text[len] = '\n'; /* the line's end instead of the string's */
		say(monitor, text, len + 1);
	}
	free(text);
	json_decref(json);
}

static void greet(struct monitor *monitor)
{
	if (monitor->qmp)
		say_json(monitor, json_pack("{s:{s:{s:{s:i, s:i, s:i}, s:s}, s:[]}}", "QMP",
					    "version", "qemu", "major", 7, "minor", 2, "micro", 22,
					    "package", "vkvm", "capabilities"));
	else
		say(monitor, "vkvm monitor\n(vkvm) ", 20);
}

void monitor_event(struct monitor *monitor, const char *name, json_t *data)
{
	struct timeval now;
	json_t *event;

	gettimeofday(&now, NULL);
	event = json_pack("{s:s, s:{s:I, s:I}}", "event", name, "timestamp", "seconds",
			  (json_int_t)now.tv_sec, "microseconds", (json_int_t)now.tv_usec);
	if (data)
		json_object_set_new(event, "data", data);
	if (monitor->qmp && monitor->negotiated)
		say_json(monitor, event);
	else
		json_decref(event);
}

/* --- commands ---------------------------------------------------------------------------- */

static json_t *failure(const char *class, const char *text)
{
	return json_pack("{s:{s:s, s:o}}", "error", "class", class, "desc", bd_json_text(text));
}

static json_t *execute(struct monitor *monitor, struct control *control, const char *name,
		       json_t *args)
{
	struct bd_error err = {0};
	struct command cmd = { .control = control, .args = args, .err = &err };
	int ret;

	if (!strcmp(name, "qmp_capabilities")) {
		monitor->negotiated = true;
		return json_pack("{s:{}}", "return");
	}
	if (!monitor->negotiated)
		return failure("CommandNotFound", "Expecting capabilities negotiation with "
						  "'qmp_capabilities'");
	ret = command_run(&cmd, name);
	if (ret < 0) {
		json_decref(cmd.out);
		return failure(ret == -ENOSYS ? "CommandNotFound" : "GenericError", err.msg);
	}
	return json_pack("{s:o}", "return", cmd.out ? cmd.out : json_object());
}

static void run_qmp(struct monitor *monitor, struct control *control, json_t *request)
{
	json_t *id = json_object_get(request, "id");
	const char *name = json_string_value(json_object_get(request, "execute"));
	json_t *args = json_object_get(request, "arguments"), *reply;

	if (!json_is_object(request) || !name || (args && !json_is_object(args)))
		reply = failure("GenericError", "QMP input must be a JSON object with 'execute'");
	else
		reply = execute(monitor, control, name, args);
	if (reply && id)
		json_object_set(reply, "id", id);
	say_json(monitor, reply);
}

/* The first whole JSON value of the input.  Returns its bytes; 0: more must come. */
static size_t take_qmp(struct monitor *monitor, struct control *control)
{
	json_error_t error;
	json_t *request;
	size_t skip = 0;

	while (skip < monitor->len && strchr(" \r\n\t", monitor->input[skip]))
		skip++;
	if (skip == monitor->len)
		return skip;
	request = json_loadb(monitor->input + skip, monitor->len - skip, JSON_DISABLE_EOF_CHECK,
			     &error);
	if (request) {
		run_qmp(monitor, control, request);
		json_decref(request);
		return skip + (size_t)error.position;
	}
	if (json_error_code(&error) == json_error_premature_end_of_input)
		return skip;
	say_json(monitor, failure("GenericError", "JSON parse error"));
	return monitor->len;
}

static size_t take_line(struct monitor *monitor, struct control *control)
{
	char *end = memchr(monitor->input, '\n', monitor->len), *text;

	if (!end)
		return 0;
	*end = 0;
	if (end > monitor->input && end[-1] == '\r')
		end[-1] = 0;
	text = hmp_run(control, monitor->input);
	if (text)
		say(monitor, text, strlen(text));
	say(monitor, "(vkvm) ", 7);
	free(text);
	return (size_t)(end + 1 - monitor->input);
}

static void take_input(struct monitor *monitor, struct control *control)
{
	size_t used;

	do {
		used = monitor->qmp ? take_qmp(monitor, control) : take_line(monitor, control);
		if (monitor->fd < 0)
			return;
		monitor->len -= used;
		memmove(monitor->input, monitor->input + used, monitor->len);
	} while (used && monitor->len && !control->done);
}

void monitor_ready(struct monitor *monitor, struct control *control)
{
	ssize_t got;

	if (monitor->fd < 0) {
		monitor->fd = accept4(monitor->listen_fd, NULL, NULL, SOCK_CLOEXEC);
		if (monitor->fd >= 0)
			greet(monitor);
		return;
	}
	got = recv(monitor->fd, monitor->input + monitor->len, MONITOR_ROOM - monitor->len,
		   MSG_DONTWAIT);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		hang_up(monitor);
		return;
	}
	monitor->len += (size_t)got;
	take_input(monitor, control);
	/* What fills all the room is no command. */
	if (monitor->len == MONITOR_ROOM)
		hang_up(monitor);
}
