/* SPDX-License-Identifier: MIT */
/*
 * A digest of what the guest sees, whatever the format and layout.
 *
 * It is the Merkle tree hash of RFC 6962 over the disk in blocks of BD_CHECKSUM_BLOCK bytes:
 *
 *   leaf(block) = H(0x00 || block)
 *   tree(left, right) = H(0x01 || left || right); left holds the largest power of two of the
 *                       leaves that is smaller than their number
 *
 * The last block may be shorter; an empty disk has one empty block.  A disk whose length is no
 * multiple of 512 goes on with zeros up to one.  All subtrees of zeros of one height are equal, so
 * holes cost nothing.
 */
#ifndef BD_CHECKSUM_H
#define BD_CHECKSUM_H

#include "blockdev/include/blockdev.h"

enum {
	BD_CHECKSUM_BLOCK = 256 << 10, /* bytes */
	BD_CHECKSUM_MAX = 64,          /* bytes of the longest digest */
};

struct bd_checksum_args {
	struct bd_node *node;
	const char *algorithm;  /* one of bd_checksum_algorithms() */
	/* Bytes done, of how many; called as they grow.  NULL: none. */
	void (*progress)(uint64_t done, uint64_t total, void *user);
	void *user;
};

/* Names of the algorithms in this build, NULL-terminated; static. */
const char *const *bd_checksum_algorithms(void);
/*
 * @out: the digest, *len bytes of it.  Reads ahead and hashes on all processors.
 * -EINVAL: unknown algorithm; -EIO and other errors of reading name the byte.  Blocks.
 */
int bd_checksum(const struct bd_checksum_args *args, uint8_t out[BD_CHECKSUM_MAX], size_t *len,
		struct bd_error *err);

#endif
