/* SPDX-License-Identifier: MIT */
/* What tests of whole images share: a queue, a folder in memory, qcow2 images made and opened. */
#ifndef UNIT_IMAGE_FIXTURE_H
#define UNIT_IMAGE_FIXTURE_H

#include <check.h>
#include <stdint.h>

#include "blockdev/include/blockdev.h"

/* The fixture's queue and folder, between image_set_up() and image_tear_down(). */
extern struct bd_queue *queue;
extern char folder[64];

/* A folder in memory: tests of images flush thousands of times. */
void image_set_up(void);
void image_tear_down(void);
/* The same with the secret "s". */
void image_key_set_up(void);
void image_key_tear_down(void);
/* "FOLDER/@name"; static, valid until the next call but three. */
const char *image_path(const char *name);
/* A new qcow2 image of @size bytes; @backing: name of its backing file, or NULL. */
void image_create(const char *name, const char *options, uint64_t size, const char *backing);
/* Open with "key=value,..." (may be empty) and BD_O_* @flags; fails the test if that fails. */
struct bd_node *image_open(const char *name, const char *options, unsigned flags);
/* Close; fails the test if that fails. */
void image_close(struct bd_node *node);
/* Check the image: fails the test if there are corruptions or leaks. */
void image_check(const char *name);

#endif
