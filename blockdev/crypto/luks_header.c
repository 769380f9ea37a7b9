/* SPDX-License-Identifier: MIT */
/* The LUKS header: reading and checking one, making one. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "blockdev/crypto/luks_private.h"

static const uint8_t magic[6] = { 'L', 'U', 'K', 'S', 0xba, 0xbe };

bool luks_probe(const uint8_t *head, size_t len)
{
	return len >= sizeof(magic) && !memcmp(head, magic, sizeof(magic));
}

uint64_t luks_material_room(size_t key_len)
{
	return (luks_material_len(key_len) + LUKS_MATERIAL_ALIGN - 1) / LUKS_MATERIAL_ALIGN *
	       LUKS_MATERIAL_ALIGN;
}

uint64_t luks_area_len(const struct bd_sector_spec *spec)
{
	return LUKS_MATERIAL_ALIGN + LUKS_SLOTS * luks_material_room(bd_sector_key_len(spec));
}

static bool terminated(const uint8_t *text, size_t len)
{
	return memchr(text, 0, len) != NULL;
}

static int check_fixed(const struct luks_disk_header *disk, struct bd_error *err)
{
	if (!luks_probe(disk->magic, sizeof(disk->magic)))
		return bd_fail(err, -EINVAL, "Volume is not in LUKS format");
	if (be16_get(disk->version) != 1)
		return bd_fail(err, -ENOTSUP, "LUKS version %u is not supported",
			       be16_get(disk->version));
	if (!terminated(disk->cipher_name, sizeof(disk->cipher_name)))
		return bd_fail(err, -EINVAL, "LUKS header cipher name is not NUL terminated");
	if (!terminated(disk->cipher_mode, sizeof(disk->cipher_mode)))
		return bd_fail(err, -EINVAL, "LUKS header cipher mode is not NUL terminated");
	if (!terminated(disk->hash, sizeof(disk->hash)))
		return bd_fail(err, -EINVAL, "LUKS header hash spec is not NUL terminated");
	if (be32_get(disk->payload_sector) * UINT64_C(512) < sizeof(*disk))
		return bd_fail(err, -EINVAL, "LUKS payload is overlapping with the header");
	if (!be32_get(disk->digest_iterations))
		return bd_fail(err, -EINVAL, "LUKS key iteration count is zero");
	return 0;
}

/* The bytes that slot @idx has for its key material. */
static void slot_range(const struct luks *luks, unsigned idx, uint64_t *start, uint64_t *end)
{
	*start = be32_get(luks->slot[idx].material_sector) * UINT64_C(512);
	*end = *start + luks_material_room(be32_get(luks->disk.key_bytes));
}

static int check_slot(const struct luks *luks, unsigned idx, struct bd_error *err)
{
	const struct luks_disk_slot *slot = &luks->slot[idx];
	uint64_t start, end, other, other_end;

	slot_range(luks, idx, &start, &end);
	if (be32_get(slot->stripes) != LUKS_STRIPES)
		return bd_fail(err, -EINVAL, "Keyslot %u is corrupted (stripes %d != %d)", idx,
			       (int)be32_get(slot->stripes), LUKS_STRIPES);
	if (start < sizeof(luks->disk))
		return bd_fail(err, -EINVAL, "Keyslot %u is overlapping with the LUKS header",
			       idx);
	if (be32_get(slot->active) != LUKS_SLOT_ON && be32_get(slot->active) != LUKS_SLOT_OFF)
		return bd_fail(err, -EINVAL, "Keyslot %u state (active/disable) is corrupted", idx);
	if (luks_slot_active(luks, idx) && !be32_get(slot->iterations))
		return bd_fail(err, -EINVAL, "Keyslot %u iteration count is zero", idx);
	if (end > luks->payload_off)
		return bd_fail(err, -EINVAL,
			       "Keyslot %u is overlapping with the encrypted payload", idx);
	for (unsigned i = idx + 1; i < LUKS_SLOTS; i++) {
		slot_range(luks, i, &other, &other_end);
		if (start < other_end && other < end)
			return bd_fail(err, -EINVAL,
				       "Keyslots %u and %u are overlapping in the header", idx, i);
	}
	return 0;
}

