/* SPDX-License-Identifier: MIT */
/* Character devices of the host. */
#include "vkvm/control/chardev.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include "vkvm/report.h"

int chardev_listen(const char *path, struct bd_error *err)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), ret;

	if (strlen(path) >= sizeof(addr.sun_path))
		ret = bd_fail(err, -ENAMETOOLONG, "UNIX socket path '%s' is too long", path);
	else {
		strcpy(addr.sun_path, path);
		unlink(path);
		if (fd >= 0 && bind(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0 &&
		    listen(fd, 1) == 0)
			return fd;
		ret = bd_fail_errno(err, -errno, "Failed to bind socket to %s", path);
	}
	if (fd >= 0)
		close(fd);
	return ret;
}

static int open_pty(struct chardev *dev, const char *option, struct bd_error *err)
{
	int fd = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	struct termios raw;

	if (fd < 0 || grantpt(fd) < 0 || unlockpt(fd) < 0)
		return bd_fail_errno(err, -errno, "%s pty: Could not open a pseudo-terminal",
				     option);
	if (tcgetattr(fd, &raw) == 0) {
		cfmakeraw(&raw);
		tcsetattr(fd, TCSANOW, &raw);
	}
	/* We hold the other end, too: reading then waits for a user instead of failing. */
	dev->held = open(ptsname(fd), O_RDWR | O_NOCTTY | O_CLOEXEC);
	report_error("char device redirected to %s", ptsname(fd));
	dev->in = dev->out = fd;
	return 0;
}

int chardev_open(struct chardev *dev, const char *where, const char *option, struct bd_error *err)
{
	*dev = (struct chardev){ .in = -1, .out = -1, .listen_fd = -1, .held = -1 };
	if (!strcmp(where, "stdio") || !strcmp(where, "mon:stdio")) {
		dev->in = STDIN_FILENO;
		dev->out = STDOUT_FILENO;
	} else if (!strcmp(where, "pty")) {
		return open_pty(dev, option, err);
	} else if (!strncmp(where, "file:", 5)) {
		dev->out = open(where + 5, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
		if (dev->out < 0)
			return bd_fail_errno(err, -errno, "%s %s: Could not open '%s'", option,
					     where, where + 5);
	} else if (!strncmp(where, "unix:", 5) && strcspn(where + 5, ",")) {
		dev->path = strndup(where + 5, strcspn(where + 5, ","));
		dev->listen_fd = dev->path ? chardev_listen(dev->path, err) : -ENOMEM;
		return dev->listen_fd < 0 ? dev->listen_fd : 0;
	} else if (strcmp(where, "null") && strcmp(where, "none")) {
		return bd_fail(err, -ENOTSUP, "%s %s: 'stdio', 'file:NAME', 'pty', "
			       "'unix:PATH,server=on,wait=off' or 'null' is expected", option,
			       where);
	}
	return 0;
}

void chardev_close(struct chardev *dev)
{
	if (dev->held > 0)
		close(dev->held);
	if (dev->path)
		unlink(dev->path);
	free(dev->path);
	dev->path = NULL;
}

int chardev_fd(const struct chardev *dev)
{
	return dev->in >= 0 ? dev->in : dev->listen_fd;
}

bool chardev_ready(struct chardev *dev)
{
	if (dev->in >= 0)
		return true;
	dev->in = dev->out = accept4(dev->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	return false;
}

size_t chardev_read(struct chardev *dev, uint8_t *buf, size_t len)
{
	ssize_t got = read(dev->in, buf, len);

	if (got > 0)
		return (size_t)got;
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (dev->listen_fd >= 0) {
		close(dev->in);
		dev->out = -1;
	}
	dev->in = -1;
	return 0;
}

void chardev_write(struct chardev *dev, const void *data, size_t len)
{
	if (dev->out >= 0 && write(dev->out, data, len) < 0)
		return;
}
