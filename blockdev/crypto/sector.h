/* SPDX-License-Identifier: MIT */
/* Encryption of a disk: sectors of 512 bytes, each with an initial vector made of its number. */
#ifndef BD_SECTOR_H
#define BD_SECTOR_H

#include "blockdev/crypto/cipher.h"
#include "blockdev/crypto/hash.h"

enum { BD_SECTOR = 512 }; /* bytes */

enum bd_ivgen { BD_IV_PLAIN, BD_IV_PLAIN64, BD_IV_ESSIV };

struct bd_sector_spec {
	const struct bd_cipher_alg *alg;
	enum bd_cipher_mode mode;
	enum bd_ivgen ivgen;
	const struct bd_hash *iv_hash; /* essiv only; else NULL */
};

/* "plain64" to BD_IV_PLAIN64; -EINVAL. */
int bd_ivgen_parse(const char *text, enum bd_ivgen *ivgen);
const char *bd_ivgen_name(enum bd_ivgen ivgen);
/* Bytes of a key for @spec. */
size_t bd_sector_key_len(const struct bd_sector_spec *spec);

/* A key in use.  Nothing in it changes: threads may share it. */
struct bd_sectors;

/* @key: bd_sector_key_len() bytes, copied.  -ENOTSUP, -EINVAL: as bd_cipher_new(). */
int bd_sectors_new(const struct bd_sector_spec *spec, const uint8_t *key, size_t key_len,
		   struct bd_sectors **out, struct bd_error *err);
void bd_sectors_free(struct bd_sectors *sectors); /* wipes; NULL is fine */
/*
 * Change @len bytes in place.
 * @off: bytes, of whole sectors: the position from which the initial vectors are made.
 * @len: whole sectors; the last one may be shorter, in blocks of the cipher.
 */
void bd_sectors_encrypt(const struct bd_sectors *sectors, uint64_t off, void *buf, size_t len);
void bd_sectors_decrypt(const struct bd_sectors *sectors, uint64_t off, void *buf, size_t len);

#endif
