/* SPDX-License-Identifier: MIT */
/* Hashes and PBKDF2, over nettle. */
#include "blockdev/crypto/hash.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "config.h"

#if CONFIG_NETTLE
#include <nettle/hmac.h>
#include <nettle/nettle-meta.h>
#include <nettle/pbkdf2.h>
#endif

enum { CTX_MAX = 512 }; /* bytes of the largest state of a hash */

struct bd_hash {
	const char *name;
#if CONFIG_NETTLE
	const struct nettle_hash *impl;
#endif
};

#if CONFIG_NETTLE

static const struct bd_hash hashes[] = {
	{ "md5", &nettle_md5 },
	{ "sha1", &nettle_sha1 },
	{ "sha224", &nettle_sha224 },
	{ "sha256", &nettle_sha256 },
	{ "sha384", &nettle_sha384 },
	{ "sha512", &nettle_sha512 },
	{ "ripemd160", &nettle_ripemd160 },
	{ NULL, NULL },
};

size_t bd_hash_size(const struct bd_hash *hash)
{
	return hash->impl->digest_size;
}

void bd_hash_digest(const struct bd_hash *hash, const void *prefix, size_t prefix_len,
		    const void *data, size_t len, uint8_t *digest)
{
	_Alignas(16) uint8_t ctx[CTX_MAX];

	hash->impl->init(ctx);
	hash->impl->update(ctx, prefix_len, prefix);
	hash->impl->update(ctx, len, data);
	hash->impl->digest(ctx, hash->impl->digest_size, digest);
	bd_wipe(ctx, sizeof(ctx));
}

/* The states of one HMAC; nettle keys them once and copies them for each round. */
struct hmac {
	const struct nettle_hash *hash;
	_Alignas(16) uint8_t outer[CTX_MAX], inner[CTX_MAX], state[CTX_MAX];
};

static void update(void *ctx, size_t len, const uint8_t *data)
{
	struct hmac *hmac = ctx;

	hmac_update(hmac->state, hmac->hash, len, data);
}

static void digest_hmac(void *ctx, size_t len, uint8_t *digest)
{
	struct hmac *hmac = ctx;

	hmac_digest(hmac->outer, hmac->inner, hmac->state, hmac->hash, len, digest);
}

void bd_pbkdf2(const struct bd_hash *hash, struct bd_bytes password, struct bd_bytes salt,
	       uint32_t rounds, uint8_t *key, size_t key_len)
{
	struct hmac hmac = { .hash = hash->impl };

	hmac_set_key(hmac.outer, hmac.inner, hmac.state, hash->impl, password.len, password.data);
	nettle_pbkdf2(&hmac, update, digest_hmac, hash->impl->digest_size, rounds, salt.len,
		      salt.data, key_len, key);
	bd_wipe(&hmac, sizeof(hmac));
}

#else

/* Without nettle there is no hash to be found, and so nothing below is ever called. */
static const struct bd_hash hashes[] = { { NULL } };

size_t bd_hash_size(const struct bd_hash *hash)
{
	(void)hash;
	return 0;
}

void bd_hash_digest(const struct bd_hash *hash, const void *prefix, size_t prefix_len,
		    const void *data, size_t len, uint8_t *digest)
{
	(void)hash, (void)prefix, (void)prefix_len, (void)data, (void)len, (void)digest;
}

void bd_pbkdf2(const struct bd_hash *hash, struct bd_bytes password, struct bd_bytes salt,
	       uint32_t rounds, uint8_t *key, size_t key_len)
{
	(void)hash, (void)password, (void)salt, (void)rounds;
	memset(key, 0, key_len);
}

#endif

const struct bd_hash *bd_hash_find(const char *name)
{
	for (const struct bd_hash *hash = hashes; hash->name; hash++) {
		if (!strcmp(hash->name, name))
			return hash;
	}
	return NULL;
}

const char *bd_hash_name(const struct bd_hash *hash)
{
	return hash->name;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t bd_pbkdf2_speed(const struct bd_hash *hash, size_t key_len)
{
	static const uint8_t word[32] = "speed";
	const struct bd_bytes text = { word, sizeof(word) };
	uint8_t key[BD_HASH_MAX * 2];
	uint64_t best = 1;
	uint32_t rounds = 1000;

	/* Long enough for the clock, then a few times more for the best of them. */
	for (int runs = 0; runs < 4 && rounds < UINT32_MAX / 2;) {
		uint64_t start = now_ns(), time;

		bd_pbkdf2(hash, text, text, rounds, key,
			  key_len < sizeof(key) ? key_len : sizeof(key));
		time = now_ns() - start;
		if (time < 10000000) {
			rounds *= 2;
			continue;
		}
		if (rounds * UINT64_C(1000000000) / time > best)
			best = rounds * UINT64_C(1000000000) / time;
		runs++;
	}
	bd_wipe(key, sizeof(key));
	return best;
}

int bd_random(void *buf, size_t len, struct bd_error *err)
{
	uint8_t *at = buf;

	while (len) {
		ssize_t got = getrandom(at, len, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return bd_fail_errno(err, -EIO, "Unable to read random bytes");
		at += got;
		len -= (size_t)got;
	}
	return 0;
}

void bd_wipe(void *buf, size_t len)
{
	if (buf)
		explicit_bzero(buf, len);
}
