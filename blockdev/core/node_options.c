/* SPDX-License-Identifier: MIT */
/* Options of a node that do not depend on its format, and typed values with QEMU's messages. */
#include <errno.h>
#include <string.h>

#include "blockdev/base/cleanup.h"
#include "blockdev/base/opts_take.h"
#include "blockdev/core/open.h"

int bd_cache_mode(const char *mode, unsigned *flags)
{
	static const struct { const char *name; unsigned flags; } modes[] = {
		{ "none", BD_O_DIRECT },
		{ "off", BD_O_DIRECT },
		{ "writeback", 0 },
		{ "writethrough", BD_O_WRITETHROUGH },
		{ "directsync", BD_O_DIRECT | BD_O_WRITETHROUGH },
		{ "unsafe", BD_O_NO_FLUSH },
	};

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(mode, modes[i].name))
			continue;
		*flags &= ~(unsigned)(BD_O_DIRECT | BD_O_WRITETHROUGH | BD_O_NO_FLUSH);
		*flags |= modes[i].flags;
		return 0;
	}
	return -EINVAL;
}

static int take_flag(struct bd_opts *opts, const char *key, unsigned flag, unsigned *flags,
		     struct bd_error *err)
{
	bool on = *flags & flag;
	int ret = bd_opts_take_bool(opts, key, &on, err);

	*flags = on ? *flags | flag : *flags & ~flag;
	return ret;
}

static int take_discard(struct bd_opts *opts, unsigned *flags, struct bd_error *err)
{
	__cleanup(free) char *discard = bd_opts_take(opts, "discard");
	__cleanup(free) char *zeroes = bd_opts_take(opts, "detect-zeroes");

	if (discard && (!strcmp(discard, "unmap") || !strcmp(discard, "on")))
		*flags |= BD_O_UNMAP;
	else if (discard && (!strcmp(discard, "ignore") || !strcmp(discard, "off")))
		*flags &= ~(unsigned)BD_O_UNMAP;
	else if (discard)
		return bd_fail(err, -EINVAL, "Invalid discard option");
	if (zeroes && strcmp(zeroes, "off") && strcmp(zeroes, "on") && strcmp(zeroes, "unmap"))
		return bd_fail(err, -EINVAL, "invalid parameter value: %s", zeroes);
	if (zeroes && !strcmp(zeroes, "unmap") && !(*flags & BD_O_UNMAP))
		return bd_fail(err, -EINVAL, "setting detect-zeroes to unmap is not allowed "
					     "without setting discard operation to unmap");
	if (zeroes && strcmp(zeroes, "off"))
		*flags |= BD_O_DETECT_ZEROES | (strcmp(zeroes, "unmap") ? 0 : BD_O_DETECT_UNMAP);
	return 0;
}

static int take_access(struct bd_opts *opts, struct bd_node_opts *out, struct bd_error *err)
{
	bool ignored = false;
	int ret;

	free(bd_opts_take(opts, "node-name"));
	if ((ret = bd_opts_take_bool(opts, "read-only", &out->read_only, err)) < 0 ||
	    (ret = bd_opts_take_bool(opts, "auto-read-only", &ignored, err)) < 0 ||
	    (ret = take_flag(opts, "force-share", BD_O_FORCE_SHARE, &out->flags, err)) < 0 ||
	    (ret = take_flag(opts, "cache.direct", BD_O_DIRECT, &out->flags, err)) < 0 ||
	    (ret = take_flag(opts, "cache.no-flush", BD_O_NO_FLUSH, &out->flags, err)) < 0 ||
	    (ret = take_discard(opts, &out->flags, err)) < 0)
		return ret;
	if (out->read_only && (out->flags & BD_O_RDWR))
		return bd_fail(err, -EPERM, "Block node is read-only");
	if ((out->flags & BD_O_FORCE_SHARE) && (out->flags & BD_O_RDWR))
		return bd_fail(err, -EINVAL,
			       "force-share=on can only be used with read-only images");
	return 0;
}

int bd_node_opts_take(struct bd_opts *opts, unsigned flags, struct bd_node_opts *out,
		      struct bd_error *err)
{
	*out = (struct bd_node_opts){ .flags = flags };
	out->driver = bd_opts_take(opts, "driver");
	out->backing_ref = bd_opts_take(opts, "backing");
	out->backing = bd_opts_new();
	if (!out->backing)
		return bd_fail(err, -ENOMEM, "Out of memory");
	bd_opts_take_prefix(opts, "backing.", out->backing);
	return take_access(opts, out, err);
}

void bd_node_opts_free(struct bd_node_opts *nopts)
{
	free(nopts->driver);
	free(nopts->backing_ref);
	bd_opts_free(nopts->backing);
	*nopts = (struct bd_node_opts){0};
}
