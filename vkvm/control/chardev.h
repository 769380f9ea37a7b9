/* SPDX-License-Identifier: MIT */
/* Where the serial line and logs go: terminal, file, pseudo-terminal, unix socket. */
#ifndef VKVM_CHARDEV_H
#define VKVM_CHARDEV_H

#include <stddef.h>
#include <stdint.h>

#include "blockdev/include/error.h"

struct chardev {
	int in, out;                 /* descriptors; -1: none */
	int listen_fd;               /* of a socket; -1: it is none */
	int held;                    /* the other end of a pseudo-terminal */
	char *path;                  /* of the socket; removed at the end */
};

/*
 * Open @where: "stdio", "file:NAME", "pty", "unix:PATH,server=on,wait=off", "null" or "none".
 * @option: for messages.  -ENOTSUP and errors of the file.
 */
int chardev_open(struct chardev *dev, const char *where, const char *option, struct bd_error *err);
void chardev_close(struct chardev *dev);
/* The descriptor to wait for: input, or a client of the socket; -1: none. */
int chardev_fd(const struct chardev *dev);
/* A client may come.  true: the descriptor has input instead. */
bool chardev_ready(struct chardev *dev);
/* Up to @len bytes of input; 0: none now.  A client that left may be followed by another. */
size_t chardev_read(struct chardev *dev, uint8_t *buf, size_t len);
/* Nobody waits for a reader: what a socket or pseudo-terminal does not take is lost. */
void chardev_write(struct chardev *dev, const void *data, size_t len);

/* Listen at @path, which is replaced.  Returns the socket, or -errno. */
int chardev_listen(const char *path, struct bd_error *err);

#endif
