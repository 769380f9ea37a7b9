/* SPDX-License-Identifier: MIT */
/*
 * qimg-io --journal and --verify: random writes that can be proven after a crash.
 *
 * The journal is text.  Its first line is "qimg-journal 1 SIZE SEED"; then "w N OFF LEN" or
 * "z N OFF LEN" before write number N (data, zeros) is given to the image, and "f N" after a flush
 * that all writes up to N had been completed before.  A last line without its end is no line.
 *
 * A sector of write N holds N, its own number, and bytes that follow from the two.
 */
#ifndef QIMG_IO_JOURNAL_H
#define QIMG_IO_JOURNAL_H

#include <stdint.h>

enum { JOURNAL_SECTOR = 512, JOURNAL_BLOCK = 4096 };

struct bd_node;

/* Fill @buf, one sector: what write @nr leaves in sector number @sector. */
void io_journal_fill(uint8_t *buf, uint64_t nr, uint64_t sector);
/*
 * Make @count random writes to @node, which must read as zeros, with flushes among them; note them
 * in the new file @name.  0, or 1: reported.
 */
int io_journal_write(struct bd_node *node, const char *name, uint64_t count, uint64_t seed);
/*
 * Each sector must hold what its last flushed write left there, or a later one; nothing else.
 * 0, or 1: reported.
 */
int io_journal_verify(struct bd_node *node, const char *name);

#endif
