/* SPDX-License-Identifier: MIT */
/* Sizes, dates and clocks as people read them, in QEMU's words. */
#ifndef QIMG_HUMAN_H
#define QIMG_HUMAN_H

#include <stddef.h>
#include <stdint.h>

/* "1.5 GiB": three digits; the next unit from 1000 on. */
void human_size(char *text, size_t room, uint64_t bytes);
/* "2026-01-31 23:59:58", local time. */
void human_date(char *text, size_t room, uint32_t seconds);
/* "01:02:03.456" */
void human_clock(char *text, size_t room, uint64_t ns);

#endif
