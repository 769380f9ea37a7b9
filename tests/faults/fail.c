/* SPDX-License-Identifier: MIT */
/*
 * For LD_PRELOAD: one system call that changes a file fails.  QIMG_FAULT is "N ERRNO HOW": the N-th
 * call is met (0: none).  HOW is once, always (that and all later ones), or short: half of what is
 * to be written is, without an error.  The number of calls is written into QIMG_FAULT_COUNT.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static unsigned long calls, victim;
static int number;
static char how[16] = "once";
static const char *met = "none";

__attribute__((constructor)) static void begin(void)
{
	const char *text = getenv("QIMG_FAULT");

	if (text)
		sscanf(text, "%lu %d %15s", &victim, &number, how);
}

__attribute__((destructor)) static void end(void)
{
	const char *name = getenv("QIMG_FAULT_COUNT");
	FILE *file = name ? fopen(name, "w") : NULL;

	if (!file)
		return;
	fprintf(file, "%lu %s\n", calls, met);
	fclose(file);
}

/* Is this call of the program under test the one? */
static bool hit(int fd, const char *name)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	if (++calls == victim)
		met = name;
	return victim && (calls == victim || (calls > victim && !strcmp(how, "always")));
}

static int fails(int fd, const char *name)
{
	if (!hit(fd, name) || !strcmp(how, "short"))
		return 0;
	errno = number;
	return -1;
}

static ssize_t write_half(int fd, const struct iovec *iov, int nr, off_t off)
{
	size_t len = 0, half;

	for (int i = 0; i < nr; i++)
		len += iov[i].iov_len;
	half = len / 2 < iov[0].iov_len ? len / 2 : iov[0].iov_len;
	return syscall(SYS_pwrite64, fd, iov[0].iov_base, half ? half : 1, off);
}

ssize_t pwritev(int fd, const struct iovec *iov, int nr, off_t off)
{
	if (hit(fd, "write")) {
		if (!strcmp(how, "short"))
			return write_half(fd, iov, nr, off);
		errno = number;
		return -1;
	}
	return syscall(SYS_pwritev, fd, iov, nr, off, 0L);
}

ssize_t pwritev64(int fd, const struct iovec *iov, int nr, off_t off)
	__attribute__((alias("pwritev")));

ssize_t pwrite(int fd, const void *buf, size_t len, off_t off)
{
	struct iovec iov = { (void *)buf, len };

	return pwritev(fd, &iov, 1, off);
}

ssize_t pwrite64(int fd, const void *buf, size_t len, off_t off) __attribute__((alias("pwrite")));

int fdatasync(int fd)
{
	return fails(fd, "flush") ? -1 : (int)syscall(SYS_fdatasync, fd);
}

int fsync(int fd)
{
	return fails(fd, "flush") ? -1 : (int)syscall(SYS_fsync, fd);
}

int fallocate(int fd, int mode, off_t off, off_t len)
{
	return fails(fd, "fallocate") ? -1 : (int)syscall(SYS_fallocate, fd, mode, off, len);
}

int fallocate64(int fd, int mode, off_t off, off_t len) __attribute__((alias("fallocate")));

int posix_fallocate(int fd, off_t off, off_t len)
{
	return fallocate(fd, 0, off, len) < 0 ? errno : 0;
}

int posix_fallocate64(int fd, off_t off, off_t len) __attribute__((alias("posix_fallocate")));

int ftruncate(int fd, off_t len)
{
	return fails(fd, "truncate") ? -1 : (int)syscall(SYS_ftruncate, fd, len);
}

int ftruncate64(int fd, off_t len) __attribute__((alias("ftruncate")));