/* "xts-plain64" or "cbc-essiv:sha256" and the other names into @luks->spec. */
static int decode_names(struct luks *luks, struct bd_error *err)
{
	const char *family = (const char *)luks->disk.cipher_name;
	const char *hash = (const char *)luks->disk.hash;
	uint32_t key_len = be32_get(luks->disk.key_bytes);
	char text[32], *ivgen, *iv_hash;

	memcpy(text, luks->disk.cipher_mode, sizeof(text));
	ivgen = strchr(text, '-');
	if (!ivgen)
		return bd_fail(err, -EINVAL, "Unexpected cipher mode string format '%s'", text);
	*ivgen++ = '\0';
	iv_hash = strchr(ivgen, ':');
	if (iv_hash)
		*iv_hash++ = '\0';
	if (iv_hash && !(luks->spec.iv_hash = bd_hash_find(iv_hash)))
		return bd_fail(err, -ENOTSUP, "Hash algorithm '%s' not supported", iv_hash);
	if (bd_cipher_mode_parse(text, &luks->spec.mode) < 0)
		return bd_fail(err, -ENOTSUP, "Cipher mode '%s' not supported", text);
	if (luks->spec.mode == BD_MODE_XTS)
		key_len = key_len % 2 ? 0 : key_len / 2;
	luks->spec.alg = bd_cipher_alg_of(family, key_len);
	if (!luks->spec.alg)
		return bd_fail(err, -ENOTSUP,
			       "Algorithm '%s' with key size %u bytes not supported", family,
			       key_len);
	luks->hash = bd_hash_find(hash);
	if (!luks->hash)
		return bd_fail(err, -ENOTSUP, "Hash algorithm '%s' not supported", hash);
	if (bd_ivgen_parse(ivgen, &luks->spec.ivgen) < 0)
		return bd_fail(err, -ENOTSUP, "IV generator '%s' not supported", ivgen);
	if (luks->spec.ivgen == BD_IV_ESSIV && !luks->spec.iv_hash)
		return bd_fail(err, -EINVAL, "Missing IV generator hash specification");
	luks->key_len = be32_get(luks->disk.key_bytes);
	return 0;
}

int luks_load(struct luks *luks, const struct luks_store *store, struct bd_error *err)
{
	int ret;

	memset(luks, 0, sizeof(*luks));
	ret = store->read(store->user, 0, &luks->disk, sizeof(luks->disk));
	if (ret < 0)
		return bd_fail_errno(err, ret, "Unable to read LUKS header");
	memcpy(luks->slot, luks->disk.slots, sizeof(luks->slot));
	luks->payload_off = be32_get(luks->disk.payload_sector) * UINT64_C(512);
	ret = check_fixed(&luks->disk, err);
	for (unsigned i = 0; i < LUKS_SLOTS && ret == 0; i++)
		ret = check_slot(luks, i, err);
	return ret < 0 ? ret : decode_names(luks, err);
}

int luks_header_write(struct luks *luks, const struct luks_store *store, struct bd_error *err)
{
	int ret;

	memcpy(luks->disk.slots, luks->slot, sizeof(luks->slot));
	ret = store->write(store->user, 0, &luks->disk, sizeof(luks->disk));
	if (ret == 0)
		ret = store->flush(store->user);
	return ret < 0 ? bd_fail_errno(err, ret, "Unable to write LUKS header") : 0;
}

