/* SPDX-License-Identifier: MIT */
/*
 * The log that "record" writes: every change of a file in the order of completion, so that a
 * replayer can make each state a power cut could have left.
 *
 * The file starts with IO_RECORD_MAGIC (8 bytes).  Then entries: a struct io_record, all numbers
 * big-endian, followed by the data of a WRITE (len bytes).
 *
 *   WRITE, ZERO, DISCARD   has completed: may be on the disk, or not, until a flush covers it
 *   FLUSH                  has completed: the first "covers" entries are on the disk for certain
 *   RESIZE                 the file has become "len" bytes long (takes effect at once)
 *
 * A flush covers only what had completed when it was submitted.  What was in flight at a power cut
 * stands further down in the log, so a replayer applies the covered entries, and of the entries
 * behind them up to the next FLUSH that covers more any subset, in order, the last one possibly
 * torn at a multiple of 512 bytes.
 */
#ifndef IO_RECORD_H
#define IO_RECORD_H

#include "blockdev/base/be.h"

#define IO_RECORD_MAGIC "QIMGLOG1"

enum io_record_kind {
	IO_RECORD_WRITE = 1,
	IO_RECORD_ZERO,
	IO_RECORD_DISCARD,
	IO_RECORD_FLUSH,
	IO_RECORD_RESIZE,
};

struct io_record {
	be32 kind;     /* enum io_record_kind */
	be32 flags;    /* IO_UNMAP of a ZERO; IO_FUA: this entry is on the disk for certain */
	be64 off;      /* bytes; 0 for FLUSH and RESIZE */
	be64 len;      /* bytes */
	be64 covers;   /* FLUSH: entries, counted from the first; else 0 */
};
_Static_assert(sizeof(struct io_record) == 32, "entries have no padding");

#endif
