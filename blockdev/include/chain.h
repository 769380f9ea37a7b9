/* SPDX-License-Identifier: MIT */
/* Jobs along a backing chain: commit layers into a lower one, put an image on another base. */
#ifndef BD_CHAIN_H
#define BD_CHAIN_H

#include <signal.h>

#include "blockdev/include/blockdev.h"

struct bd_commit_args {
	struct bd_node *top;         /* with its chain open; opened for writing unless @keep_top */
	const char *base;            /* name of a layer below; NULL: the next one */
	uint64_t rate;               /* bytes per second; 0: no limit */
	bool keep_top;               /* do not empty the top layer afterwards */
	const volatile sig_atomic_t *cancel; /* as in struct bd_copy_args */
	void (*progress)(uint64_t done, uint64_t total, void *user);
	void *user;
};

/*
 * Write what the layers above the base define into the base, which grows to the size of the top
 * if it is smaller; then empty the top layer.
 * -ENOENT: no such base.  Blocks.  Like: qemu-img commit.
 */
int bd_commit(const struct bd_commit_args *args, struct bd_error *err);

struct bd_rebase_args {
	struct bd_node *node;        /* opened for writing; with its chain unless @unsafe */
	const char *backing;         /* name to store; NULL or "": none */
	const char *format;          /* its format; NULL: not known, which is an error */
	unsigned flags;              /* BD_O_* for opening the new backing file */
	bool compress;               /* what is copied as whole clusters is compressed */
	bool unsafe;                 /* change the name only, contents be what they may */
	const volatile sig_atomic_t *cancel;
	void (*progress)(uint64_t done, uint64_t total, void *user);
	void *user;
};

/*
 * Give an image another backing file; what the two differ in is copied into the image first, so
 * that the disk stays as it is.  Blocks.  Like: qemu-img rebase.
 */
int bd_rebase(const struct bd_rebase_args *args, struct bd_error *err);

#endif
