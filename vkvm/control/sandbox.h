/* SPDX-License-Identifier: MIT */
/* What the program can still do once the guest runs. */
#ifndef VKVM_SANDBOX_H
#define VKVM_SANDBOX_H

#include "vkvm/block/disks.h"

/*
 * Give up, for all threads, what a monitor never needs (other programs, networks, other processes,
 * mounts, modules), and all files but the folders of the disks' images and temporary ones.
 * @files: others that must be removed at the end, up to a NULL.
 * After everything is open, before the guest runs.  What an old kernel cannot do is left out.
 */
int sandbox_enter(struct disks *disks, const char *const *files, struct bd_error *err);

#endif
