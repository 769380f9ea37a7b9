/* SPDX-License-Identifier: MIT */
/* Image locks: the byte ranges QEMU uses, so that the two respect each other. */
#ifndef IO_LOCK_H
#define IO_LOCK_H

#include "blockdev/include/error.h"

/* What one does with an image, and what one cannot have others do. */
enum {
	IO_PERM_READ = 1,          /* read consistent data */
	IO_PERM_WRITE = 2,
	IO_PERM_WRITE_SAME = 4,    /* rewrite what is there */
	IO_PERM_RESIZE = 8,
};

/* Locks held through one open file description. */
struct io_lock {
	unsigned perm;      /* IO_PERM_* taken */
	unsigned unshared;  /* IO_PERM_* nobody else may take */
};

/*
 * Change @lock, held on @fd, to @want; on failure it stays as it was.  -EBUSY: another process is
 * in the way.  Like: qemu-img's "Failed to get ... lock".
 */
int io_lock_change(int fd, struct io_lock *lock, const struct io_lock *want,
		   const char *filename, struct bd_error *err);
/* Hold @lock through @fd as well, without looking for conflicts. */
void io_lock_copy(int fd, const struct io_lock *lock);
/* Let go of @lock, held on @fd. */
void io_lock_drop(int fd, const struct io_lock *lock);
/* The locks that opening with @flags (BD_O_*) means. */
struct io_lock io_lock_for(unsigned flags);

#endif
