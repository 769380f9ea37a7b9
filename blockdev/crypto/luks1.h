/* SPDX-License-Identifier: MIT */
/*
 * LUKS version 1: a header, and eight key slots that each hold the master key, encrypted with what
 * is made of one password.  Reads and writes through the caller: where the header lies, in a file
 * of its own or inside an image, is not known here.
 */
#ifndef LUKS1_H
#define LUKS1_H

#include "blockdev/crypto/luks_layout.h"
#include "blockdev/crypto/sector.h"

enum {
	LUKS_SLOTS = 8,
	LUKS_STRIPES = 4000,
	LUKS_MATERIAL_ALIGN = 4096,     /* bytes */
	LUKS_ROUNDS_MIN = 1000,
	LUKS_ROUNDS_MAX = 1 << 30,      /* a header that asks for more would keep us for hours */
	LUKS_ITER_TIME = 2000,          /* milliseconds, default */
	LUKS_UUID_LEN = 36,
};

/* Access to the bytes that begin with the header; @off counts from there. */
struct luks_store {
	int (*read)(void *user, uint64_t off, void *buf, size_t len);
	int (*write)(void *user, uint64_t off, const void *buf, size_t len);
	int (*flush)(void *user);
	void *user;
};

/* One checked header.  Holds no secrets. */
struct luks {
	struct luks_disk_header disk;   /* as stored */
	struct luks_disk_slot slot[LUKS_SLOTS];
	struct bd_sector_spec spec;
	const struct bd_hash *hash;     /* of key derivation and digest */
	size_t key_len;                 /* bytes of the master key, at most BD_CIPHER_KEY_MAX */
	uint64_t payload_off;           /* bytes */
};

/* What a new header shall say. */
struct luks_new {
	struct bd_sector_spec spec;
	const struct bd_hash *hash;
	uint64_t iter_time;             /* milliseconds per slot */
};

/* Does @head begin like a LUKS header of any version? */
bool luks_probe(const uint8_t *head, size_t len);

/*
 * Read and check a header.
 * -EINVAL: not LUKS, or damaged: nothing in it may point outside the area before the payload, and
 * no two key slots may overlap; -ENOTSUP: something this build does not have.
 * Spec: encryption.
 */
int luks_load(struct luks *luks, const struct luks_store *store, struct bd_error *err);
static inline bool luks_slot_active(const struct luks *luks, unsigned idx)
{
	return be32_get(luks->slot[idx].active) == 0x00ac71f3;
}

/*
 * Find the master key (luks->key_len bytes into @key, which has room for BD_CIPHER_KEY_MAX).
 * Returns the slot that @password opens; -EPERM: none.  @key is zero unless found.
 */
int luks_unlock(const struct luks *luks, const struct luks_store *store, struct bd_bytes password,
		uint8_t *key, struct bd_error *err);
/* As luks_unlock(), for slot @idx alone: 1 opened, 0 another password. */
int luks_slot_unlock(const struct luks *luks, const struct luks_store *store, unsigned idx,
		     struct bd_bytes password, uint8_t *key, struct bd_error *err);
/*
 * Store @key in slot @idx under @password, then say so in the header; each behind a flush.
 * @iter_time: milliseconds that opening shall take.
 */
int luks_slot_store(struct luks *luks, const struct luks_store *store, unsigned idx,
		    struct bd_bytes password, const uint8_t *key, uint64_t iter_time,
		    struct bd_error *err);
/* Mark slot @idx unused, then overwrite its key material with random bytes. */
int luks_slot_erase(struct luks *luks, const struct luks_store *store, unsigned idx,
		    struct bd_error *err);

/*
 * Make a header with a new master key in slot 0, through @store, which must have
 * luks_area_len() bytes of zeros.  @luks: the result; @key: the new key.
 */
int luks_make(struct luks *luks, const struct luks_new *how, const struct luks_store *store,
	      struct bd_bytes password, uint8_t *key, struct bd_error *err);
/* Bytes of header and key slots for @spec: where the payload starts. */
uint64_t luks_area_len(const struct bd_sector_spec *spec);

/* Anti-forensic splitting: @len bytes become LUKS_STRIPES times as many.  -EIO: no randomness. */
int luks_af_split(const struct bd_hash *hash, const uint8_t *key, size_t len, uint8_t *stripes,
		  struct bd_error *err);
void luks_af_merge(const struct bd_hash *hash, const uint8_t *stripes, size_t len, uint8_t *key);

/* Bytes of the key material of one slot for a key of @key_len bytes; the area is rounded up. */
static inline size_t luks_material_len(size_t key_len)
{
	return key_len * LUKS_STRIPES;
}

#endif
