/* SPDX-License-Identifier: MIT */
/* Looking through a backing chain. */
#ifndef BD_CORE_CHAIN_H
#define BD_CORE_CHAIN_H

#include "blockdev/core/node.h"

/* The layer below @top that is the host file @path; NULL: none. */
struct bd_node *bd_chain_find(struct bd_node *top, const char *path);

#endif
