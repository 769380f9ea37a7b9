/* SPDX-License-Identifier: MIT */
/* Jobs over whole disks: copy images into another one, compare two of them. */
#ifndef BD_COPY_H
#define BD_COPY_H

#include <signal.h>

#include "blockdev/include/blockdev.h"

struct bd_copy_args {
	struct bd_node *const *src;  /* read one behind the other; all on the target's queue */
	unsigned nr_src;             /* 1.. */
	struct bd_node *dst;         /* at least as large as the sources together */
	uint64_t sparse_size;        /* bytes of zeros that become a hole; 0: no holes at all */
	uint64_t rate;               /* bytes written per second; 0: no limit */
	unsigned parallel;           /* buffers of 2 MiB in flight, 1..16; 0: 8 */
	bool dst_is_zero;            /* the target reads as zeros: zeros need not be written */
	bool dst_is_new;             /* nothing has been written to the target yet */
	bool keep_backing;           /* what the source's own layer leaves out stays left out */
	struct bd_node *base;        /* keep_backing: layers above it count; NULL: the first */
	bool exact;                  /* zero bytes among the data make no holes */
	bool compress;               /* every cluster is written compressed */
	bool pass_packed;            /* compress: compressed clusters of sources as they are */
	bool verify_packed;          /* pass_packed: inflate each first, to see that it is whole */
	bool out_of_order;           /* write what is read first; else in ascending order */
	bool offload;                /* let the host copy from file to file where it can */
	bool salvage;                /* unreadable sectors become zeros, with a warning */
	bool count_first;            /* find out how much there is to copy before copying */
	const volatile sig_atomic_t *cancel; /* non-zero: stop with -ECANCELED; NULL: never */
	/* Bytes copied, of how many; called at the start, as they grow, and at the end. */
	void (*progress)(uint64_t done, uint64_t total, void *user);
	void (*warn)(const char *line, void *user); /* one line without prefix; NULL: none */
	void *user;
};

/*
 * Copy the sources into the target.  Sectors of 512 bytes are looked at one by one: runs of zeros
 * of @sparse_size and more become holes, so that the target's allocation is that of qemu-img.
 * -EIO and other errors of reading and writing name the byte; -ECANCELED: stopped by @cancel.
 * Blocks.  Like: qemu-img convert.
 */
int bd_copy(const struct bd_copy_args *args, struct bd_error *err);

enum bd_compare_result {
	BD_SAME,
	BD_DIFFER_CONTENT,   /* at offset */
	BD_DIFFER_STATUS,    /* strict only: allocation differs at offset */
	BD_DIFFER_SIZE,      /* strict only */
};

struct bd_compare_args {
	struct bd_node *a, *b;       /* on one queue */
	bool strict;                 /* size and allocation must be the same, too */
	const volatile sig_atomic_t *cancel; /* as in struct bd_copy_args */
	void (*progress)(uint64_t done, uint64_t total, void *user);
	/* The sizes differ, and so far the content does not.  Before the rest is read. */
	void (*size_differs)(void *user);
	void *user;
	uint64_t offset;             /* out: first byte of the first sector that differs */
	bool status_failed;          /* out: on failure: allocation could not be found out */
};

/*
 * Compare two disks; a shorter one is the same if zeros follow in the other.
 * Returns enum bd_compare_result or a negative errno.  Blocks.  Like: qemu-img compare.
 */
int bd_compare(struct bd_compare_args *args, struct bd_error *err);

#endif
