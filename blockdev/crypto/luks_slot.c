/* SPDX-License-Identifier: MIT */
/* Key slots: opening, filling and erasing them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/crypto/luks_private.h"

int luks_rounds(const struct bd_hash *hash, size_t key_len, uint64_t iter_time, unsigned divisor,
		uint32_t *rounds, struct bd_error *err)
{
	uint64_t speed = bd_pbkdf2_speed(hash, key_len), nr;

	if (__builtin_mul_overflow(speed, iter_time, &nr))
		return bd_fail(err, -ERANGE, "PBKDF iterations %llu too large to scale",
			       (unsigned long long)speed);
	nr = nr / 1000 / divisor;
	if (nr > UINT32_MAX)
		return bd_fail(err, -ERANGE, "PBKDF iterations %llu larger than %u",
			       (unsigned long long)nr, UINT32_MAX);
	if (nr > LUKS_ROUNDS_MAX)
		return bd_fail(err, -ERANGE, "PBKDF iterations %llu must be less than %u",
			       (unsigned long long)nr, LUKS_ROUNDS_MAX);
	*rounds = nr < LUKS_ROUNDS_MIN ? LUKS_ROUNDS_MIN : (uint32_t)nr;
	return 0;
}

void luks_digest(const struct luks *luks, const uint8_t *key, uint8_t *digest)
{
	bd_pbkdf2(luks->hash, (struct bd_bytes){ key, luks->key_len },
		  (struct bd_bytes){ luks->disk.digest_salt, sizeof(luks->disk.digest_salt) },
		  be32_get(luks->disk.digest_iterations), digest, sizeof(luks->disk.digest));
}

/* The cipher for the key material of slot @idx, keyed with what @password gives. */
static int slot_cipher(const struct luks *luks, unsigned idx, struct bd_bytes password,
		       struct bd_sectors **out, struct bd_error *err)
{
	const struct luks_disk_slot *slot = &luks->slot[idx];
	uint8_t key[BD_CIPHER_KEY_MAX];
	int ret;

	bd_pbkdf2(luks->hash, password, (struct bd_bytes){ slot->salt, sizeof(slot->salt) },
		  be32_get(slot->iterations), key, luks->key_len);
	ret = bd_sectors_new(&luks->spec, key, luks->key_len, out, err);
	bd_wipe(key, sizeof(key));
	return ret;
}

static uint64_t material_off(const struct luks *luks, unsigned idx)
{
	return be32_get(luks->slot[idx].material_sector) * UINT64_C(512);
}

static int check_rounds(const struct luks *luks, unsigned idx, struct bd_error *err)
{
	uint32_t rounds = be32_get(luks->slot[idx].iterations);

	if (be32_get(luks->disk.digest_iterations) > rounds)
		rounds = be32_get(luks->disk.digest_iterations);
	if (rounds <= LUKS_ROUNDS_MAX)
		return 0;
	return bd_fail(err, -EINVAL, "PBKDF iterations %u must be less than %u", rounds,
		       LUKS_ROUNDS_MAX);
}

/* Read and decrypt the material, join it, and see whether the key is the right one. */
static int open_material(const struct luks *luks, const struct luks_store *store, unsigned idx,
			 const struct bd_sectors *sectors, uint8_t *material, uint8_t *key,
			 struct bd_error *err)
{
	size_t len = luks_material_len(luks->key_len);
	uint8_t digest[sizeof(luks->disk.digest)];
	int ret = store->read(store->user, material_off(luks, idx), material, len);

	if (ret < 0)
		return bd_fail_errno(err, ret, "Failed to read key material");
	bd_sectors_decrypt(sectors, 0, material, len);
	luks_af_merge(luks->hash, material, luks->key_len, key);
	luks_digest(luks, key, digest);
	return !memcmp(digest, luks->disk.digest, sizeof(digest));
}

int luks_slot_unlock(const struct luks *luks, const struct luks_store *store, unsigned idx,
		     struct bd_bytes password, uint8_t *key, struct bd_error *err)
{
	size_t len = luks_material_len(luks->key_len);
	struct bd_sectors *sectors = NULL;
	uint8_t *material;
	int ret;

