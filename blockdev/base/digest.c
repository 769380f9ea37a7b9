/* SPDX-License-Identifier: MIT */
/* The table of message digests; the work is the libraries'. */
#include "blockdev/base/digest.h"

#include <string.h>

#include "config.h"

#if CONFIG_NETTLE
#include <nettle/sha2.h>

static void sha256(uint8_t prefix, const void *a, size_t a_len, const void *b, size_t b_len,
		   uint8_t *out)
{
	struct sha256_ctx ctx;

	sha256_init(&ctx);
	sha256_update(&ctx, 1, &prefix);
	sha256_update(&ctx, a_len, a);
	sha256_update(&ctx, b_len, b);
	sha256_digest(&ctx, SHA256_DIGEST_SIZE, out);
}

static void sha512(uint8_t prefix, const void *a, size_t a_len, const void *b, size_t b_len,
		   uint8_t *out)
{
	struct sha512_ctx ctx;

	sha512_init(&ctx);
	sha512_update(&ctx, 1, &prefix);
	sha512_update(&ctx, a_len, a);
	sha512_update(&ctx, b_len, b);
	sha512_digest(&ctx, SHA512_DIGEST_SIZE, out);
}
#endif

#if CONFIG_XXHASH
#define XXH_INLINE_ALL /* no library for a few functions */
#include <xxhash.h>

static void xxh3(uint8_t prefix, const void *a, size_t a_len, const void *b, size_t b_len,
		 uint8_t *out)
{
	XXH128_canonical_t canonical;
	XXH3_state_t state;

	XXH3_128bits_reset(&state);
	XXH3_128bits_update(&state, &prefix, 1);
	if (a_len)
		XXH3_128bits_update(&state, a, a_len);
	if (b_len)
		XXH3_128bits_update(&state, b, b_len);
	XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state));
	memcpy(out, canonical.digest, sizeof(canonical.digest));
}
#endif

static const struct bd_digest digests[] = {
#if CONFIG_NETTLE
	{ "sha256", 32, sha256 },
	{ "sha512", 64, sha512 },
#endif
#if CONFIG_XXHASH
	{ "xxh3", 16, xxh3 },
#endif
	{ 0 },
};

const struct bd_digest *bd_digest_find(const char *name)
{
	const struct bd_digest *digest = digests;

	while (digest->name && strcmp(digest->name, name))
		digest++;
	return digest->name ? digest : NULL;
}

const char *const *bd_digest_names(void)
{
	static const char *const names[] = {
#if CONFIG_NETTLE
		"sha256", "sha512",
#endif
#if CONFIG_XXHASH
		"xxh3",
#endif
		NULL,
	};

	return names;
}
