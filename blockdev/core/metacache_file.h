/* SPDX-License-Identifier: MIT */
/*
 * The second level of a metadata cache: clean tables in a file on a faster disk.
 *
 * Tables that leave memory are written to it, misses are read from it, both by ordinary
 * operations.  Every table carries a checksum (kept in memory and, once sealed, in the file), so a
 * short, damaged or stale read is a miss.  The first error switches the file off with one warning;
 * guest I/O never fails because of it.
 */
#ifndef BD_METACACHE_FILE_H
#define BD_METACACHE_FILE_H

#include "blockdev/core/metacache.h"

struct metacache_file;

struct metacache_file_args {
	struct bd_queue *queue;
	const char *path;
	struct io_file *image;   /* whose tables it holds */
	uint32_t table_size;     /* bytes */
	uint64_t tables;         /* room for so many */
	bool trust;              /* old contents may be used if the image is unchanged */
};

/* Blocks.  0; negative errno: no second level, the caller goes on without. */
int metacache_file_open(const struct metacache_file_args *args, struct metacache_file **out,
			struct bd_error *err);
/*
 * Nothing is in flight.  @seal: keep the contents for the next open of the unchanged image.
 * Blocks.  NULL is fine.
 */
void metacache_file_close(struct metacache_file *file, bool seal);
/* The image is about to change: what is on disk is no longer to be trusted.  Blocks. */
void metacache_file_invalidate(struct metacache_file *file);
/* Keep the clean table @buf of host offset @off, as far as there is room for writes in flight. */
void metacache_file_store(struct metacache_file *file, uint64_t off, const void *buf);
/* Is the table of @off there?  Then *pos is where in the file. */
bool metacache_file_find(struct metacache_file *file, uint64_t off, uint64_t *pos);
/* Is @buf, read from the file, the table of @off?  False: forgets it. */
bool metacache_file_verify(struct metacache_file *file, uint64_t off, const void *buf);
/* The table of @off changes, or is no more. */
void metacache_file_forget(struct metacache_file *file, uint64_t off);
struct io_file *metacache_file_io(struct metacache_file *file);
/* A read failed: switch the file off. */
void metacache_file_fail(struct metacache_file *file, int err);
/* Operations in flight. */
unsigned metacache_file_busy(const struct metacache_file *file);

#endif
