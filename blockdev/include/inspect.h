/* SPDX-License-Identifier: MIT */
/* What lies where in an image file, also in a damaged one. */
#ifndef BD_INSPECT_H
#define BD_INSPECT_H

#include "blockdev/include/blockdev.h"

struct json_t;

struct bd_inspect_args {
	struct bd_node *node;   /* the file of the image, opened as raw */
	const char *structure;  /* show structures of this name only, with more of each; or NULL */
	bool path;              /* show only the way from guest byte @guest to its host offset */
	uint64_t guest;
};

/*
 * Describe all structures of the image.  Nothing but @args->node is read: names inside the image
 * are shown, never followed.  Memory and time are bounded: what is left out is said.
 * *out: {"format", "file-size", "structures": [...], "problems": [...], "nr-problems"}; owned by
 * the caller.  Numbers above INT64_MAX are strings ("0x...").
 * -ENOTSUP: no format has anything to say about these bytes.  Blocks.
 */
int bd_inspect(const struct bd_inspect_args *args, struct json_t **out, struct bd_error *err);

#endif
