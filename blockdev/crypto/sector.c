/* SPDX-License-Identifier: MIT */
/* Sector encryption: a cipher, and a generator of initial vectors. */
#include "blockdev/crypto/sector.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct bd_sectors {
	struct bd_cipher *cipher;
	struct bd_cipher *essiv;  /* NULL: the number itself is the vector */
	enum bd_ivgen ivgen;
};

static const char *const ivgen_names[] = {
	[BD_IV_PLAIN] = "plain",
	[BD_IV_PLAIN64] = "plain64",
	[BD_IV_ESSIV] = "essiv",
};

int bd_ivgen_parse(const char *text, enum bd_ivgen *ivgen)
{
	for (size_t i = 0; i < sizeof(ivgen_names) / sizeof(ivgen_names[0]); i++) {
		if (!strcmp(ivgen_names[i], text)) {
			*ivgen = (enum bd_ivgen)i;
			return 0;
		}
	}
	return -EINVAL;
}

const char *bd_ivgen_name(enum bd_ivgen ivgen)
{
	return ivgen_names[ivgen];
}

size_t bd_sector_key_len(const struct bd_sector_spec *spec)
{
	return (size_t)spec->alg->key_len * (spec->mode == BD_MODE_XTS ? 2 : 1);
}

/* ESSIV: the vector is the number encrypted with a hash of the key; the hash fixes the cipher. */
static int make_essiv(struct bd_sectors *sectors, const struct bd_sector_spec *spec,
		      const uint8_t *key, size_t key_len, struct bd_error *err)
{
	static const char *const families[][2] = {
		{ "aes", "AES" }, { "serpent", "Serpent" }, { "twofish", "Twofish" },
	};
	const struct bd_cipher_alg *alg;
	const char *title = NULL;
	uint8_t salt[BD_HASH_MAX];
	size_t len;
	int ret;

	if (!spec->iv_hash)
		return bd_fail(err, -EINVAL, "Missing IV generator hash specification");
	for (size_t i = 0; i < 3 && spec->alg->family; i++) {
		if (!strcmp(spec->alg->family, families[i][0]))
			title = families[i][1];
	}
	if (!title)
		return bd_fail(err, -ENOTSUP, "Cipher %s not supported with essiv",
			       spec->alg->name);
	len = bd_hash_size(spec->iv_hash);
	alg = bd_cipher_alg_of(spec->alg->family, (unsigned)len);
	if (!alg)
		return bd_fail(err, -EINVAL, "No %s cipher with key size %zu available", title,
			       len);
	bd_hash_digest(spec->iv_hash, NULL, 0, key, key_len, salt);
	ret = bd_cipher_new(alg, BD_MODE_ECB, salt, len, &sectors->essiv, err);
	bd_wipe(salt, sizeof(salt));
	return ret;
}

int bd_sectors_new(const struct bd_sector_spec *spec, const uint8_t *key, size_t key_len,
		   struct bd_sectors **out, struct bd_error *err)
{
	struct bd_sectors *sectors = calloc(1, sizeof(*sectors));
	int ret;

	*out = NULL;
	if (!sectors)
		return bd_fail(err, -ENOMEM, "Out of memory");
	sectors->ivgen = spec->ivgen;
	ret = bd_cipher_new(spec->alg, spec->mode, key, key_len, &sectors->cipher, err);
	if (ret == 0 && spec->ivgen == BD_IV_ESSIV)
		ret = make_essiv(sectors, spec, key, key_len, err);
	if (ret < 0)
		bd_sectors_free(sectors);
	else
		*out = sectors;
	return ret;
}

void bd_sectors_free(struct bd_sectors *sectors)
{
	if (!sectors)
		return;
	bd_cipher_free(sectors->cipher);
	bd_cipher_free(sectors->essiv);
	free(sectors);
}

static void make_iv(const struct bd_sectors *sectors, uint64_t number, uint8_t *iv)
{
	uint64_t word = htole64(sectors->ivgen == BD_IV_PLAIN ? (uint32_t)number : number);

	memset(iv, 0, BD_CIPHER_BLOCK_MAX);
	memcpy(iv, &word, sizeof(word));
	if (sectors->essiv)
		bd_cipher_encrypt(sectors->essiv, iv, iv, bd_cipher_block_len(sectors->essiv));
}

void bd_sectors_encrypt(const struct bd_sectors *sectors, uint64_t off, void *buf, size_t len)
{
	uint8_t iv[BD_CIPHER_BLOCK_MAX];

	for (size_t at = 0; at < len; at += BD_SECTOR) {
		make_iv(sectors, (off + at) / BD_SECTOR, iv);
		bd_cipher_encrypt(sectors->cipher, iv, (uint8_t *)buf + at,
				  len - at < BD_SECTOR ? len - at : BD_SECTOR);
	}
}

void bd_sectors_decrypt(const struct bd_sectors *sectors, uint64_t off, void *buf, size_t len)
{
	uint8_t iv[BD_CIPHER_BLOCK_MAX];

	for (size_t at = 0; at < len; at += BD_SECTOR) {
		make_iv(sectors, (off + at) / BD_SECTOR, iv);
		bd_cipher_decrypt(sectors->cipher, iv, (uint8_t *)buf + at,
				  len - at < BD_SECTOR ? len - at : BD_SECTOR);
	}
}
