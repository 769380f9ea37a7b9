/* SPDX-License-Identifier: MIT */
/* Regular files ("file") and block devices ("host_device"). */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "blockdev/base/bits.h"
#include "blockdev/base/cleanup.h"
#include "blockdev/base/opts_take.h"
#include "blockdev/io/ctx.h"
#include "blockdev/io/drivers.h"
#include "blockdev/io/lock.h"

struct local {
	struct io_file file;
	struct io_lock lock;
	bool locking;
	mode_t type;         /* S_IFREG, S_IFBLK, S_IFCHR */
};

static struct local *to_local(struct io_file *file)
{
	return container_of(file, struct local, file);
}

static void local_close(struct io_file *file)
{
	struct local *local = to_local(file);

	/*
	 * The locks belong to the open file description, and the kernel may keep that alive a
	 * moment longer than our descriptor: an I/O engine's last operation holds it too.
	 */
	if (file->fd >= 0 && local->locking)
		io_lock_drop(file->fd, &local->lock);
	if (file->fd >= 0)
		close(file->fd);
	free(local);
}

static void local_submit(struct io_file *file, struct io_op *op)
{
	io_ctx_queue(file->ctx, op);
}

static int64_t local_length(struct io_file *file)
{
	struct local *local = to_local(file);
	struct stat st;
	uint64_t bytes;

	if (local->type == S_IFBLK)
		return ioctl(file->fd, BLKGETSIZE64, &bytes) < 0 ? -errno : (int64_t)bytes;
	return fstat(file->fd, &st) < 0 ? -errno : (int64_t)st.st_size;
}

static int64_t local_allocated(struct io_file *file)
{
	struct stat st;

	return fstat(file->fd, &st) < 0 ? -errno : (int64_t)st.st_blocks * 512;
}

static int local_resize(struct io_file *file, uint64_t size, const char *prealloc,
			struct bd_error *err)
{
	int64_t length;

	if (to_local(file)->type == S_IFREG)
		return io_local_resize(file->fd, size, prealloc, err);
	if (prealloc && strcmp(prealloc, "off"))
		return bd_fail(err, -ENOTSUP,
			       "Preallocation mode '%s' unsupported for this non-regular file",
			       prealloc);
	length = local_length(file);
	if (length < 0)
		return bd_fail_errno(err, (int)length, "Could not determine current size");
	if (size > (uint64_t)length)
		return bd_fail(err, -EINVAL, "Cannot grow device files");
	return 0;
}

/* A senseless answer of the file system counts as data: *len as it was, 0. */
static int local_hole(struct io_file *file, uint64_t off, uint64_t *len)
{
	off_t start = (off_t)off, next;

	if (off > INT64_MAX || to_local(file)->type != S_IFREG)
		return 0;
	next = lseek(file->fd, start, SEEK_DATA);
	if (next < 0)
		return errno == ENXIO; /* no data from here to the end, or behind it */
	if (next > start) {
		*len = min_u64(*len, (uint64_t)(next - start));
		return 1;
	}
	if (next < start)
		return 0;
	next = lseek(file->fd, start, SEEK_HOLE);
	if (next > start)
		*len = min_u64(*len, (uint64_t)(next - start));
	return 0;
}

/* --- alignment --------------------------------------------------------------------------- */

#define PROBE_MAX 4096u

/* The smallest length and memory alignment a read is accepted with. */
static bool probe_read(int fd, char *buf, uint32_t align)
{
	ssize_t ret;

	do {
		ret = pread(fd, buf, align, 0);
	} while (ret < 0 && errno == EINTR);
	/* Any other error than that of the alignment is for the real read to find. */
	return ret >= 0 || errno != EINVAL;
}

static void probe_direct(struct io_file *file)
{
	char *buf;
	int sector;

	file->request_align = PROBE_MAX;
	file->buffer_align = PROBE_MAX;
	if (posix_memalign((void **)&buf, PROBE_MAX, 2 * PROBE_MAX))
		return;
	for (uint32_t align = 512; align < PROBE_MAX; align *= 2) {
		if (!probe_read(file->fd, buf, align))
			continue;
		file->request_align = align;
		break;
	}
	for (uint32_t align = 512; align < PROBE_MAX; align *= 2) {
		if (!probe_read(file->fd, buf + align, file->request_align))
			continue;
		file->buffer_align = align;
		break;
	}
	free(buf);
	if (ioctl(file->fd, BLKSSZGET, &sector) == 0 && sector > 0 && is_pow2((uint64_t)sector))
		file->request_align = (uint32_t)max_u64(file->request_align, (uint64_t)sector);
}