/* A random (version 4) name for the container.  RFC 4122, 4.4. */
static int make_uuid(char *text, struct bd_error *err)
{
	uint8_t id[16];
	int ret = bd_random(id, sizeof(id), err), at = 0;

	if (ret < 0)
		return ret;
	id[6] = (uint8_t)((id[6] & 0x0f) | 0x40);
	id[8] = (uint8_t)((id[8] & 0x3f) | 0x80);
	for (int i = 0; i < 16; i++)
		at += snprintf(text + at, (size_t)(LUKS_UUID_LEN + 1 - at), "%s%02x",
			       i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", id[i]);
	return 0;
}

static void set_slots(struct luks *luks)
{
	uint64_t room = luks_material_room(luks->key_len);

	for (unsigned i = 0; i < LUKS_SLOTS; i++) {
		luks->slot[i] = (struct luks_disk_slot){
			.active = be32_make(LUKS_SLOT_OFF),
			.material_sector = be32_make((uint32_t)((LUKS_MATERIAL_ALIGN +
								 i * room) / 512)),
			.stripes = be32_make(LUKS_STRIPES),
		};
	}
}

static int set_names(struct luks *luks, struct bd_error *err)
{
	const struct bd_sector_spec *spec = &luks->spec;
	char *mode = (char *)luks->disk.cipher_mode;

	if (!spec->alg->family)
		return bd_fail(err, -ENOTSUP, "Algorithm '%s' not supported", spec->alg->name);
	memcpy(luks->disk.magic, magic, sizeof(magic));
	luks->disk.version = be16_make(1);
	snprintf((char *)luks->disk.cipher_name, sizeof(luks->disk.cipher_name), "%s",
		 spec->alg->family);
	snprintf(mode, sizeof(luks->disk.cipher_mode), "%s-%s%s%s",
		 bd_cipher_mode_name(spec->mode), bd_ivgen_name(spec->ivgen),
		 spec->iv_hash ? ":" : "", spec->iv_hash ? bd_hash_name(spec->iv_hash) : "");
	snprintf((char *)luks->disk.hash, sizeof(luks->disk.hash), "%s",
		 bd_hash_name(luks->hash));
	return make_uuid((char *)luks->disk.uuid, err);
}

/* Make the master key, and the digest by which it is known. */
static int set_key(struct luks *luks, uint64_t iter_time, uint8_t *key, struct bd_error *err)
{
	struct bd_sectors *sectors;
	uint32_t rounds;
	int ret;

	if ((ret = bd_random(key, luks->key_len, err)) < 0 ||
	    (ret = bd_sectors_new(&luks->spec, key, luks->key_len, &sectors, err)) < 0)
		return ret;
	bd_sectors_free(sectors); /* cipher, mode and generator go together */
	ret = bd_random(luks->disk.digest_salt, sizeof(luks->disk.digest_salt), err);
	if (ret == 0)
		ret = luks_rounds(luks->hash, sizeof(luks->disk.digest), iter_time, 8, &rounds,
				  err);
	if (ret < 0)
		return ret;
	luks->disk.digest_iterations = be32_make(rounds);
	luks_digest(luks, key, luks->disk.digest);
	return 0;
}

int luks_make(struct luks *luks, const struct luks_new *how, const struct luks_store *store,
	      struct bd_bytes password, uint8_t *key, struct bd_error *err)
{
	int ret;

	memset(luks, 0, sizeof(*luks));
	luks->spec = how->spec;
	luks->hash = how->hash;
	luks->key_len = bd_sector_key_len(&how->spec);
	luks->payload_off = luks_area_len(&how->spec);
	luks->disk.payload_sector = be32_make((uint32_t)(luks->payload_off / 512));
	luks->disk.key_bytes = be32_make((uint32_t)luks->key_len);
	set_slots(luks);
	if ((ret = set_names(luks, err)) < 0 ||
	    (ret = set_key(luks, how->iter_time, key, err)) < 0 ||
	    (ret = luks_slot_store(luks, store, 0, password, key, how->iter_time, err)) < 0)
		bd_wipe(key, BD_CIPHER_KEY_MAX);
	return ret;
}
