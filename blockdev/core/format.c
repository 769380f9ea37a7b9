/* SPDX-License-Identifier: MIT */
/* Finding formats by name, and their names for people. */
#include "blockdev/core/format.h"

#include <string.h>

#include "blockdev/core/open.h"

const struct bd_format *bd_format_find(const char *name)
{
	for (size_t i = 0; bd_formats[i]; i++)
		if (!strcmp(bd_formats[i]->name, name))
			return bd_formats[i];
	return NULL;
}

bool bd_is_protocol(const char *name)
{
	for (size_t i = 0; io_drivers[i]; i++)
		if (!strcmp(io_drivers[i]->name, name))
			return true;
	return false;
}

static const char *nearer(const char *name, const char *after, const char *best)
{
	if (after && strcmp(name, after) <= 0)
		return best;
	return !best || strcmp(name, best) < 0 ? name : best;
}

const char *bd_format_next(const char *after)
{
	const char *best = NULL;

	for (size_t i = 0; bd_formats[i]; i++)
		best = nearer(bd_formats[i]->name, after, best);
	for (size_t i = 0; io_drivers[i]; i++)
		best = nearer(io_drivers[i]->name, after, best);
	return best;
}

bool bd_format_known(const char *name, bool *create)
{
	const struct bd_format *fmt = bd_format_find(name);

	if (create)
		*create = fmt && fmt->create && fmt->create->create;
	return fmt || bd_is_protocol(name);
}

const struct bd_option *bd_create_options(const char *format)
{
	const struct bd_format *fmt = bd_format_find(format);

	return fmt && fmt->create && fmt->create->create ? fmt->create->options : NULL;
}

/* What the file system of a new image's file may be asked for. */
const struct bd_option *bd_protocol_create_options(const char *filename)
{
	static const struct bd_option local[] = {
		{ "nocow", BD_OPT_BOOL, "Turn off copy-on-write (valid only on btrfs)", NULL,
		  BD_OPTION_CREATE },
		{ "preallocation", BD_OPT_STRING,
		  "Preallocation mode (allowed values: off, falloc, full)", NULL,
		  BD_OPTION_CREATE },
		{ "extent_size_hint", BD_OPT_SIZE,
		  "Extent size hint for the image file, 0 to disable", NULL, BD_OPTION_CREATE },
		{0},
	}, none[] = { {0} };

	if (io_name_has_protocol(filename) && strncmp(filename, "file:", 5))
		return none;
	return local;
}

const struct bd_format *bd_format_probe(const uint8_t *head, size_t len)
{
	const struct bd_format *fmt = NULL;
	int best = 0;

	for (size_t i = 0; bd_formats[i]; i++) {
		int score = bd_formats[i]->probe(head, len);

		if (score > best) {
			best = score;
			fmt = bd_formats[i];
		}
	}
	return fmt;
}
