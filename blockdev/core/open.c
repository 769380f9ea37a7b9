/* SPDX-License-Identifier: MIT */
/* Opening an image: names to options, file, probing, format, backing chain. */
#include "blockdev/core/open.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/base/cleanup.h"
#include "blockdev/core/queue.h"
#include "blockdev/core/report.h"



/* Copy what @from has and @to has not. */
static int merge(struct bd_opts *to, const struct bd_opts *from, const char *prefix)
{
	for (size_t i = 0; i < bd_opts_count(from); i++) {
		char key[512];
		int ret;

		if (snprintf(key, sizeof(key), "%s%s", prefix, bd_opts_key(from, i)) >=
		    (int)sizeof(key))
			return -EINVAL;
		if (bd_opts_get(to, key))
			continue;
		ret = bd_opts_set_from(to, key, from, i);
		if (ret < 0)
			return ret;
	}
	return 0;
}

int bd_opts_add_filename(struct bd_opts *opts, const char *filename, struct bd_error *err)
{
	bool json = !strncmp(filename, "json:", 5);
	__cleanup(opts) struct bd_opts *named = bd_opts_new();
	int ret;

	if (!named)
		return bd_fail(err, -ENOMEM, "Out of memory");
	if (json)
		ret = bd_opts_parse_json(named, filename + 5, err);
	else
		ret = io_name_to_opts(filename, named, err);
	if (ret < 0)
		return ret;
	ret = merge(opts, named, json ? "" : "file.");
	return ret < 0 ? bd_fail_errno(err, ret, "Could not use the name '%s'", filename) : 0;
}

/* A file named only by "filename" is a name as people write it. */
static int complete_file_opts(struct bd_opts *opts, struct bd_error *err)
{
	__cleanup(free) char *name = NULL;
	__cleanup(opts) struct bd_opts *named = NULL;
	int ret;

	if (bd_opts_get(opts, "driver"))
		return 0;
	name = bd_opts_take(opts, "filename");
	if (!name)
		return bd_fail(err, -EINVAL, "Must specify either driver or file");
	named = bd_opts_new();
	if (!named)
		return bd_fail(err, -ENOMEM, "Out of memory");
	ret = io_name_to_opts(name, named, err);
	if (ret < 0)
		return ret;
	ret = merge(opts, named, "");
	return ret < 0 ? bd_fail_errno(err, ret, "Could not use the name '%s'", name) : 0;
}

int bd_open_file(struct bd_queue *queue, struct bd_opts *opts, const char *driver,
		 unsigned flags, struct io_file **out, struct bd_error *err)
{
	__cleanup(opts) struct bd_opts *file_opts = bd_opts_new();
	__cleanup(free) char *ref = bd_opts_take(opts, "file");
	int ret;

	if (!file_opts)
		return bd_fail(err, -ENOMEM, "Out of memory");
	if (driver && bd_is_protocol(driver)) {
		bd_opts_take_prefix(opts, "", file_opts);
		ret = bd_opts_set(file_opts, "driver", driver);
		if (ret < 0)
			return bd_fail_errno(err, ret, "Could not open the file");
	} else if (ref) {
		return bd_fail(err, -ENODEV, "Cannot find device='%s' nor node-name='%s'", ref,
			       ref);
	} else if (!bd_opts_take_prefix(opts, "file.", file_opts)) {
		return bd_fail(err, -EINVAL, driver
			       ? "A block device must be specified for \"file\""
			       : "Must specify either driver or file");
	}
	ret = complete_file_opts(file_opts, err);
	if (ret < 0)
		return ret;
	return io_open(bd_queue_ctx(queue), file_opts, flags, out, err);
}

/* A file with metadata is the format's own: nobody else may write it, and it may grow. */
static unsigned file_flags(const struct bd_format *fmt, unsigned flags)
{
	if (fmt->caps & BD_CAP_METADATA) {
		flags |= BD_O_SHARE_NO_WRITE;
		if (flags & BD_O_RDWR)
			flags |= BD_O_RESIZE;
	}
	return flags;
}

static int probe(struct io_file *file, const struct bd_format **fmt, struct bd_error *err)
{
	uint8_t head[BD_PROBE_LEN];
	int64_t len = io_length(file);
	int ret;

	if (len < 0)
		return bd_fail_errno(err, (int)len,
				     "Could not read image for determining its format");
	len = (int64_t)min_u64((uint64_t)len, sizeof(head));
	ret = len ? io_pread(file, 0, head, (size_t)len) : 0;
	if (ret < 0)
		return bd_fail_errno(err, ret, "Could not read image for determining its format");
	*fmt = bd_format_probe(head, (size_t)len);
	return 0;
}

/* Keep what a guessed raw image begins with: see guard_head() in request.c. */
static int guard_guess(struct bd_node *node, struct bd_error *err)
{
	int64_t len = io_length(node->file);
	int ret;

	if (!node->probed || !(node->flags & BD_O_RDWR) || strcmp(node->fmt->name, "raw") ||
	    len <= 0)
		return 0;
	node->probe_head = calloc(1, BD_PROBE_LEN);
	if (!node->probe_head)
		return bd_fail(err, -ENOMEM, "Out of memory");
	ret = io_pread(node->file, 0, node->probe_head, min_u64((uint64_t)len, BD_PROBE_LEN));
	return ret < 0 ? bd_fail_errno(err, ret, "Could not read image") : 0;
}

