/* SPDX-License-Identifier: MIT */
/* Ciphers of nettle in the modes that disks use. */
#include "blockdev/crypto/cipher.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/crypto/hash.h"
#include "config.h"

#if CONFIG_NETTLE
#include <nettle/cbc.h>
#include <nettle/cast128.h>
#include <nettle/ctr.h>
#include <nettle/nettle-meta.h>
#define IMPL(name) (&nettle_##name)
#else
#define IMPL(name) NULL
#endif

enum { CHUNK = 512 }; /* bytes whose tweaks are made at once */

static const struct bd_cipher_alg algs[] = {
	{ "aes-128", "aes", 16, 16, IMPL(aes128) },
	{ "aes-192", "aes", 24, 16, IMPL(aes192) },
	{ "aes-256", "aes", 32, 16, IMPL(aes256) },
	{ "cast5-128", "cast5", 16, 8, IMPL(cast128) },
	{ "serpent-128", "serpent", 16, 16, IMPL(serpent128) },
	{ "serpent-192", "serpent", 24, 16, IMPL(serpent192) },
	{ "serpent-256", "serpent", 32, 16, IMPL(serpent256) },
	{ "twofish-128", "twofish", 16, 16, IMPL(twofish128) },
	{ "twofish-192", "twofish", 24, 16, IMPL(twofish192) },
	{ "twofish-256", "twofish", 32, 16, IMPL(twofish256) },
	/* LUKS has no names for these. */
	{ "des", NULL, 8, 8, NULL },
	{ "3des", NULL, 24, 8, NULL },
	{ 0 },
};

static const char *const mode_names[] = {
	[BD_MODE_ECB] = "ecb",
	[BD_MODE_CBC] = "cbc",
	[BD_MODE_XTS] = "xts",
	[BD_MODE_CTR] = "ctr",
};

const struct bd_cipher_alg *bd_cipher_alg_find(const char *name)
{
	for (const struct bd_cipher_alg *alg = algs; alg->name; alg++) {
		if (!strcmp(alg->name, name))
			return alg;
	}
	return NULL;
}

const struct bd_cipher_alg *bd_cipher_alg_of(const char *family, unsigned key_len)
{
	for (const struct bd_cipher_alg *alg = algs; alg->name; alg++) {
		if (alg->family && !strcmp(alg->family, family) && alg->key_len == key_len)
			return alg;
	}
	return NULL;
}

int bd_cipher_mode_parse(const char *text, enum bd_cipher_mode *mode)
{
	for (size_t i = 0; i < sizeof(mode_names) / sizeof(mode_names[0]); i++) {
		if (!strcmp(mode_names[i], text)) {
			*mode = (enum bd_cipher_mode)i;
			return 0;
		}
	}
	return -EINVAL;
}

const char *bd_cipher_mode_name(enum bd_cipher_mode mode)
{
	return mode_names[mode];
}

struct bd_cipher {
	const struct bd_cipher_alg *alg;
	enum bd_cipher_mode mode;
	size_t ctx_len;           /* bytes of each key schedule */
	/* key schedules: encryption, decryption, and encryption with the second key of xts */
	_Alignas(16) uint8_t ctx[];
};

unsigned bd_cipher_block_len(const struct bd_cipher *cipher)
{
	return cipher->alg->block_len;
}

#if CONFIG_NETTLE

static const struct nettle_cipher *impl_of(const struct bd_cipher *cipher)
{
	return cipher->alg->impl;
}

static const uint8_t *schedule(const struct bd_cipher *cipher, int nr)
{
	return cipher->ctx + cipher->ctx_len * (size_t)nr;
}

static int check(const struct bd_cipher_alg *alg, enum bd_cipher_mode mode, size_t key_len,
		 struct bd_error *err)
{
	size_t want = (size_t)alg->key_len * (mode == BD_MODE_XTS ? 2 : 1);

	if (!alg->impl)
		return bd_fail(err, -ENOTSUP, "Algorithm '%s' not supported", alg->name);
	if (mode == BD_MODE_XTS && alg->block_len != 16)
		return bd_fail(err, -ENOTSUP, "Unsupported cipher mode %s", mode_names[mode]);
	if (key_len != want)
		return bd_fail(err, -EINVAL, "Cipher key length %zu should be %zu", key_len, want);
	return 0;
}

int bd_cipher_new(const struct bd_cipher_alg *alg, enum bd_cipher_mode mode, const uint8_t *key,
		  size_t key_len, struct bd_cipher **out, struct bd_error *err)
{
	const struct nettle_cipher *impl = alg->impl;
	struct bd_cipher *cipher;
	size_t ctx_len, size;
	int ret = check(alg, mode, key_len, err);

	if (ret < 0)
		return ret;
	ctx_len = (impl->context_size + 15) / 16 * 16;
	size = (sizeof(*cipher) + 3 * ctx_len + 15) / 16 * 16;
	cipher = aligned_alloc(16, size);
	if (!cipher)
		return bd_fail(err, -ENOMEM, "Out of memory");
	memset(cipher, 0, size);
	cipher->alg = alg;
	cipher->mode = mode;
	cipher->ctx_len = ctx_len;
	impl->set_encrypt_key(cipher->ctx, key);
	impl->set_decrypt_key(cipher->ctx + ctx_len, key);
	if (mode == BD_MODE_XTS)
		impl->set_encrypt_key(cipher->ctx + 2 * ctx_len, key + alg->key_len);
	*out = cipher;
	return 0;
}

