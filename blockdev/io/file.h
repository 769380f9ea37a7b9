/* SPDX-License-Identifier: MIT */
/* struct io_file: what an operation is addressed to: local files, null-co, stackable filters. */
#ifndef IO_FILE_H
#define IO_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "blockdev/include/options.h"
#include "blockdev/io/engine.h"

struct io_file;

/* A driver of files.  Hooks marked optional have a default in file.c. */
struct io_file_ops {
	const char *name;         /* QEMU's driver name: "file", "host_device", "null-co", ... */
	/* Take the driver's keys out of @opts (what is left is an error) and open. */
	int (*open)(struct io_ctx *ctx, struct bd_opts *opts, unsigned flags,
		    struct io_file **out, struct bd_error *err);
	void (*close)(struct io_file *file);
	void (*submit)(struct io_file *file, struct io_op *op);
	int64_t (*length)(struct io_file *file); /* bytes now, or a negative errno */
	/* Optional.  @prealloc: "off", "falloc", "full". */
	int (*resize)(struct io_file *file, uint64_t size, const char *prealloc,
		      struct bd_error *err);
	/*
	 * Optional.  Is off.. a hole (reads as zeros)?  *len: in: bytes asked, out: bytes the
	 * answer covers (>= 1).  1: hole, 0: data, negative errno.  A senseless answer of the
	 * host's file system counts as data.
	 */
	int (*hole)(struct io_file *file, uint64_t off, uint64_t *len);
	/* Optional: change access and locks; filters: of the file below. */
	int (*reopen)(struct io_file *file, unsigned flags, struct bd_error *err);
	/* Optional: a named event of blkdebug ("l2_update", "write_aio", ...). */
	void (*event)(struct io_file *file, const char *name);
	/* Optional: bytes really used on the host, < 0: unknown. */
	int64_t (*allocated)(struct io_file *file);
	/* Optional: blkdebug's break, resume, remove_break; is a request suspended at @tag. */
	int (*breakpoint)(struct io_file *file, const char *event, const char *tag);
	int (*remove_break)(struct io_file *file, const char *tag);
	int (*resume)(struct io_file *file, const char *tag);
	bool (*is_suspended)(struct io_file *file, const char *tag);
};

struct io_file {
	const struct io_file_ops *ops;
	struct io_ctx *ctx;
	struct io_file *child;   /* filters: the file below; closed with this one */
	char *filename;          /* as a person would write it; never NULL */
	char *exact;             /* local files: the plain path; NULL for others */
	unsigned flags;          /* BD_O_* it was opened with */
	unsigned flags_on, flags_off; /* BD_O_* its own options set and cleared; outlive reopen */
	uint32_t request_align;  /* offsets and lengths the driver takes as they are; bytes, 1.. */
	uint32_t buffer_align;   /* memory alignment wanted; bytes, 1.. */
	uint32_t max_transfer;   /* bytes an operation may have; 0: no limit */
	bool can_zero;           /* IO_ZERO without writing zero bytes */
	bool can_unmap;          /* IO_DISCARD and IO_UNMAP give space back */
	bool zero_init;          /* bytes never written read as zeros */
	bool broken;             /* a flush failed: all later flushes fail (the kernel forgot) */
	int fd;                  /* local files; -1 for others */
	bool regular;            /* a regular file of the host */
	bool no_reserve;         /* space has no place there: IO_RESERVE would only cost */
	bool reserve_first;      /* large writes are cheaper where space is allocated already */

	/* the io layer's */
	bool no_zero_range, no_punch; /* op.c: the host refused it once */
	struct link writes;      /* align.c: writes in flight, oldest first */
	struct link held;        /* align.c: writes that wait for one of those */
};

extern const struct io_file_ops *const io_drivers[]; /* NULL-terminated */
bool io_driver_exists(const char *name);

/* For drivers: set the fields every file has; @filename is copied.  0 or -ENOMEM. */
int io_file_init(struct io_file *file, const struct io_file_ops *ops, struct io_ctx *ctx,
		 const char *filename, unsigned flags);

/*
 * Open a file by its options ("driver", then the driver's own keys; filters name their child with
 * "image." or "file." keys, as QEMU).  Consumes keys of @opts; a key nobody knows is an error that
 * names it.  Flags: BD_O_RDWR, _FORCE_SHARE, _RESIZE, _DIRECT, _UNMAP, _SHARE_NO_WRITE, ....
 * Locks as QEMU does.  Messages are QEMU's without the "Could not open" prefix, which is the
 * caller's.  Blocks.
 */
int io_open(struct io_ctx *ctx, struct bd_opts *opts, unsigned flags, struct io_file **out,
	    struct bd_error *err);
/* Drains nothing: the caller has no operation in flight.  NULL is fine. */
void io_close(struct io_file *file);

/*
 * Turn a name as a person writes it into options: plain path, "file:path", "null-co://",
 * "blkdebug:conf:path", "json:{...}" (merged into @opts, whose keys win).  Plain names get
 * driver=file or host_device and filename=...  An unknown prefix is "Unknown protocol 'x'".
 */
int io_name_to_opts(const char *name, struct bd_opts *opts, struct bd_error *err);
bool io_name_has_protocol(const char *name); /* a colon before the first slash */

/* Create a new empty local file (or truncate an old one under QEMU's locks) of @size bytes. */
int io_create(struct io_ctx *ctx, const char *name, uint64_t size, const char *prealloc,
	      const struct bd_opts *opts, struct bd_error *err);

int64_t io_length(struct io_file *file);
int io_resize(struct io_file *file, uint64_t size, const char *prealloc, struct bd_error *err);
int io_hole(struct io_file *file, uint64_t off, uint64_t *len);
int64_t io_allocated(struct io_file *file);
void io_event(struct io_file *file, const char *name); /* fast no-op without blkdebug */
/* Change locks and access of an open file (reopen).  0 or -errno. */
int io_reopen(struct io_file *file, unsigned flags, struct bd_error *err);

/*
 * Blocking transfers for metadata: top level only.  They submit and poll the file's context until
 * done.  0 or a negative errno; a read past the end is -EIO.
 */
int io_pread(struct io_file *file, uint64_t off, void *buf, size_t len);
int io_pwrite(struct io_file *file, uint64_t off, const void *buf, size_t len);
int io_pzero(struct io_file *file, uint64_t off, uint64_t len, unsigned io_flags);
int io_pdiscard(struct io_file *file, uint64_t off, uint64_t len);
int io_pflush(struct io_file *file);

#endif
