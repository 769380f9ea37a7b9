/* SPDX-License-Identifier: MIT */
/* Scope guards: what a variable owns is released when the variable goes out of scope. */
#ifndef BD_CLEANUP_H
#define BD_CLEANUP_H

#include <stdlib.h>
#include <unistd.h>

#include "blockdev/include/options.h"

/* __cleanup(free) char *text = NULL; the names in brackets are those below. */
#define __cleanup(what) __attribute__((cleanup(bd_cleanup_##what)))

static inline void bd_cleanup_free(void *var)
{
	free(*(void **)var);
}

/* A descriptor; negative: none. */
static inline void bd_cleanup_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void bd_cleanup_opts(struct bd_opts **opts)
{
	bd_opts_free(*opts);
}

#endif
