/* SPDX-License-Identifier: MIT */
/* File names: absolute, with a protocol prefix, relative to another file. */
#ifndef BD_PATH_H
#define BD_PATH_H

#include <stdbool.h>

/* A colon comes before the first slash: "nbd:...", "json:...". */
bool bd_path_has_protocol(const char *path);
/* Starts with a slash, behind a protocol prefix if there is one. */
bool bd_path_is_absolute(const char *path);
/*
 * What @name means when it is stored inside the file @base: itself if absolute, else relative to
 * the folder of @base.  The caller frees; NULL: out of memory.
 */
char *bd_path_combine(const char *base, const char *name);

#endif
