/* SPDX-License-Identifier: MIT */
/* What the two halves of convert share: the command line, and the images of one run. */
#ifndef QIMG_CONVERT_H
#define QIMG_CONVERT_H

#include "blockdev/include/create.h"
#include "qimg/opts.h"
#include "qimg/report.h"

enum { CONVERT_SECTOR = 512 };

struct convert_values {
	struct image_values image;     /* sources */
	const char *target_format, *target_cache, *snapshot, *backing, *backing_format;
	const char *sparse, *rate, *parallel;
	char *options;
	bool target_image_opts, target_is_zero, bitmaps, skip_broken, offload, compress;
	const char *level, *window;
	bool progress, quiet, no_create, out_of_order, salvage, verify, no_verify;
};

struct convert {
	const struct convert_values *values;
	const char *name, *format;     /* of the target */
	struct bd_queue *queue;
	struct bd_node **src;
	unsigned nr_src;
	struct bd_node *dst;
	struct bd_opts *opts;          /* of the new target */
	uint64_t total;                /* bytes of all sources, in whole sectors */
	uint64_t sparse_size, rate;    /* bytes; bytes per second */
	unsigned parallel;
	struct progress progress;
	bool has_backing;              /* the target gets a backing file */
	bool sends;                    /* standard output may be the target: it is not for us */
	bool grows;                    /* the source's size is not known */
};

/* Check what is asked of the target before anything is created.  0, or 1: reported. */
int convert_check_target(struct convert *convert);
/* Create it, unless -n, and open it.  0, or 1: reported. */
int convert_open_target(struct convert *convert);
/* --bitmaps: can all of the source's bitmaps be copied?  0, or 1: reported. */
int convert_check_bitmaps(struct convert *convert);
/* Copy them into the target, where the data are already.  0, or 1: reported. */
int convert_copy_bitmaps(struct convert *convert);

/* --- pipes: convert_pipe.c ------------------------------------------------------------------- */

/* Is the target something that cannot be sought? */
bool convert_to_pipe(const struct convert *convert);
/* Send there what the sources, or pipe @pipe if not NULL, hold.  0, or 1: reported. */
int convert_send(struct convert *convert, const char *pipe);
/* Copy the opened sources into the target file.  0, or 1: reported; then the file is removed. */
int convert_to_image(struct convert *convert);
/* Close the target; without success (@status not 0) remove what was made for it.  @status or 1. */
int convert_finish(struct convert *convert, int status);
/* Is the only source a pipe? */
bool convert_from_pipe(const struct convert *convert, char **names);
/* Create or open the target and fill it from pipe @name.  0, or 1: reported. */
int convert_receive(struct convert *convert, const char *name);

#endif
