/* SPDX-License-Identifier: MIT */
/* The one description of what a guest range is: used by read, map, convert, compare, measure. */
#ifndef BD_EXTENT_H
#define BD_EXTENT_H

#include <stdint.h>

struct bd_node;

enum bd_extent_kind {
	BD_UNALLOCATED, /* this layer says nothing: the backing file shows through, else zeros */
	BD_ZERO,        /* reads as zeros */
	BD_DATA,        /* bytes in the data file at host_off */
	BD_COMPRESSED,  /* one cluster, deflated or zstd, in host_off..host_off+host_len */
};

enum {
	BD_EXTENT_HAS_OFFSET = 1, /* host_off is valid (a ZERO extent may have one: preallocated) */
	BD_EXTENT_EOF = 2,        /* the range behind this extent is past the end of the layer */
	BD_EXTENT_ENCRYPTED = 4,  /* host bytes are cipher text */
	BD_EXTENT_SPARSE = 8,     /* asked of the host file: a hole, so zeros */
	BD_EXTENT_CUT = 16,       /* its clusters start behind the end of the host file */
};

struct bd_extent {
	uint64_t guest_off;    /* bytes */
	uint64_t len;          /* bytes, never 0 */
	uint64_t host_off;     /* bytes in the data file; valid if HAS_OFFSET or COMPRESSED */
	uint32_t host_len;     /* bytes; COMPRESSED only */
	uint16_t depth;        /* layer that defines it; 0 = top */
	uint8_t kind;          /* enum bd_extent_kind */
	uint8_t flags;         /* BD_EXTENT_* */
	struct bd_node *node;  /* that layer; NULL: none defines it */
};

#endif
