/* SPDX-License-Identifier: MIT */
/* Hash functions by name, and PBKDF2 on top of them. */
#ifndef BD_HASH_H
#define BD_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blockdev/include/error.h"

enum { BD_HASH_MAX = 64 }; /* bytes of the longest digest */

struct bd_hash;

/* "sha256", "ripemd160"...; NULL: this build has no such function. */
const struct bd_hash *bd_hash_find(const char *name);
const char *bd_hash_name(const struct bd_hash *hash);
size_t bd_hash_size(const struct bd_hash *hash); /* bytes of a digest, at most BD_HASH_MAX */
/* Digest of @prefix and @data, one behind the other, into bd_hash_size() bytes at @digest. */
void bd_hash_digest(const struct bd_hash *hash, const void *prefix, size_t prefix_len,
		    const void *data, size_t len, uint8_t *digest);

/* Bytes with a length; who made them wipes them. */
struct bd_bytes {
	const uint8_t *data;
	size_t len;
};

/* Fill @key with what @rounds rounds of PBKDF2 make of @password and @salt.  Takes its time. */
void bd_pbkdf2(const struct bd_hash *hash, struct bd_bytes password, struct bd_bytes salt,
	       uint32_t rounds, uint8_t *key, size_t key_len);
/*
 * Rounds of PBKDF2 for a key of @key_len bytes that this machine does in a second.  Measured by
 * the clock on the wall; the fastest of several short runs, so that losing the processor, or a
 * machine that does not account for its time, cannot make it fail.  At least 1.
 */
uint64_t bd_pbkdf2_speed(const struct bd_hash *hash, size_t key_len);

/* @len random bytes for keys and salts.  -EIO: the system has none. */
int bd_random(void *buf, size_t len, struct bd_error *err);
/* memset to zero that a compiler does not leave out. */
void bd_wipe(void *buf, size_t len);

#endif
