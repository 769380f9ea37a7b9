/* SPDX-License-Identifier: MIT */
/* Into the background. */
#include "vkvm/control/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int daemon_begin(struct daemon *daemon, struct bd_error *err)
{
	int ends[2];
	pid_t pid;
	char ready;

	daemon->null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (daemon->null < 0 || pipe2(ends, O_CLOEXEC) < 0)
		return bd_fail_errno(err, -errno, "Could not go into the background");
	pid = fork();
	if (pid < 0)
		return bd_fail_errno(err, -errno, "Could not go into the background");
	if (pid > 0) {
		close(ends[1]);
		_exit(read(ends[0], &ready, 1) == 1 ? 0 : 1);
	}
	close(ends[0]);
	setsid();
	daemon->parent = ends[1];
	daemon->on = true;
	return 0;
}

void daemon_ready(struct daemon *daemon)
{
	if (!daemon->on)
		return;
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		dup2(daemon->null, fd);
	if (write(daemon->parent, "", 1) < 0)
		_exit(1);
	close(daemon->parent);
	close(daemon->null);
}
