/* SPDX-License-Identifier: MIT */
/* Printing the bitmaps of an image. */
#ifndef QIMG_BITMAP_LIST_H
#define QIMG_BITMAP_LIST_H

#include <stdbool.h>

struct bd_node;

/* 0, or 1: reported. */
int bitmap_list(struct bd_node *node, bool json);

#endif
