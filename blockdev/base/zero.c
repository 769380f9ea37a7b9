/* SPDX-License-Identifier: MIT */
/* Is memory all zero bytes, and how far. */
#include "blockdev/base/zero.h"

#include <stdint.h>
#include <string.h>

/* OR of 64 bytes; written so that the compiler makes it a few vector instructions. */
static inline uint64_t or64(const uint8_t *p)
{
	uint64_t word[8], bits = 0;

	memcpy(word, p, sizeof(word));
	for (int i = 0; i < 8; i++)
		bits |= word[i];
	return bits;
}

bool bd_is_zero(const void *buf, size_t len)
{
	const uint8_t *p = buf;
	uint8_t tail = 0;

	/* Data that are not zero mostly show it at once. */
	if (len >= 64 && (or64(p) || or64(p + len - 64)))
		return false;
	while (len >= 256) {
		if (or64(p) | or64(p + 64) | or64(p + 128) | or64(p + 192))
			return false;
		p += 256;
		len -= 256;
	}
	while (len >= 64) {
		if (or64(p))
			return false;
		p += 64;
		len -= 64;
	}
	for (size_t i = 0; i < len; i++)
		tail |= p[i];
	return !tail;
}

size_t bd_zero_run(const void *buf, size_t nr, bool *zero)
{
	const uint8_t *p = buf;
	size_t i = 1;

	*zero = bd_is_zero(p, 512);
	while (i < nr && bd_is_zero(p + i * 512, 512) == *zero)
		i++;
	return i;
}
