/* SPDX-License-Identifier: MIT */
/* Making images, and saying how large one would be. */
#ifndef BD_CREATE_H
#define BD_CREATE_H

#include "blockdev/include/blockdev.h"

struct bd_create_args {
	const char *filename;
	const char *format;       /* "raw", "qcow2" */
	struct bd_opts *opts;     /* size, backing_file, ...; changed: defaults are filled in */
	bool backing_unsafe;      /* -u: do not open the backing file */
	/* Gets "Formatting 'a', fmt=qcow2 ..." before anything is written; NULL: quiet. */
	void (*announce)(const char *line, void *user);
	/* Gets warnings, without a prefix; NULL: none. */
	void (*warn)(const char *line, void *user);
	void *user;
};

/* Create an image.  Blocks.  On failure no new file is left.  Like: qemu-img create. */
int bd_create(struct bd_queue *queue, struct bd_create_args *args, struct bd_error *err);

/* What an overlay is put over. */
struct bd_overlay {
	const char *filename, *format;
	bool in_use;              /* open for writing here: it is not opened, @size is its size */
	uint64_t size;            /* bytes */
};

/*
 * Create the qcow2 image @path over @base, named there by its full path.  Blocks.
 * Like: QEMU's blockdev-snapshot-sync.
 */
int bd_overlay_create(struct bd_queue *queue, const char *path, const struct bd_overlay *base,
		      struct bd_error *err);
/* The same in a new file in $TMPDIR or /var/tmp, whose name is put into @path of @size bytes. */
int bd_overlay_temporary(struct bd_queue *queue, const struct bd_overlay *base, char *path,
			 size_t size, struct bd_error *err);
/*
 * Open such a file over the image of @args, which is opened read-only.  It has no name any more and
 * goes with the node.  Blocks.  Like: QEMU's -snapshot.
 */
int bd_overlay_open(struct bd_queue *queue, const struct bd_open_args *args, struct bd_node **node,
		    struct bd_error *err);

/*
 * Whether @format, which can be created, takes all of @opts in a file called @filename: 0, or
 * -errno for the first one that is unknown or has no fitting value.  Sizes become plain numbers.
 */
int bd_create_check(const char *format, const char *filename, struct bd_opts *opts,
		    struct bd_error *err);
/* The format's create options; NULL: it cannot be created. */
const struct bd_option *bd_create_options(const char *format);
/* Options of the protocol a file name uses (nocow, extent_size_hint...). */
const struct bd_option *bd_protocol_create_options(const char *filename);

struct bd_amend_args {
	bool force;               /* also what may make the data unreadable */
	void (*progress)(uint64_t done, uint64_t total, void *user);  /* NULL: not wanted */
	void *user;
};

/*
 * Change options of an existing image: only those in @opts, which is used up.
 * -ENOTSUP: the format has nothing to change.  Blocks; no request in flight.
 * Like: qemu-img amend.
 */
int bd_amend(struct bd_node *node, struct bd_opts *opts, const struct bd_amend_args *args,
	     struct bd_error *err);
/* Whether bd_amend() knows all of @opts, and their values are of the right kind: 0, or -errno. */
int bd_amend_check(struct bd_node *node, struct bd_opts *opts, struct bd_error *err);
/* The options amend knows; NULL: nothing can be changed, or there is no such format. */
const struct bd_option *bd_amend_options(const char *format);

struct bd_stream_args {
	struct bd_node *src;      /* what the image is to hold; read twice */
	const char *format;
	const struct bd_opts *opts; /* create options, with the size */
	/* Takes the next bytes of the image file.  0, or a negative errno that ends it. */
	int (*write)(const void *buf, size_t len, void *user);
	void *user;
};

/*
 * Write an image from its first byte to its last, into what cannot be sought.  Like: a pipe.
 * -ENOTSUP: not with this format or these options, nothing has been written.  Blocks.
 */
int bd_stream(const struct bd_stream_args *args, struct bd_error *err);

struct bd_measure {
	uint64_t required;        /* bytes of a file that holds just the data there are */
	uint64_t fully_allocated; /* bytes once every cluster is written */
	uint64_t bitmaps;         /* bytes of bitmap metadata */
	bool has_bitmaps;
	bool want_compressed;     /* in: estimate @compressed, from samples of the data */
	uint64_t compressed;      /* bytes that convert -c would need, about */
};
/* @src: image to measure, or NULL: a new disk of the size in @opts.  Like: qemu-img measure. */
int bd_measure(const char *format, struct bd_opts *opts, struct bd_node *src,
	       struct bd_measure *out, struct bd_error *err);

#endif