void bd_cipher_free(struct bd_cipher *cipher)
{
	if (cipher)
		bd_wipe(cipher->ctx, 3 * cipher->ctx_len);
	free(cipher);
}

/* Multiply by x in GF(2^128), least significant byte first.  IEEE 1619, 5.2. */
static void next_tweak(uint64_t tweak[2])
{
	uint64_t low = le64toh(tweak[0]), high = le64toh(tweak[1]);
	uint64_t carry = high >> 63;

	tweak[1] = htole64(high << 1 | low >> 63);
	tweak[0] = htole64(low << 1 ^ (carry ? 0x87 : 0));
}

static void xor_words(uint64_t *to, const uint64_t *from, size_t len)
{
	for (size_t i = 0; i < len / 8; i++)
		to[i] ^= from[i];
}

/* nettle's own xts goes block by block; its ciphers are faster with many at a time. */
static void xts(const struct bd_cipher *cipher, nettle_cipher_func *crypt, int nr,
		const uint8_t *iv, uint8_t *buf, size_t len)
{
	uint64_t tweaks[CHUNK / 8], words[CHUNK / 8], tweak[2];

	impl_of(cipher)->encrypt(schedule(cipher, 2), 16, (uint8_t *)tweak, iv);
	while (len) {
		size_t n = len < CHUNK ? len : CHUNK;

		for (size_t i = 0; i < n / 8; i += 2) {
			tweaks[i] = tweak[0];
			tweaks[i + 1] = tweak[1];
			next_tweak(tweak);
		}
		memcpy(words, buf, n);
		xor_words(words, tweaks, n);
		crypt(schedule(cipher, nr), n, (uint8_t *)words, (const uint8_t *)words);
		xor_words(words, tweaks, n);
		memcpy(buf, words, n);
		buf += n;
		len -= n;
	}
}

void bd_cipher_encrypt(const struct bd_cipher *cipher, const uint8_t *iv, uint8_t *buf, size_t len)
{
	const struct nettle_cipher *impl = impl_of(cipher);
	const uint8_t *ctx = schedule(cipher, 0);
	uint8_t chain[BD_CIPHER_BLOCK_MAX];

	memcpy(chain, iv, cipher->alg->block_len);
	switch (cipher->mode) {
	case BD_MODE_ECB:
		impl->encrypt(ctx, len, buf, buf);
		break;
	case BD_MODE_CBC:
		cbc_encrypt(ctx, impl->encrypt, impl->block_size, chain, len, buf, buf);
		break;
	case BD_MODE_XTS:
		xts(cipher, impl->encrypt, 0, iv, buf, len);
		break;
	case BD_MODE_CTR:
		ctr_crypt(ctx, impl->encrypt, impl->block_size, chain, len, buf, buf);
		break;
	}
}

void bd_cipher_decrypt(const struct bd_cipher *cipher, const uint8_t *iv, uint8_t *buf, size_t len)
{
	const struct nettle_cipher *impl = impl_of(cipher);
	const uint8_t *ctx = schedule(cipher, 1);
	uint8_t chain[BD_CIPHER_BLOCK_MAX];

	memcpy(chain, iv, cipher->alg->block_len);
	switch (cipher->mode) {
	case BD_MODE_ECB:
		impl->decrypt(ctx, len, buf, buf);
		break;
	case BD_MODE_CBC:
		cbc_decrypt(ctx, impl->decrypt, impl->block_size, chain, len, buf, buf);
		break;
	case BD_MODE_XTS:
		xts(cipher, impl->decrypt, 1, iv, buf, len);
		break;
	case BD_MODE_CTR:
		ctr_crypt(schedule(cipher, 0), impl->encrypt, impl->block_size, chain, len, buf,
			  buf);
		break;
	}
}

#else

int bd_cipher_new(const struct bd_cipher_alg *alg, enum bd_cipher_mode mode, const uint8_t *key,
		  size_t key_len, struct bd_cipher **out, struct bd_error *err)
{
	(void)mode, (void)key, (void)key_len, (void)out;
	return bd_fail(err, -ENOTSUP, "Algorithm '%s' not supported", alg->name);
}

void bd_cipher_free(struct bd_cipher *cipher)
{
	free(cipher);
}

/* Never called: there is no cipher. */
void bd_cipher_encrypt(const struct bd_cipher *cipher, const uint8_t *iv, uint8_t *buf, size_t len)
{
	(void)cipher, (void)iv, (void)buf, (void)len;
}

void bd_cipher_decrypt(const struct bd_cipher *cipher, const uint8_t *iv, uint8_t *buf, size_t len)
{
	(void)cipher, (void)iv, (void)buf, (void)len;
}

#endif
