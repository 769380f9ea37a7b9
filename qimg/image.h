/* SPDX-License-Identifier: MIT */
/* Opening images as the command line asks, with QEMU's messages. */
#ifndef QIMG_IMAGE_H
#define QIMG_IMAGE_H

#include "blockdev/include/blockdev.h"
#include "qimg/opts.h"

/*
 * The queue of the program, with room for @depth requests; NULL: reported.
 * The environment variable QIMG_ENGINE names the engine; else the library chooses.
 */
struct bd_queue *image_queue(unsigned depth);

/*
 * Open @name as @image says (format or option string, force-share, cache mode).
 * @cache: mode if image->cache is NULL.  @what: "source cache" or "cache", for the message.
 * @flags: BD_O_*.  Returns NULL after reporting.
 * With the environment variable QIMG_CONFINE set to anything, no second file that an image names
 * (backing file, data file) is opened.
 */
struct bd_node *image_open(struct bd_queue *queue, const char *name,
			   const struct image_values *image, unsigned flags, const char *what);
/*
 * A file of @node's chain that was cut: do clusters of guest bytes [off, end) lie behind its end?
 * They would pass as zeros.  Reported, and 1.
 */
int image_check_cut(struct bd_node *node, uint64_t off, uint64_t end);
/* Close @node; an error of a late write is reported.  0 or 1. */
int image_close(struct bd_node *node);
/* Do -f and --image-opts contradict each other?  Then reported and true. */
bool image_conflict(const struct image_values *image);
/* Set BD_O_* for a cache mode; 0, or 1: reported. */
int image_cache(const char *mode, const char *what, unsigned *flags);

/*
 * -o help: print the create options of @format, and of the file @name is on if it is given.
 * 0, or 1: reported.
 */
int image_option_help(const char *format, const char *name);
/* The same for what amend can change. */
int image_amend_help(const char *format);
/* Is one of the comma separated options a question for help? */
bool image_asks_help(const char *options);

/*
 * Is there an option that neither @format nor the file @name takes, or whose value is wrong?  Then
 * reported and true.
 */
bool image_wrong_option(struct bd_opts *opts, const char *format, const char *name);
/* Has the table an option of that name? */
bool image_has_option(const struct bd_option *table, const char *name);
/* Show an internal snapshot's disk instead of the current one.  0, or 1: reported. */
int image_load_snapshot(struct bd_node *node, const char *text);

#endif
