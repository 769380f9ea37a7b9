/* SPDX-License-Identifier: MIT */
/* Big-endian integers as byte arrays: no padding, no alignment, no forgotten swap. */
#ifndef BD_BE_H
#define BD_BE_H

#include <stdint.h>

typedef struct { uint8_t b[2]; } be16;
typedef struct { uint8_t b[4]; } be32;
typedef struct { uint8_t b[8]; } be64;

static inline uint16_t be16_get(be16 v)
{
	return (uint16_t)(v.b[0] << 8 | v.b[1]);
}

static inline uint32_t be32_get(be32 v)
{
	return (uint32_t)v.b[0] << 24 | (uint32_t)v.b[1] << 16 | (uint32_t)v.b[2] << 8 | v.b[3];
}

static inline uint64_t be64_get(be64 v)
{
	return (uint64_t)v.b[0] << 56 | (uint64_t)v.b[1] << 48 | (uint64_t)v.b[2] << 40 |
	       (uint64_t)v.b[3] << 32 | (uint64_t)v.b[4] << 24 | (uint64_t)v.b[5] << 16 |
	       (uint64_t)v.b[6] << 8 | v.b[7];
}

static inline be16 be16_make(uint16_t v)
{
	return (be16){{(uint8_t)(v >> 8), (uint8_t)v}};
}

static inline be32 be32_make(uint32_t v)
{
	return (be32){{(uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v}};
}

static inline be64 be64_make(uint64_t v)
{
	return (be64){{(uint8_t)(v >> 56), (uint8_t)(v >> 48), (uint8_t)(v >> 40),
		       (uint8_t)(v >> 32), (uint8_t)(v >> 24), (uint8_t)(v >> 16),
		       (uint8_t)(v >> 8), (uint8_t)v}};
}

#endif
