/* SPDX-License-Identifier: MIT */
/* Message digests by name: sha256 and sha512 from nettle, xxh3 (128 bits) from xxhash. */
#ifndef BD_DIGEST_H
#define BD_DIGEST_H

#include <stddef.h>
#include <stdint.h>

enum { BD_DIGEST_MAX = 64 };

struct bd_digest {
	const char *name;
	size_t size; /* bytes of the result */
	/* The digest of byte @prefix, then @a, then @b (either may have no bytes). */
	void (*hash)(uint8_t prefix, const void *a, size_t a_len, const void *b, size_t b_len,
		     uint8_t *out);
};

/* NULL: unknown, or not in this build. */
const struct bd_digest *bd_digest_find(const char *name);
/* Names of those in this build, NULL-terminated; static. */
const char *const *bd_digest_names(void);

#endif
