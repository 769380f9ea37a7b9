/* SPDX-License-Identifier: MIT */
/* Rebase: copy what the old and the new backing file differ in, then change the name. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/base/cleanup.h"
#include "blockdev/core/chain.h"
#include "blockdev/core/format.h"
#include "blockdev/core/open.h"
#include "blockdev/include/chain.h"

enum { PIECE = 2 << 20, SECTOR = 512 };

struct rebase {
	const struct bd_rebase_args *args;
	struct bd_node *old, *new;   /* NULL: none */
	bool in_chain;               /* @new is a layer of the old chain */
	uint64_t shown;              /* in_chain: layers above @new reach this far */
	uint8_t *old_buf, *new_buf;  /* PIECE bytes each */
};

static bool has_name(const struct bd_rebase_args *args)
{
	return args->backing && *args->backing;
}

static int open_new(struct rebase *rb, struct bd_error *err)
{
	const struct bd_rebase_args *args = rb->args;
	__cleanup(free) char *full = NULL;
	struct bd_open_args open = { .format = args->format, .flags = args->flags };
	int ret;

	ret = bd_backing_resolve(args->node->file, args->backing, &full, err);
	if (ret < 0) {
		bd_prefix(err, "Could not resolve backing filename: ");
		return ret;
	}
	rb->new = bd_chain_find(args->node, full);
	rb->in_chain = rb->new != NULL;
	rb->shown = UINT64_MAX;
	for (struct bd_node *node = rb->old; rb->in_chain && node != rb->new; node = node->backing)
		rb->shown = min_u64(rb->shown, node->size);
	if (rb->in_chain)
		return 0;
	open.filename = full;
	ret = bd_open(args->node->queue, &open, &rb->new, err);
	if (ret < 0)
		bd_prefix(err, "Could not open new backing file '%s': ", args->backing);
	return ret;
}

/* @len bytes of a backing file; zeros behind its end, and if there is none. */
static int read_layer(struct bd_node *node, uint64_t off, uint8_t *buf, uint64_t len,
		      const char *which, struct bd_error *err)
{
	uint64_t there = node && off < node->size ? min_u64(len, node->size - off) : 0;
	int ret = there ? bd_pread(node, off, buf, there) : 0;

	memset(buf + there, 0, len - there);
	return ret < 0 ? bd_fail(err, ret, "error while reading from %s backing file", which) : 0;
}

/*
 * Does a chain read as zeros at @off?  *len is cut to where that is the same.  -EIO: its file ends
 * before that place.
 */
static int zero_there(struct bd_node *node, uint64_t off, uint64_t *len)
{
	struct bd_extent ext;

	if (!node || off >= node->size)
		return 1;
	*len = min_u64(*len, node->size - off);
	if (bd_map(node, off, *len, &ext, 1) < 1)
		return 0;
	*len = min_u64(*len, ext.len);
	if (ext.flags & BD_EXTENT_CUT)
		return -EIO;
	return ext.kind <= BD_ZERO || ext.flags & BD_EXTENT_SPARSE;
}

/* Length of the first run of alike sectors; *differ: they are not the same in both. */
static uint64_t next_run(const uint8_t *a, const uint8_t *b, uint64_t len, bool *differ)
{
	uint64_t at = 0;

	while (at < len) {
		uint64_t part = min_u64(len - at, SECTOR);
		bool this_one = memcmp(a + at, b + at, part) != 0;

		if (!at)
			*differ = this_one;
		if (this_one != *differ)
			break;
		at += part;
	}
	return at;
}

/* Zeros of our own; where the format only drops what is there, written out (@zeros: @len bytes). */
static int write_zeros(struct rebase *rb, uint64_t off, const uint8_t *zeros, uint64_t len)
{
	struct bd_node *node = rb->args->node;
	struct bd_extent ext;
	int ret = bd_pwrite_zeroes(node, off, len, 0);

	if (ret < 0)
		return ret;
	ret = bd_map_above(node, rb->old, off, len, &ext, 1);
	if (ret < 0)
		return ret;
	return ext.kind == BD_UNALLOCATED ? bd_pwrite(node, off, zeros, len) : 0;
}

/*
 * Write a whole cluster of the old contents compressed, if the layers differ.  1: done; 0: what is
 * at @off is no whole cluster.
 */
static int copy_compressed(struct rebase *rb, uint64_t off, uint64_t at, uint64_t len,
			   struct bd_error *err)
{
	struct bd_node *node = rb->args->node;
	uint64_t cluster = node->cluster_size, part = min_u64(cluster, node->size - off);
	int ret;

	if (!rb->args->compress || !cluster || off % cluster || part > len - at ||
	    !rb->old || off + part > rb->old->size)
		return 0;
	if (!memcmp(rb->old_buf + at, rb->new_buf + at, part))
		return 1;
	ret = bd_pwrite_compressed(node, off, rb->old_buf + at, part);
	return ret < 0 ? bd_fail_errno(err, ret, "Error while writing to COW image") : 1;
}

/* Copy what differs in [off, +len), which the image itself leaves out. */
static int copy_piece(struct rebase *rb, uint64_t off, uint64_t len, struct bd_error *err)
{
	struct bd_node *node = rb->args->node;
	int ret = read_layer(rb->old, off, rb->old_buf, len, "old", err);

	if (ret == 0)
		ret = read_layer(rb->new, off, rb->new_buf, len, "new", err);
	for (uint64_t at = 0; ret == 0 && at < len;) {
		bool differ;
		uint64_t run = next_run(rb->old_buf + at, rb->new_buf + at, len - at, &differ);
		bool zero = !rb->old || off + at >= rb->old->size;

		ret = copy_compressed(rb, off + at, at, len, err);
		if (ret) {
			at += min_u64(node->cluster_size, node->size - off - at);
			ret = ret < 0 ? ret : 0;
			continue;
		}
		if (rb->args->compress && node->cluster_size)
			run = min_u64(run, node->cluster_size - (off + at) % node->cluster_size);
		if (differ && !zero && off + at + run > rb->old->size)
			run = rb->old->size - off - at;
		if (differ && zero)
			ret = write_zeros(rb, off + at, rb->old_buf + at, run);
		else if (differ)
			ret = bd_pwrite(node, off + at, rb->old_buf + at, run);
		at += run;
		if (ret < 0)
			bd_fail_errno(err, ret, "Error while writing to COW image");
	}
	return ret;
}

