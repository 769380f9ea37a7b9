#!/bin/bash
# SPDX-License-Identifier: MIT
# B016: a file system that answers SEEK_DATA without sense
. "$CASES/common.sh"
cat >seek.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>

off_t lseek64(int fd, off_t off, int whence)
{
	static off_t (*real)(int, off_t, int);

	if (!real)
		real = dlsym(RTLD_NEXT, "lseek64");
	return whence == SEEK_DATA ? 0 : real(fd, off, whence);
}

off_t lseek(int fd, off_t off, int whence)
{
	return lseek64(fd, off, whence);
}
C
${CC:-cc} -shared -fPIC -o seek.so seek.c -ldl 2>/dev/null || { echo "no compiler"; exit 77; }
printf x >s.raw
truncate -s 8M s.raw
rc timeout 20 env LD_PRELOAD="$PWD/seek.so" $Q convert -f raw -O raw s.raw o.raw
cmp s.raw o.raw && echo same
rc timeout 5 $Q info /dev/zero
#| rc=0
#| same
#| rc=0