/* The kernel's own answer is better than trying: an empty file accepts everything. */
static void find_alignment(struct io_file *file)
{
#ifdef STATX_DIOALIGN
	struct statx st;

	if (statx(file->fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &st) == 0 &&
	    (st.stx_mask & STATX_DIOALIGN) && is_pow2(st.stx_dio_offset_align) &&
	    is_pow2(st.stx_dio_mem_align)) {
		file->request_align = (uint32_t)max_u64(st.stx_dio_offset_align, 512);
		file->buffer_align = (uint32_t)max_u64(st.stx_dio_mem_align, 512);
		return;
	}
#endif
	probe_direct(file);
}

/* --- open -------------------------------------------------------------------------------- */

static int check_type(struct local *local, const char *name, bool device, struct bd_error *err)
{
	struct stat st;

	if (fstat(local->file.fd, &st) < 0)
		return bd_fail_errno(err, -errno, "Could not stat file");
	local->type = st.st_mode & S_IFMT;
	if (device && local->type != S_IFBLK && local->type != S_IFCHR)
		return bd_fail(err, -EINVAL, "'host_device' driver requires '%s' to be either "
			       "a character or block device", name);
	if (!device && local->type != S_IFREG)
		return bd_fail(err, -EINVAL, "'file' driver requires '%s' to be a regular file",
			       name);
	return 0;
}

