/* SPDX-License-Identifier: MIT */
/* What the files of LUKS share. */
#ifndef LUKS_PRIVATE_H
#define LUKS_PRIVATE_H

#include "blockdev/crypto/luks1.h"

enum { LUKS_SLOT_ON = 0x00ac71f3, LUKS_SLOT_OFF = 0x0000dead };

/* Bytes that the key material of a slot takes in the header. */
uint64_t luks_material_room(size_t key_len);
/* Write the header with its slots, and flush. */
int luks_header_write(struct luks *luks, const struct luks_store *store, struct bd_error *err);
/* The digest of @key with the header's salt and rounds: sizeof(luks->disk.digest) bytes. */
void luks_digest(const struct luks *luks, const uint8_t *key, uint8_t *digest);
/*
 * Rounds that take @iter_time milliseconds / @divisor for a key of @key_len bytes; at least
 * LUKS_ROUNDS_MIN.  -ERANGE: more than a header can hold.
 */
int luks_rounds(const struct bd_hash *hash, size_t key_len, uint64_t iter_time, unsigned divisor,
		uint32_t *rounds, struct bd_error *err);

#endif
