/* SPDX-License-Identifier: MIT */
/* qimg-io: opening, closing and reopening the image. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blockdev/include/create.h"
#include "qimg/io.h"
#include "qimg/report.h"

/* What is in @name, as far as can be told.  "raw" if it does not open: the next one says why. */
static const char *probe(struct io_state *io, const char *name)
{
	struct bd_open_args args = {.filename = name, .flags = BD_O_NO_IO | BD_O_NO_BACKING};
	struct bd_node *node;
	const char *format = "raw";

	if (bd_open(io->queue, &args, &node, NULL) < 0)
		return format;
	if (!strcmp(bd_format_name(node), "qcow2"))
		format = "qcow2";
	else if (!strcmp(bd_format_name(node), "luks"))
		format = "luks";
	bd_close(node);
	return format;
}

/* A temporary overlay over @name, for -s. */
static int make_overlay(struct io_state *io, const char *name, struct bd_error *err)
{
	const char *format = io->how.format ? io->how.format : probe(io, name);
	char path[4096];
	int ret = bd_overlay_temporary(io->queue, &(struct bd_overlay){ name, format, false, 0 },
				       path, sizeof(path), err);

	if (ret == 0)
		io->overlay = strdup(path);
	return ret;
}

static int fill(struct bd_opts *opts, const char *name, const char *options,
		const struct io_open *how, struct bd_error *err)
{
	int ret = 0;

	if (options)
		ret = bd_opts_parse(opts, options, NULL, err);
	if (ret == 0 && how->image_opts && name && !how->again)
		report_short_forms(name, false);
	if (ret == 0 && how->image_opts && name)
		ret = bd_opts_parse(opts, name, "", err);
	return ret;
}

/* "driver=copy-on-read,file.X": the image is X, and what is read is kept in it. */
static int take_filter(struct bd_opts **opts, struct io_open *how, struct bd_error *err)
{
	const char *driver = bd_opts_get(*opts, "driver");
	struct bd_opts *below;

	if (driver && !strcmp(driver, "copy-on-read")) {
		below = bd_opts_new();
		if (!below)
			return -ENOMEM;
		bd_opts_take_prefix(*opts, "file.", below);
		bd_opts_free(*opts);
		*opts = below;
		how->copy_on_read = true;
	} else if (how->copy_on_read && !(how->flags & BD_O_RDWR)) {
		return bd_fail(err, -EINVAL, "Can't use copy-on-read on read-only device");
	}
	return 0;
}

int io_open_image(struct io_state *io, const char *name, const char *options,
		  const struct io_open *how)
{
	struct bd_open_args args = {.format = how->format, .flags = how->flags};
	struct bd_opts *opts = bd_opts_new();
	struct bd_error err = {0};
	int ret = opts ? fill(opts, name, options, how, &err) : -ENOMEM;

	io->how = *how;
	if (ret == 0)
		ret = take_filter(&opts, &io->how, &err);
	if (ret == 0 && how->snapshot && name) {
		ret = make_overlay(io, name, &err);
		args.format = "qcow2";
	}
	args.filename = how->image_opts ? NULL : io->overlay ? io->overlay : name;
	args.opts = opts;
	if (ret == 0)
		ret = bd_open(io->queue, &args, &io->node, &err);
	bd_opts_free(opts);
	if (ret < 0) {
		if (how->image_opts)
			name = NULL;
		if (how->again)
			report_failure(&err, "%s", "");
		else
			report_failure(&err, "can't open%s%s: ", name ? " device " : "",
				       name ? name : "");
		return ret;
	}
	free(io->name);
	free(io->options);
	io->name = name ? strdup(name) : NULL;
	io->options = options ? strdup(options) : NULL;
	return 0;
}

int io_close_image(struct io_state *io)
{
	int ret = 0;

	if (!io->node)
		return 0;
	io_aio_drain(io);
	ret = bd_close(io->node);
	io->node = NULL;
	if (io->overlay)
		unlink(io->overlay);
	free(io->overlay);
	io->overlay = NULL;
	return ret;
}
