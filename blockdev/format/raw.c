/* SPDX-License-Identifier: MIT */
/* The raw format: guest byte n is file byte n plus a fixed offset.  Also the smallest example. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/base/cleanup.h"
#include "blockdev/base/opts_take.h"
#include "blockdev/core/format.h"
#include "blockdev/core/open.h"
#include "blockdev/core/queue.h"

enum { SECTOR = 512 };

struct raw {
	uint64_t off;      /* file byte of guest byte 0 */
	bool fixed;        /* a size was given: no resize */
};

static int raw_probe(const uint8_t *head, size_t len)
{
	(void)head;
	(void)len;
	return 1; /* anything can be raw; everybody else knows better */
}

/* A part of a file has no plain name; @given: offset and size as they were given.  Like: QEMU. */
static int set_name(struct bd_node *node, struct bd_opts *given)
{
	if (bd_opts_set(given, "driver", "raw") < 0)
		return -ENOMEM;
	return bd_node_set_name(node, given, NULL, NULL);
}

/* Copies of the options that are about to be taken. */
static int keep(const struct bd_opts *opts, struct bd_opts *given)
{
	for (size_t i = 0; i < bd_opts_count(opts); i++) {
		const char *key = bd_opts_key(opts, i);
		int ret = 0;

		if (!strcmp(key, "offset") || !strcmp(key, "size"))
			ret = bd_opts_set_from(given, key, opts, i);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int raw_open(struct bd_node *node, struct bd_error *err)
{
	__cleanup(opts) struct bd_opts *given = bd_opts_new();
	struct raw *raw = node->state;
	int64_t length = io_length(node->file);
	uint64_t size = 0;
	bool has_off;
	int ret;

	if (length < 0)
		return bd_fail_errno(err, (int)length, "Could not get image size");
	if (length > INT64_MAX - SECTOR)
		return bd_fail(err, -EFBIG, "Image size is too large");
	if (!given || keep(node->opts, given) < 0)
		return bd_fail(err, -ENOMEM, "Out of memory");
	if ((ret = bd_opts_take_size(node->opts, "offset", &raw->off, &has_off, err)) < 0 ||
	    (ret = bd_opts_take_size(node->opts, "size", &size, &raw->fixed, err)) < 0)
		return ret;
	length = (int64_t)round_up((uint64_t)length, SECTOR);
	if (raw->off > (uint64_t)length)
		return bd_fail(err, -EINVAL, "Offset (%llu) cannot be greater than size of the "
			       "containing file (%lld)", (unsigned long long)raw->off,
			       (long long)length);
	if (raw->fixed && size % SECTOR)
		return bd_fail(err, -EINVAL, "Specified size is not multiple of %d", SECTOR);
	if (raw->fixed && size > (uint64_t)length - raw->off)
		return bd_fail(err, -EINVAL, "The sum of offset (%llu) and size (%llu) has to be "
			       "smaller or equal to the  actual size of the containing file "
			       "(%lld)", (unsigned long long)raw->off, (unsigned long long)size,
			       (long long)length);
	if ((has_off || raw->fixed) && set_name(node, given) < 0)
		return bd_fail(err, -ENOMEM, "Out of memory");
	node->size = raw->fixed ? size : round_up((uint64_t)length - raw->off, SECTOR);
	node->request_align = 1;
	node->zero_init = node->file->zero_init;
	return 0;
}

/* Holes cost a system call each, so a request in flight (@wait) just reads their zeros. */
static int raw_map(struct bd_node *node, uint64_t off, uint64_t len, struct bd_extent *ext,
		   unsigned max, struct bd_wait *wait)
{
	const struct raw *raw = node->state;
	unsigned nr = 0;

	while (len && nr < max) {
		uint64_t run = len;
		int hole = wait ? 0 : io_hole(node->data, off + raw->off, &run);

		if (hole < 0)
			return hole;
		ext[nr++] = (struct bd_extent){
			.guest_off = off,
			.len = run,
			.host_off = off + raw->off,
			.kind = hole ? BD_ZERO : BD_DATA,
			.flags = BD_EXTENT_HAS_OFFSET,
		};
		off += run;
		len -= run;
	}
	return (int)nr;
}

static int raw_plan(struct bd_node *node, struct bd_plan *plan, struct bd_wait *wait)
{
	const struct raw *raw = node->state;

	(void)wait;
	plan->host_off = plan->guest_off + raw->off;
	plan->head = plan->tail = 0;
	plan->publish = false;
	return 1;
}

static int raw_create(struct bd_queue *queue, const char *filename, struct bd_opts *opts,
		      struct bd_error *err)
{
	__cleanup(free) char *prealloc = bd_opts_take(opts, "preallocation");
	uint64_t size = 0;
	bool given;
	int ret = bd_opts_take_size(opts, "size", &size, &given, err);

	if (ret < 0)
		return ret;
	if (size > INT64_MAX - SECTOR)
		return bd_fail_errno(err, -EINVAL, "Could not resize file");
	return io_create(bd_queue_ctx(queue), filename, round_up(size, SECTOR),
			 prealloc ? prealloc : "off", opts, err);
}

static int raw_resize(struct bd_node *node, uint64_t size, const char *prealloc, bool shrink,
		      struct bd_error *err)
{
	const struct raw *raw = node->state;
	int ret;

	(void)shrink;
	if (raw->fixed)
		return bd_fail(err, -ENOTSUP, "Cannot resize fixed-size raw disks");
	if (size > INT64_MAX - SECTOR - raw->off)
		return bd_fail(err, -EINVAL, "Disk size too large for the chosen offset");
	ret = io_resize(node->file, size + raw->off, prealloc, err);
	if (ret == 0)
		node->size = round_up(size, SECTOR);
	return ret;
}

static int raw_measure(struct bd_opts *opts, struct bd_node *src, struct bd_measure *out,
		       struct bd_error *err)
{
	uint64_t size = 0;
	bool given;
	int ret = bd_opts_take_size(opts, "size", &size, &given, err);

	if (ret < 0)
		return ret;
	if (src)
		size = src->size;
	else if (size > INT64_MAX - SECTOR)
		return bd_fail(err, -EFBIG, "Image size is too large");
	out->required = out->fully_allocated = round_up(size, SECTOR);
	return 0;
}

static const struct bd_option raw_create_options[] = {
	{ "size", BD_OPT_SIZE, "Virtual disk size", NULL, BD_OPTION_CREATE },
	{0},
};

static const struct bd_create_ops raw_create_ops = {
	.options = raw_create_options,
	.create = raw_create,
	.resize = raw_resize,
	.measure = raw_measure,
};

/* No zero and discard hooks: the core sends those straight to the file. */
static const struct bd_write_ops raw_write_ops = {
	.plan = raw_plan,
};

const struct bd_format bd_format_raw = {
	.name = "raw",
	.state_size = sizeof(struct raw),
	.probe = raw_probe,
	.open = raw_open,
	.map = raw_map,
	.write = &raw_write_ops,
	.create = &raw_create_ops,
};
