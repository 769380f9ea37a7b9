/* SPDX-License-Identifier: MIT */
/* Size and preallocation of regular files, and their creation. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blockdev/base/bits.h"
#include "blockdev/base/cleanup.h"
#include "blockdev/io/drivers.h"
#include "blockdev/io/lock.h"

#define CHUNK (1u << 20)
#define FIRST_BLOCK 4096u

static int write_zeros(int fd, uint64_t off, uint64_t end, struct bd_error *err)
{
	__cleanup(free) char *buf = calloc(1, CHUNK);

	if (!buf)
		return bd_fail_errno(err, -ENOMEM, "Could not write zeros for preallocation");
	while (off < end) {
		ssize_t ret = pwrite(fd, buf, (size_t)min_u64(CHUNK, end - off), (off_t)off);

		if (ret < 0 && errno == EINTR)
			continue;
		if (ret <= 0)
			return bd_fail_errno(err, ret < 0 ? -errno : -ENOSPC,
					     "Could not write zeros for preallocation");
		off += (uint64_t)ret;
	}
	if (fsync(fd) < 0)
		return bd_fail_errno(err, -errno, "Could not flush file to disk");
	return 0;
}

static int set_length(int fd, uint64_t size, struct bd_error *err)
{
	if (ftruncate(fd, (off_t)size) < 0)
		return bd_fail_errno(err, -errno, "Could not resize file");
	return 0;
}

/*
 * As QEMU does it: the first block of a new file has bytes, so that the alignment direct I/O needs
 * can be found out by reading.  No failure: the length is what was asked for.
 */
static void fill_first_block(int fd, uint64_t size)
{
	static const char zeros[FIRST_BLOCK];

	if (pwrite(fd, zeros, size < FIRST_BLOCK ? 512 : FIRST_BLOCK, 0) < 0)
		return;
}

static int grow_full(int fd, uint64_t length, uint64_t size, struct bd_error *err)
{
	/* The final length first: the file system can then plan for it. */
	int ret = set_length(fd, size, err);

	return ret < 0 ? ret : write_zeros(fd, length, size, err);
}

static int grow_falloc(int fd, uint64_t length, uint64_t size, struct bd_error *err)
{
	int ret;

	do {
		ret = posix_fallocate(fd, (off_t)length, (off_t)(size - length));
	} while (ret == EINTR);
	if (ret)
		return bd_fail_errno(err, -ret, "Could not preallocate data for the new file");
	return 0;
}

int io_local_resize(int fd, uint64_t size, const char *prealloc, struct bd_error *err)
{
	bool falloc = prealloc && !strcmp(prealloc, "falloc");
	bool full = prealloc && !strcmp(prealloc, "full");
	uint64_t length;
	struct stat st;
	int ret = 0;

	if (fstat(fd, &st) < 0)
		return bd_fail_errno(err, -errno, "Could not stat file");
	length = (uint64_t)st.st_size;
	if (size > INT64_MAX)
		return bd_fail_errno(err, -EINVAL, "Could not resize file");
	if (prealloc && !falloc && !full && strcmp(prealloc, "off") &&
	    strcmp(prealloc, "metadata"))
		return bd_fail(err, -EINVAL, "invalid parameter value: %s", prealloc);
	if (prealloc && strcmp(prealloc, "off") && !falloc && !full)
		return bd_fail(err, -ENOTSUP, "Unsupported preallocation mode: %s", prealloc);
	if (size < length && (falloc || full))
		return bd_fail(err, -ENOTSUP, "Preallocation can't be used for shrinking files");
	if (falloc && size > length)
		ret = grow_falloc(fd, length, size, err);
	else if (full && size > length)
		ret = grow_full(fd, length, size, err);
	else
		ret = set_length(fd, size, err);
	if (ret == 0 && !length && size && !full)
		fill_first_block(fd, size);
	/* Half a preallocation is of no use to anyone. */
	if (ret < 0 && (falloc || full) && ftruncate(fd, (off_t)length) < 0)
		return ret;
	return ret;
}

