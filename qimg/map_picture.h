/* SPDX-License-Identifier: MIT */
/* The map of a disk as a picture: cells of equal size, each with what most of it is. */
#ifndef QIMG_MAP_PICTURE_H
#define QIMG_MAP_PICTURE_H

#include <stdio.h>

#include "blockdev/include/blockdev.h"

enum { PICTURE_DEPTHS = 10 };

/* What a range can be, as people see it. */
enum picture_kind {
	PICTURE_FREE,       /* allocated in no layer */
	PICTURE_ZERO,
	PICTURE_DATA,
	PICTURE_COMPRESSED,
	PICTURE_KINDS,
};

struct picture_cell {
	uint64_t bytes[PICTURE_KINDS];
	uint64_t depth_bytes[PICTURE_DEPTHS]; /* by layer that holds them; the last: or deeper */
	uint64_t jumps;                       /* data that do not follow the data before them */
};

struct picture {
	uint64_t start, end;  /* guest bytes shown */
	uint64_t cell_size;   /* bytes */
	unsigned nr, cols;    /* cells; in a row */
	unsigned depth;       /* deepest layer that has something */
	struct picture_cell *cells;
	struct picture_cell total;
};

/*
 * Look at [start, end) of @node, at most @cols * @rows cells.  0, or 1: reported.  The caller frees
 * picture->cells in any case.
 */
int picture_collect(struct bd_node *node, struct picture *picture, unsigned rows);
/* Draw it with letters, and what they mean. */
void picture_print(const struct picture *picture);
/* Draw it as an SVG file called @file, with @name as heading.  0, or 1: reported. */
int picture_svg(const struct picture *picture, const char *file, const char *name);

#endif
