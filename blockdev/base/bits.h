/* SPDX-License-Identifier: MIT */
/* Rounding and arithmetic that tells when it overflows. */
#ifndef BD_BITS_H
#define BD_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool is_pow2(uint64_t v)
{
	return v && !(v & (v - 1));
}

/* @to is a power of two. */
static inline uint64_t round_down(uint64_t v, uint64_t to)
{
	return v & ~(to - 1);
}

/* @to is a power of two; @v + @to must not overflow. */
static inline uint64_t round_up(uint64_t v, uint64_t to)
{
	return (v + to - 1) & ~(to - 1);
}

static inline uint64_t div_up(uint64_t v, uint64_t by)
{
	return v / by + !!(v % by);
}

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* floor(log2(v)); @v > 0. */
static inline unsigned log2_floor(uint64_t v)
{
	return 63 - (unsigned)__builtin_clzll(v);
}

/* False: the sum or product does not fit. */
static inline bool checked_add(uint64_t a, uint64_t b, uint64_t *sum)
{
	return !__builtin_add_overflow(a, b, sum);
}

static inline bool checked_mul(uint64_t a, uint64_t b, uint64_t *product)
{
	return !__builtin_mul_overflow(a, b, product);
}

#endif