	bd_wipe(key, BD_CIPHER_KEY_MAX);
	if (!luks_slot_active(luks, idx))
		return 0;
	ret = check_rounds(luks, idx, err);
	if (ret < 0)
		return ret;
	material = malloc(len);
	if (!material)
		return bd_fail(err, -ENOMEM, "Out of memory");
	ret = slot_cipher(luks, idx, password, &sectors, err);
	if (ret == 0)
		ret = open_material(luks, store, idx, sectors, material, key, err);
	if (ret != 1)
		bd_wipe(key, BD_CIPHER_KEY_MAX);
	bd_sectors_free(sectors);
	bd_wipe(material, len);
	free(material);
	return ret;
}

int luks_unlock(const struct luks *luks, const struct luks_store *store, struct bd_bytes password,
		uint8_t *key, struct bd_error *err)
{
	for (unsigned i = 0; i < LUKS_SLOTS; i++) {
		int ret = luks_slot_unlock(luks, store, i, password, key, err);

		if (ret)
			return ret < 0 ? ret : (int)i;
	}
	return bd_fail(err, -EPERM, "Invalid password, cannot unlock any keyslot");
}

/* Split and encrypt @key, and write it to the slot's place. */
static int write_material(const struct luks *luks, const struct luks_store *store, unsigned idx,
			  const struct bd_sectors *sectors, const uint8_t *key,
			  struct bd_error *err)
{
	size_t len = luks_material_len(luks->key_len);
	uint8_t *material = malloc(len);
	int ret;

	if (!material)
		return bd_fail(err, -ENOMEM, "Out of memory");
	ret = luks_af_split(luks->hash, key, luks->key_len, material, err);
	if (ret == 0) {
		bd_sectors_encrypt(sectors, 0, material, len);
		ret = store->write(store->user, material_off(luks, idx), material, len);
		if (ret == 0)
			ret = store->flush(store->user);
		if (ret < 0)
			bd_fail_errno(err, ret, "Failed to write to keyslot %u", idx);
	}
	bd_wipe(material, len);
	free(material);
	return ret;
}

int luks_slot_store(struct luks *luks, const struct luks_store *store, unsigned idx,
		    struct bd_bytes password, const uint8_t *key, uint64_t iter_time,
		    struct bd_error *err)
{
	struct luks_disk_slot old = luks->slot[idx], *slot = &luks->slot[idx];
	struct bd_sectors *sectors = NULL;
	uint32_t rounds;
	int ret = bd_random(slot->salt, sizeof(slot->salt), err);

	if (ret == 0)
		ret = luks_rounds(luks->hash, luks->key_len, iter_time, 1, &rounds, err);
	if (ret == 0) {
		slot->iterations = be32_make(rounds);
		ret = slot_cipher(luks, idx, password, &sectors, err);
	}
	if (ret == 0)
		ret = write_material(luks, store, idx, sectors, key, err);
	bd_sectors_free(sectors);
	if (ret == 0) {
		slot->active = be32_make(LUKS_SLOT_ON);
		ret = luks_header_write(luks, store, err);
	}
	if (ret < 0)
		*slot = old;
	return ret;
}

int luks_slot_erase(struct luks *luks, const struct luks_store *store, unsigned idx,
		    struct bd_error *err)
{
	uint64_t len = luks_material_room(luks->key_len);
	struct luks_disk_slot *slot = &luks->slot[idx];
	uint8_t *noise;
	int ret;

	memset(slot->salt, 0, sizeof(slot->salt));
	slot->iterations = be32_make(0);
	slot->active = be32_make(LUKS_SLOT_OFF);
	ret = luks_header_write(luks, store, err);
	if (ret < 0)
		return ret;
	noise = malloc(len);
	if (!noise)
		return bd_fail(err, -ENOMEM, "Out of memory");
	ret = bd_random(noise, len, err);
	if (ret == 0) {
		ret = store->write(store->user, material_off(luks, idx), noise, len);
		if (ret == 0)
			ret = store->flush(store->user);
		if (ret < 0)
			bd_fail_errno(err, ret, "Failed to erase keyslot %u", idx);
	}
	free(noise);
	return ret;
}
