/* SPDX-License-Identifier: MIT */
/* File names: absolute, with a protocol prefix, relative to another file. */
#include "blockdev/base/path.h"

#include <stdlib.h>
#include <string.h>

bool bd_path_has_protocol(const char *path)
{
	return path[strcspn(path, ":/")] == ':';
}

bool bd_path_is_absolute(const char *path)
{
	if (bd_path_has_protocol(path))
		path = strchr(path, ':') + 1;
	return *path == '/';
}

char *bd_path_combine(const char *base, const char *name)
{
	const char *start = base, *slash;
	size_t front, len;
	char *path;

	if (bd_path_is_absolute(name))
		return strdup(name);
	if (bd_path_has_protocol(base))
		start = strchr(base, ':') + 1;
	slash = strrchr(start, '/');
	front = (size_t)((slash ? slash + 1 : start) - base);
	len = strlen(name);
	path = malloc(front + len + 1);
	if (!path)
		return NULL;
	memcpy(path, base, front);
	memcpy(path + front, name, len + 1);
	return path;
}
