/* SPDX-License-Identifier: MIT */
/* LUKS's anti-forensic splitter: losing any stripe loses the key. */
#include <stdlib.h>
#include <string.h>

#include "blockdev/crypto/luks1.h"

/* Each digest's worth of @buf becomes the digest of its number and itself. */
static void diffuse(const struct bd_hash *hash, uint8_t *buf, size_t len)
{
	size_t size = bd_hash_size(hash);
	uint8_t digest[BD_HASH_MAX];
	uint32_t nr = 0;

	for (size_t at = 0; at < len; at += size, nr++) {
		size_t n = len - at < size ? len - at : size;
		be32 prefix = be32_make(nr);

		bd_hash_digest(hash, &prefix, sizeof(prefix), buf + at, n, digest);
		memcpy(buf + at, digest, n);
	}
	bd_wipe(digest, sizeof(digest));
}

static void mix(uint8_t *to, const uint8_t *with, size_t len)
{
	for (size_t i = 0; i < len; i++)
		to[i] ^= with[i];
}

/* Run all stripes but the last through the diffuser. */
static void fold(const struct bd_hash *hash, const uint8_t *stripes, size_t len, uint8_t *block)
{
	memset(block, 0, len);
	for (size_t i = 0; i < LUKS_STRIPES - 1; i++) {
		mix(block, stripes + i * len, len);
		diffuse(hash, block, len);
	}
}

int luks_af_split(const struct bd_hash *hash, const uint8_t *key, size_t len, uint8_t *stripes,
		  struct bd_error *err)
{
	uint8_t *last = stripes + len * (LUKS_STRIPES - 1);
	int ret = bd_random(stripes, len * (LUKS_STRIPES - 1), err);

	if (ret < 0)
		return ret;
	fold(hash, stripes, len, last);
	mix(last, key, len);
	return 0;
}

void luks_af_merge(const struct bd_hash *hash, const uint8_t *stripes, size_t len, uint8_t *key)
{
	fold(hash, stripes, len, key);
	mix(key, stripes + len * (LUKS_STRIPES - 1), len);
}
