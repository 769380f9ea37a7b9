/* SPDX-License-Identifier: MIT */
/* Block ciphers with their modes, by QEMU's names: "aes-256" and "xts". */
#ifndef BD_CIPHER_H
#define BD_CIPHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blockdev/include/error.h"

enum {
	BD_CIPHER_BLOCK_MAX = 16, /* bytes of the largest block */
	BD_CIPHER_KEY_MAX = 64,   /* bytes of the longest key: two of 32, for xts */
};

enum bd_cipher_mode { BD_MODE_ECB, BD_MODE_CBC, BD_MODE_XTS, BD_MODE_CTR };

/* One algorithm with one length of key. */
struct bd_cipher_alg {
	const char *name;       /* QEMU's: "aes-256" */
	const char *family;     /* what a LUKS header calls it: "aes" */
	unsigned key_len;       /* bytes; xts takes two such keys */
	unsigned block_len;     /* bytes; a power of two */
	const void *impl;       /* nettle's description; NULL: known and not there */
};

/* An algorithm by its name; NULL: QEMU does not know it either. */
const struct bd_cipher_alg *bd_cipher_alg_find(const char *name);
/* By family and bytes of the key; NULL: none. */
const struct bd_cipher_alg *bd_cipher_alg_of(const char *family, unsigned key_len);
/* "xts" to BD_MODE_XTS; -EINVAL. */
int bd_cipher_mode_parse(const char *text, enum bd_cipher_mode *mode);
const char *bd_cipher_mode_name(enum bd_cipher_mode mode);

/* A keyed cipher.  Nothing in it changes in use: threads may share it. */
struct bd_cipher;

/*
 * @key: @key_len bytes, copied.  -ENOTSUP: not in this build, or the mode does not go with the
 * cipher; -EINVAL: the key has another length.
 */
int bd_cipher_new(const struct bd_cipher_alg *alg, enum bd_cipher_mode mode, const uint8_t *key,
		  size_t key_len, struct bd_cipher **out, struct bd_error *err);
void bd_cipher_free(struct bd_cipher *cipher); /* wipes the key; NULL is fine */
/* Change @len bytes, a multiple of the block, in place.  @iv: one block; not changed. */
void bd_cipher_encrypt(const struct bd_cipher *cipher, const uint8_t *iv, uint8_t *buf, size_t len);
void bd_cipher_decrypt(const struct bd_cipher *cipher, const uint8_t *iv, uint8_t *buf, size_t len);
unsigned bd_cipher_block_len(const struct bd_cipher *cipher);

#endif