/* Does the image leave out [off, +*len)?  *len is cut to where the answer holds. */
static int left_out(struct rebase *rb, uint64_t off, uint64_t *len, struct bd_error *err)
{
	struct bd_extent ext;
	int ret = bd_map_above(rb->args->node, rb->old, off, *len, &ext, 1);

	if (ret < 0)
		return bd_fail_errno(err, ret, "error while reading image metadata");
	*len = min_u64(*len, ext.len);
	if (ext.kind != BD_UNALLOCATED)
		return 0;
	if (rb->in_chain && rb->new == rb->old)
		return 0;
	if (!rb->in_chain || off >= rb->shown)
		return 1;
	*len = min_u64(*len, rb->shown - off);
	ret = bd_map_above(rb->old, rb->new, off, *len, &ext, 1);
	if (ret < 0)
		return bd_fail_errno(err, ret, "error while reading image metadata");
	*len = min_u64(*len, ext.len);
	if (ext.flags & BD_EXTENT_CUT)
		return bd_fail_errno(err, -EIO, "error while reading from old backing file");
	return ext.kind != BD_UNALLOCATED;
}

/* Copy what differs of [off, +len); where both read as zeros nothing need be read. */
static int copy_range(struct rebase *rb, uint64_t off, uint64_t len, struct bd_error *err)
{
	uint64_t end = off + len;
	int ret = 0;

	while (off < end && ret >= 0) {
		uint64_t part = end - off;
		bool zeros;

		ret = zero_there(rb->old, off, &part);
		if (ret < 0)
			return bd_fail_errno(err, ret, "error while reading from old backing file");
		zeros = ret && zero_there(rb->new, off, &part) == 1;
		ret = zeros ? 0 : copy_piece(rb, off, part, err);
		off += part;
	}
	return ret;
}

static int copy_differences(struct rebase *rb, struct bd_error *err)
{
	const struct bd_rebase_args *args = rb->args;
	uint64_t size = args->node->size, off = 0, told = 0;

	while (off < size) {
		uint64_t len = min_u64(size - off, PIECE);
		int ret = left_out(rb, off, &len, err);
		bool copy = ret > 0;

		if (copy)
			ret = copy_range(rb, off, len, err);
		if (ret < 0)
			return ret;
		if (args->cancel && *args->cancel)
			return bd_fail_errno(err, -ECANCELED, "Rebase was stopped");
		off += len;
		/* As if each of them were a whole piece: so qemu-img counts. */
		told += copy ? min_u64(min_u64(PIECE, size), size - told) : 0;
		if (args->progress && copy)
			args->progress(told, size, args->user);
	}
	return 0;
}

/* Both chains stay as they are while the image gets what it would lose. */
static int make_safe(const struct bd_rebase_args *args, struct bd_error *err)
{
	struct rebase rb = { .args = args, .old = args->node->backing };
	int ret = has_name(args) ? open_new(&rb, err) : 0;

	if (ret == 0 && has_name(args) && !args->format)
		ret = bd_fail(err, -EINVAL, "Could not change the backing file to '%s': backing "
					    "format must be specified", args->backing);
	if (ret == 0 && (posix_memalign((void **)&rb.old_buf, 4096, PIECE) ||
			 posix_memalign((void **)&rb.new_buf, 4096, PIECE)))
		ret = bd_fail_errno(err, -ENOMEM, "Could not allocate buffers");
	if (ret == 0)
		ret = copy_differences(&rb, err);
	if (ret == 0) {
		ret = bd_sync(args->node);
		if (ret < 0)
			bd_fail_errno(err, ret, "Could not flush the image");
	}
	free(rb.old_buf);
	free(rb.new_buf);
	if (!rb.in_chain)
		bd_close(rb.new);
	return ret;
}

static int change_name(const struct bd_rebase_args *args, struct bd_error *err)
{
	const char *shown = args->backing ? args->backing : "(null)";
	const char *name = has_name(args) ? args->backing : NULL;
	struct bd_error why = {0};
	int ret;

	if (name && !args->format)
		return bd_fail(err, -EINVAL, "Could not change the backing file to '%s': backing "
					     "format must be specified", shown);
	if (!args->node->fmt->chain || !args->node->fmt->chain->set_backing)
		ret = -ENOTSUP;
	else
		ret = args->node->fmt->chain->set_backing(args->node, name,
							  name ? args->format : NULL, &why);
	if (ret == -ENOSPC)
		return bd_fail(err, ret, "Could not change the backing file to '%s': No space left "
					 "in the file header", shown);
	return ret < 0 ? bd_fail_errno(err, ret, "Could not change the backing file to '%s'",
				       shown) : 0;
}

int bd_rebase(const struct bd_rebase_args *args, struct bd_error *err)
{
	int ret;

	if (args->format && !bd_format_find(args->format))
		return bd_fail(err, -EINVAL, "Invalid format name: '%s'", args->format);
	if (!(args->node->flags & BD_O_RDWR))
		return bd_fail(err, -EACCES, "Image is read-only");
	ret = args->unsafe ? 0 : make_safe(args, err);
	return ret < 0 ? ret : change_name(args, err);
}
