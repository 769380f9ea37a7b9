/* SPDX-License-Identifier: MIT */
/*
 * Byte 100 + i is read-locked by who has taken permission i, byte 200 + i by who does not share
 * it.  Who wants a permission looks whether anyone holds the other byte.  No lock is exclusive, so
 * taking one never fails; only the look afterwards does.
 */
#include "blockdev/io/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "blockdev/include/blockdev.h"

#define TAKEN_BASE 100
#define UNSHARED_BASE 200
#define NR_PERMS 4

static const char *const perm_names[NR_PERMS] = {
	"consistent read", "write", "write unchanged", "resize",
};

static int byte_lock(int fd, short type, int byte)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1 };

	return fcntl(fd, F_OFD_SETLK, &lock) < 0 ? -errno : 0;
}

/* Lock what is in @now and not in @before, unlock the reverse. */
static int apply(int fd, int base, unsigned before, unsigned now, struct bd_error *err)
{
	for (int i = 0; i < NR_PERMS; i++) {
		unsigned bit = 1u << i;
		int ret;

		if ((before & bit) == (now & bit))
			continue;
		ret = byte_lock(fd, now & bit ? F_RDLCK : F_UNLCK, base + i);
		/* File systems without locks: nobody else can hold one either. */
		if (ret == -ENOTSUP || ret == -ENOSYS)
			continue;
		if (ret < 0 && (now & bit))
			return bd_fail_errno(err, ret, "Failed to lock byte %d", base + i);
	}
	return 0;
}

static int apply_both(int fd, const struct io_lock *before, const struct io_lock *now,
		      struct bd_error *err)
{
	int ret = apply(fd, TAKEN_BASE, before->perm, now->perm, err);

	return ret < 0 ? ret : apply(fd, UNSHARED_BASE, before->unshared, now->unshared, err);
}

/* Does another description hold one of the bytes?  -1: no, else which. */
static int find_conflict(int fd, int base, unsigned bits)
{
	for (int i = 0; i < NR_PERMS; i++) {
		struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET,
				      .l_start = base + i, .l_len = 1 };

		if (!(bits & 1u << i))
			continue;
		if (fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK)
			return i;
	}
	return -1;
}

static int check(int fd, const struct io_lock *want, const char *filename, struct bd_error *err)
{
	int i = find_conflict(fd, UNSHARED_BASE, want->perm);
	const char *shared = "";

	if (i < 0) {
		i = find_conflict(fd, TAKEN_BASE, want->unshared);
		shared = "shared ";
	}
	if (i < 0)
		return 0;
	bd_fail(err, -EBUSY, "Failed to get %s\"%s\" lock", shared, perm_names[i]);
	bd_hint(err, "Is another process using the image [%s]?", filename);
	return -EBUSY;
}

int io_lock_change(int fd, struct io_lock *lock, const struct io_lock *want,
		   const char *filename, struct bd_error *err)
{
	struct io_lock both = { lock->perm | want->perm, lock->unshared | want->unshared };
	int ret;

	/* First take, then look: two that start at the same time must not both succeed. */
	ret = apply_both(fd, lock, &both, err);
	if (ret == 0)
		ret = check(fd, want, filename, err);
	if (ret < 0) {
		apply_both(fd, &both, lock, NULL);
		return ret;
	}
	apply_both(fd, &both, want, NULL);
	*lock = *want;
	return 0;
}

void io_lock_copy(int fd, const struct io_lock *lock)
{
	static const struct io_lock none;

	apply_both(fd, &none, lock, NULL);
}

void io_lock_drop(int fd, const struct io_lock *lock)
{
	static const struct io_lock none;

	apply_both(fd, lock, &none, NULL);
}

struct io_lock io_lock_for(unsigned flags)
{
	struct io_lock lock = { .perm = IO_PERM_READ };

	if (flags & BD_O_RDWR)
		lock.perm |= IO_PERM_WRITE;
	if ((flags & BD_O_RDWR) && (flags & BD_O_RESIZE))
		lock.perm |= IO_PERM_RESIZE;
	if (!(flags & BD_O_FORCE_SHARE) && (flags & BD_O_SHARE_NO_WRITE))
		lock.unshared = IO_PERM_WRITE | IO_PERM_RESIZE;
	return lock;
}