static int choose_format(struct bd_node *node, struct bd_node_opts *nopts, struct bd_error *err)
{
	int ret = 0;

	node->protocol = nopts->driver && bd_is_protocol(nopts->driver);
	if (node->protocol) {
		node->fmt = bd_format_find("raw");
	} else if (nopts->driver) {
		node->fmt = bd_format_find(nopts->driver);
	} else {
		node->probed = true;
		ret = probe(node->file, &node->fmt, err);
		if (ret < 0)
			return ret;
		if (file_flags(node->fmt, node->flags) != node->flags)
			ret = io_reopen(node->file, file_flags(node->fmt, node->flags), err);
	}
	if (ret == 0 && bd_opts_count(nopts->backing) && !(node->fmt->caps & BD_CAP_BACKING))
		ret = bd_fail(err, -EINVAL,
			      "Block format '%s' does not support the option 'backing.%s'",
			      node->fmt->name, bd_opts_key(nopts->backing, 0));
	return ret;
}

static void warn_guessed_raw(const struct bd_node *node)
{
	if (!node->probed || !(node->flags & BD_O_RDWR) || strcmp(node->fmt->name, "raw"))
		return;
	bd_report("WARNING: Image format was not specified for '%s' and probing guessed raw.",
		  node->filename);
	bd_report("         Automatically detecting the format is dangerous for raw images, "
		  "write operations on block 0 will be restricted.");
	bd_report("         Specify the 'raw' format explicitly to remove the restrictions.");
}

/* Name and meaning of the next layer, known even when it is not opened. */
static void resolve_backing(struct bd_node *node)
{
	if (node->backing_name && !node->backing_full)
		bd_backing_resolve(node->file, node->backing_name, &node->backing_full, NULL);
}

static int check_leftover(const struct bd_node *node, struct bd_error *err)
{
	if (!bd_opts_count(node->opts))
		return 0;
	return bd_fail(err, -EINVAL, "Block format '%s' does not support the option '%s'",
		       node->fmt->name, bd_opts_key(node->opts, 0));
}

/* A file without a plain name gives none to what is in it.  NULL: out of memory. */
static char *name_above(const struct bd_node *node)
{
	const char *below = node->file->filename;
	char *name;

	if (node->protocol || strncmp(below, "json:", 5))
		return strdup(below);
	if (asprintf(&name, "json:{\"driver\": \"%s\", \"file\": %s}", node->fmt->name,
		     below + 5) < 0)
		return NULL;
	return name;
}

static int open_format(struct bd_node *node, struct bd_error *err)
{
	int ret;

	node->state = calloc(1, node->fmt->state_size ? node->fmt->state_size : 1);
	node->filename = name_above(node);
	if (!node->state || !node->filename)
		return bd_fail(err, -ENOMEM, "Out of memory");
	node->data = node->file;
	warn_guessed_raw(node);
	ret = guard_guess(node, err);
	if (ret == 0)
		ret = node->fmt->open(node, err);
	if (ret < 0)
		return ret;
	ret = check_leftover(node, err);
	if (ret < 0) {
		if (node->fmt->close)
			node->fmt->close(node);
		return ret;
	}
	bd_opts_free(node->opts);
	node->opts = NULL;
	resolve_backing(node);
	return 0;
}

static int check_driver(const char *driver, struct bd_error *err)
{
	if (driver && !bd_format_known(driver, NULL))
		return bd_fail(err, -ENOENT, "Unknown driver '%s'", driver);
	return 0;
}

int bd_open_layer(struct bd_queue *queue, struct bd_opts *opts, unsigned flags,
		  struct bd_node_opts *nopts, struct bd_node **out, struct bd_error *err)
{
	const struct bd_format *known;
	struct bd_node *node;
	int ret;

	*out = NULL;
	ret = bd_node_opts_take(opts, flags, nopts, err);
	if (ret < 0)
		return ret;
	ret = check_driver(nopts->driver, err);
	if (ret < 0)
		return ret;
	node = calloc(1, sizeof(*node));
	if (!node)
		return bd_fail(err, -ENOMEM, "Out of memory");
	bd_node_init_links(node);
	node->queue = queue;
	node->flags = flags = nopts->flags;
	known = nopts->driver ? bd_format_find(nopts->driver) : NULL;
	ret = bd_open_file(queue, opts, nopts->driver, known ? file_flags(known, flags) : flags,
			   &node->file, err);
	if (ret == 0)
		ret = choose_format(node, nopts, err);
	node->opts = ret == 0 ? bd_opts_copy(opts) : NULL;
	if (ret == 0 && !node->opts)
		ret = bd_fail(err, -ENOMEM, "Out of memory");
	if (ret == 0)
		ret = open_format(node, err);
	if (ret < 0)
		bd_node_free(node);
	else
		*out = node;
	return ret;
}

int bd_open(struct bd_queue *queue, const struct bd_open_args *args, struct bd_node **out,
	    struct bd_error *err)
{
	__cleanup(opts) struct bd_opts *opts = args->opts ? bd_opts_copy(args->opts)
							  : bd_opts_new();
	struct bd_node_opts nopts = {0};
	int ret;

	*out = NULL;
	if (!opts)
		return bd_fail(err, -ENOMEM, "Out of memory");
	if (args->format && bd_opts_set(opts, "driver", args->format) < 0)
		return bd_fail(err, -ENOMEM, "Out of memory");
	ret = args->filename ? bd_opts_add_filename(opts, args->filename, err) : 0;
	if (ret < 0)
		return ret;
	ret = bd_open_layer(queue, opts, args->flags, &nopts, out, err);
	if (ret == 0)
		ret = bd_open_chain(*out, &nopts, err);
	bd_node_opts_free(&nopts);
	if (ret < 0 && *out) {
		bd_close(*out);
		*out = NULL;
	}
	return ret;
}