static int open_fd(const char *name, unsigned flags, struct bd_error *err)
{
	/* O_NONBLOCK: a pipe without a writer must not make us wait. */
	int mode = (flags & BD_O_RDWR ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK;
	int fd = open(name, mode | (flags & BD_O_DIRECT ? O_DIRECT : 0));
	int ret = -errno;

	if (fd >= 0) {
		/* With it io_uring would give up instead of waiting for the disk. */
		fcntl(fd, F_SETFL, flags & BD_O_DIRECT ? O_DIRECT : 0);
		return fd;
	}
	if (ret == -EINVAL && (flags & BD_O_DIRECT)) {
		fd = open(name, mode);
		if (fd >= 0) {
			close(fd);
			return bd_fail(err, ret, "Could not open '%s': "
				       "filesystem does not support O_DIRECT", name);
		}
	}
	return bd_fail_errno(err, ret, "Could not open '%s'", name);
}

static int take_locking(struct bd_opts *opts, bool *locking, struct bd_error *err)
{
	__cleanup(free) char *text = bd_opts_take(opts, "locking");

	*locking = true;
	if (!text || !strcmp(text, "auto") || !strcmp(text, "on"))
		return 0;
	if (strcmp(text, "off"))
		return bd_fail(err, -EINVAL, "invalid parameter value: %s", text);
	*locking = false;
	return 0;
}

/* The engine is the context's; the option only says what the user expects of it. */
static int take_aio(struct bd_opts *opts, unsigned flags, struct bd_error *err)
{
	__cleanup(free) char *text = bd_opts_take(opts, "aio");
	bool native = flags & BD_O_NATIVE_AIO;

	if (text && strcmp(text, "threads") && strcmp(text, "native") && strcmp(text, "io_uring"))
		return bd_fail(err, -EINVAL, "invalid parameter value: %s", text);
	if (text)
		native = !strcmp(text, "native");
	if (native && !(flags & BD_O_DIRECT))
		return bd_fail(err, -EINVAL, "aio=native was specified, but it requires "
			       "cache.direct=on, which was not specified.");
	return 0;
}

static int take_options(struct local *local, struct bd_opts *opts, struct bd_error *err)
{
	struct io_file *file = &local->file;
	bool drop_cache = true;
	uint64_t batch = 0;
	int ret;

	ret = take_aio(opts, file->flags, err);
	if (ret == 0)
		ret = take_locking(opts, &local->locking, err);
	if (ret == 0)
		ret = bd_opts_take_bool(opts, "drop-cache", &drop_cache, err);
	if (ret == 0)
		ret = bd_opts_take_number(opts, "aio-max-batch", &batch, NULL, err);
	if (ret == 0 && batch)
		file->ctx->max_batch = (unsigned)min_u64(batch, UINT_MAX);
	if (file->flags & BD_O_FORCE_SHARE && file->flags & BD_O_RDWR && ret == 0)
		ret = bd_fail(err, -EINVAL, "force-share=on can only be used with "
			      "read-only images");
	return ret;
}

static int finish_open(struct local *local, bool device, struct bd_error *err)
{
	struct io_file *file = &local->file;
	struct io_lock want = io_lock_for(file->flags);
	struct statfs fs;
	int ret = check_type(local, file->exact, device, err);

	if (ret < 0)
		return ret;
	if (local->locking) {
		ret = io_lock_change(file->fd, &local->lock, &want, file->exact, err);
		if (ret < 0)
			return ret;
	}
	if (file->flags & BD_O_DIRECT)
		find_alignment(file);
	file->can_zero = true;
	file->can_unmap = true;
	file->zero_init = file->regular = local->type == S_IFREG;
	if (file->regular && fstatfs(file->fd, &fs) == 0) {
		file->reserve_first = fs.f_type == EXT4_SUPER_MAGIC && !(file->flags & BD_O_DIRECT);
		file->no_reserve = fs.f_type == TMPFS_MAGIC;
	}
	return 0;
}

static int open_local(const struct io_file_ops *ops, struct io_ctx *ctx, struct bd_opts *opts,
		      unsigned flags, struct io_file **out, struct bd_error *err)
{
	__cleanup(free) char *name = bd_opts_take(opts, "filename");
	bool device = ops == &io_host_device_driver;
	struct local *local;
	int ret;

	*out = NULL;
	if (!name || !*name)
		return bd_fail(err, -EINVAL, "The '%s' block driver requires a file name",
			       ops->name);
	local = calloc(1, sizeof(*local));
	if (!local)
		return bd_fail_errno(err, -ENOMEM, "Could not open '%s'", name);
	ret = io_file_init(&local->file, ops, ctx, name, flags);
	local->file.exact = strdup(name);
	if (ret < 0 || !local->file.exact)
		ret = bd_fail_errno(err, -ENOMEM, "Could not open '%s'", name);
	if (ret == 0)
		ret = take_options(local, opts, err);
	if (ret == 0)
		ret = local->file.fd = open_fd(name, flags, err);
	if (ret >= 0)
		ret = finish_open(local, device, err);
	if (ret < 0) {
		io_close(&local->file);
		return ret;
	}
	*out = &local->file;
	return 0;
}

/*
 * Other locks, and if reading and writing change another description.  The old one looks for
 * conflicts, because its own locks are foreign to the new one.
 */
static int local_reopen(struct io_file *file, unsigned flags, struct bd_error *err)
{
	const unsigned access = BD_O_RDWR | BD_O_DIRECT;
	struct local *local = to_local(file);
	struct io_lock old = local->lock, want = io_lock_for(flags);
	int ret, fd;

	if (local->locking) {
		ret = io_lock_change(file->fd, &local->lock, &want, file->exact, err);
		if (ret < 0)
			return ret;
	}
	if ((file->flags & access) == (flags & access))
		return 0;
	fd = open_fd(file->exact, flags, err);
	if (fd >= 0 && local->locking) {
		io_lock_copy(fd, &want);
		io_lock_drop(file->fd, &want);
	}
	if (fd < 0 || dup3(fd, file->fd, O_CLOEXEC) < 0) {
		ret = fd < 0 ? fd : bd_fail_errno(err, -errno, "Could not reopen file");
		if (fd >= 0)
			close(fd);
		if (fd >= 0 && local->locking)
			io_lock_copy(file->fd, &want);
		if (local->locking)
			io_lock_change(file->fd, &local->lock, &old, file->exact, NULL);
		return ret;
	}
	close(fd);
	if (file->ctx->eng->forget)
		file->ctx->eng->forget(file->ctx->engine, file);
	file->request_align = file->buffer_align = 1;
	if (flags & BD_O_DIRECT)
		find_alignment(file);
	return 0;
}

static int file_open(struct io_ctx *ctx, struct bd_opts *opts, unsigned flags,
		     struct io_file **out, struct bd_error *err)
{
	return open_local(&io_file_driver, ctx, opts, flags, out, err);
}

static int host_device_open(struct io_ctx *ctx, struct bd_opts *opts, unsigned flags,
			    struct io_file **out, struct bd_error *err)
{
	return open_local(&io_host_device_driver, ctx, opts, flags, out, err);
}

const struct io_file_ops io_file_driver = {
	.name = "file",
	.open = file_open,
	.close = local_close,
	.submit = local_submit,
	.length = local_length,
	.resize = local_resize,
	.hole = local_hole,
	.allocated = local_allocated,
	.reopen = local_reopen,
};

const struct io_file_ops io_host_device_driver = {
	.name = "host_device",
	.open = host_device_open,
	.close = local_close,
	.submit = local_submit,
	.length = local_length,
	.resize = local_resize,
	.hole = local_hole,
	.allocated = local_allocated,
	.reopen = local_reopen,
};