/* --- create ------------------------------------------------------------------------------ */

static void set_nocow(int fd)
{
	int attr;

	/* Best effort: only btrfs knows it, and only for empty files. */
	if (ioctl(fd, FS_IOC_GETFLAGS, &attr) == 0) {
		attr |= FS_NOCOW_FL;
		ioctl(fd, FS_IOC_SETFLAGS, &attr);
	}
}

/* Less fragmentation on XFS; other file systems refuse, which is fine. */
static void set_extent_hint(int fd, uint64_t bytes)
{
	struct fsxattr attr;

	if (!bytes || bytes > UINT32_MAX || ioctl(fd, FS_IOC_FSGETXATTR, &attr) < 0)
		return;
	if (attr.fsx_extsize)
		return;
	attr.fsx_xflags |= FS_XFLAG_EXTSIZE;
	attr.fsx_extsize = (uint32_t)bytes;
	ioctl(fd, FS_IOC_FSSETXATTR, &attr);
}

struct wishes {
	uint64_t extent_hint;
	bool nocow;
};

static int parse_wishes(const struct bd_opts *opts, struct wishes *wishes, struct bd_error *err)
{
	const char *nocow = bd_opts_get(opts, "nocow");
	const char *hint = bd_opts_get(opts, "extent_size_hint");

	*wishes = (struct wishes){ .extent_hint = 1u << 20 };
	if (nocow && bd_parse_bool(nocow, &wishes->nocow) < 0)
		return bd_fail(err, -EINVAL, "Parameter 'nocow' expects 'on' or 'off'");
	if (hint && bd_parse_size(hint, &wishes->extent_hint) < 0)
		return bd_fail(err, -EINVAL, "Parameter 'extent_size_hint' expects "
			       "a non-negative number below 2^64");
	if (wishes->extent_hint > UINT32_MAX)
		return bd_fail(err, -EINVAL, "Extent size hint is too large");
	return 0;
}

static int prepare(int fd, const char *path, uint64_t size, const char *prealloc,
		   const struct wishes *wishes, struct bd_error *err)
{
	struct io_lock lock = {0};
	struct io_lock want = { IO_PERM_WRITE | IO_PERM_RESIZE, IO_PERM_RESIZE };
	struct stat st;
	int ret;

	if (fstat(fd, &st) < 0)
		return bd_fail_errno(err, -errno, "Could not stat file");
	if (!S_ISREG(st.st_mode))
		return bd_fail(err, -EINVAL, "Parameter 'filename' names no regular file");
	/* Nothing of an image that somebody uses is touched. */
	ret = io_lock_change(fd, &lock, &want, path, err);
	if (ret == 0)
		ret = set_length(fd, 0, err);
	if (ret < 0)
		return ret;
	if (wishes->nocow)
		set_nocow(fd);
	set_extent_hint(fd, wishes->extent_hint);
	return io_local_resize(fd, size, prealloc, err);
}

int io_create(struct io_ctx *ctx, const char *name, uint64_t size, const char *prealloc,
	      const struct bd_opts *opts, struct bd_error *err)
{
	const char *path = strncmp(name, "file:", 5) ? name : name + 5;
	struct wishes wishes;
	int fd, ret;

	(void)ctx;
	if (io_name_has_protocol(path) && path == name)
		return bd_fail(err, -ENOTSUP, "Unknown protocol '%.*s'",
			       (int)strcspn(name, ":"), name);
	ret = parse_wishes(opts, &wishes, err);
	if (ret < 0)
		return ret;
	/* Not O_TRUNC: the locks come first.  O_NONBLOCK: a pipe must not make us wait. */
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644);
	if (fd < 0)
		return bd_fail_errno(err, -errno, "Could not create '%s'", path);
	ret = prepare(fd, path, size, prealloc, &wishes, err);
	/* A full disk or quota may show only here. */
	if (close(fd) < 0 && ret == 0)
		ret = bd_fail_errno(err, -errno, "Could not close the new file");
	return ret;
}
