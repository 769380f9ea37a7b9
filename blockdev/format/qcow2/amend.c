/* SPDX-License-Identifier: MIT */
/* Amend: what is asked for, and in which order it is done.  Like: QEMU. */
#include "blockdev/format/qcow2/amend.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/format/qcow2/alloc.h"
#include "blockdev/format/qcow2/crypt.h"
#include "blockdev/format/qcow2/rewrite.h"

enum { AMEND = BD_OPTION_AMEND };

const struct bd_option qcow2_amend_options[] = {
	{ "encrypt.state", BD_OPT_STRING,
	  "Select new state of affected keyslots (active/inactive)", NULL, AMEND },
	{ "encrypt.keyslot", BD_OPT_NUMBER, "Select a single keyslot to modify explicitly", NULL,
	  AMEND },
	{ "encrypt.old-secret", BD_OPT_STRING, "Select all keyslots that match this password",
	  NULL, AMEND },
	{ "encrypt.new-secret", BD_OPT_STRING,
	  "New secret to set in the matching keyslots. Empty string to erase", NULL, AMEND },
	{ "encrypt.iter-time", BD_OPT_NUMBER, "Time to spend in PBKDF in milliseconds", NULL,
	  AMEND },
	{ "size", BD_OPT_SIZE, "Virtual disk size", NULL, AMEND },
	{ "compat", BD_OPT_STRING, "Compatibility level (v2 [0.10] or v3 [1.1])", NULL, AMEND },
	{ "backing_file", BD_OPT_STRING, "File name of a base image", NULL, AMEND },
	{ "backing_fmt", BD_OPT_STRING, "Image format of the base image", NULL, AMEND },
	{ "data_file", BD_OPT_STRING, "File name of an external data file", NULL, AMEND },
	{ "data_file_raw", BD_OPT_BOOL, "The external data file must stay valid as a raw image",
	  NULL, AMEND },
	{ "lazy_refcounts", BD_OPT_BOOL, "Postpone refcount updates", NULL, AMEND },
	{ "refcount_bits", BD_OPT_NUMBER, "Width of a reference count entry in bits", NULL,
	  AMEND },
	{ 0 },
};

/* The state that is wanted; starts as what there is. */
struct wanted {
	uint32_t version;
	unsigned refcount_order;
	bool lazy_refcounts, data_file_raw;
	const char *data_file;    /* NULL: as it is */

	uint64_t size;            /* 0: as it is */
};

static void get_bool(const struct bd_opts *opts, const char *key, bool *value)
{
	const char *text = bd_opts_get(opts, key);

	if (text)
		bd_parse_bool(text, value);
}

static int parse_version(const char *text, struct wanted *want, struct bd_error *err)
{
	if (!text)
		return 0;
	if (!strcmp(text, "0.10") || !strcmp(text, "v2"))
		want->version = 2;
	else if (!strcmp(text, "1.1") || !strcmp(text, "v3"))
		want->version = 3;
	else
		return bd_fail(err, -EINVAL, "Unknown compatibility level %s", text);
	return 0;
}

static int parse_width(const char *text, struct wanted *want, struct bd_error *err)
{
	uint64_t bits;

	if (!text)
		return 0;
	if (bd_parse_u64(text, &bits) < 0 || !is_pow2(bits) || bits > 64)
		return bd_fail(err, -EINVAL, "Refcount width must be a power of two and may not "
					     "exceed 64 bits");
	want->refcount_order = log2_floor(bits);
	return 0;
}

static int parse_data_file(const struct qcow2 *q, const struct bd_opts *opts, struct wanted *want,
			   struct bd_error *err)
{
	want->data_file = bd_opts_get(opts, "data_file");
	if (want->data_file && !(q->incompatible & QCOW2_INCOMPAT_DATA_FILE))
		return bd_fail(err, -EINVAL, "data-file can only be set for images that use an "
					     "external data file");
	want->data_file_raw = q->autoclear & QCOW2_AUTOCLEAR_RAW_DATA;
	get_bool(opts, "data_file_raw", &want->data_file_raw);
	if (want->data_file_raw && !(q->autoclear & QCOW2_AUTOCLEAR_RAW_DATA))
		return bd_fail(err, -EINVAL, "data-file-raw cannot be set on existing images");
	return 0;
}

static int parse_backing(const struct qcow2 *q, const struct bd_opts *opts, struct bd_error *err)
{
	const char *name = bd_opts_get(opts, "backing_file");
	const char *format = bd_opts_get(opts, "backing_fmt");
	const char *old_name = q->node->backing_name, *old_format = q->node->backing_format;

	if ((!name && !format) ||
	    (!strcmp(name ? name : "", old_name ? old_name : "") &&
	     !strcmp(format ? format : "", old_format ? old_format : "")))
		return 0;
	bd_fail(err, -EINVAL, "Cannot amend the backing file");
	bd_hint(err, "You can use 'qemu-img rebase' instead.");
	return -EINVAL;
}

static int parse(const struct qcow2 *q, const struct bd_opts *opts, struct wanted *want,
		 struct bd_error *err)
{
	const char *size = bd_opts_get(opts, "size");
	int ret;

	*want = (struct wanted){
		.version = q->version,
		.refcount_order = q->refcount_order,
		.lazy_refcounts = q->compatible & QCOW2_COMPAT_LAZY_REFCOUNTS,
	};
	if (qcow2_crypt_options(opts) && (ret = qcow2_crypt_can_amend(q, err)) < 0)
		return ret;
	if ((ret = parse_version(bd_opts_get(opts, "compat"), want, err)) < 0 ||
	    (ret = parse_width(bd_opts_get(opts, "refcount_bits"), want, err)) < 0 ||
	    (ret = parse_data_file(q, opts, want, err)) < 0)
		return ret;
	get_bool(opts, "lazy_refcounts", &want->lazy_refcounts);
	return size ? bd_parse_size(size, &want->size) : 0;
}

static int set_width(struct qcow2 *q, const struct wanted *want, struct bd_error *err)
{
	if (want->refcount_order == q->refcount_order)
		return 0;
	if (want->version < 3 && want->refcount_order != 4)
		return bd_fail(err, -EINVAL, "Refcount widths other than 16 bits require "
					     "compatibility level 1.1 or above (use compat=1.1 or "
					     "greater)");
	return qcow2_change_width(q, want->refcount_order, err);
}

static int set_data_file(struct qcow2 *q, const struct wanted *want, struct bd_error *err)
{
	char *name = NULL, *old = q->data_file_name;
	int ret;

	if (!want->data_file_raw)
		q->autoclear &= ~(uint64_t)QCOW2_AUTOCLEAR_RAW_DATA;
	if (want->data_file && *want->data_file) {
		name = strdup(want->data_file);
		if (!name)
			return bd_fail(err, -ENOMEM, "Out of memory");
	}
	if (want->data_file)
		q->data_file_name = name;
	ret = qcow2_header_write(q);
	if (ret == 0)
		ret = io_pflush(q->node->file);
	if (want->data_file)
		free(ret < 0 ? name : old);
	if (ret < 0)
		q->data_file_name = old;
	return ret < 0 ? bd_fail_errno(err, ret, "Could not write the image header") : 0;
}

static int set_lazy(struct qcow2 *q, const struct wanted *want, struct bd_error *err)
{
	uint64_t lazy = QCOW2_COMPAT_LAZY_REFCOUNTS;
	int ret;

	if (want->lazy_refcounts == !!(q->compatible & lazy))
		return 0;
	if (want->lazy_refcounts && want->version < 3)
		return bd_fail(err, -EINVAL, "Lazy refcounts only supported with compatibility "
					     "level 1.1 and above (use compat=1.1 or greater)");
	/* All is written back: what is on disk is consistent without the dirty mark. */
	ret = qcow2_flush_all(q);
	if (want->lazy_refcounts) {
		q->compatible |= lazy;
	} else {
		q->compatible &= ~lazy;
		q->incompatible &= ~(uint64_t)QCOW2_INCOMPAT_DIRTY;
		q->lazy_refcounts = false;
	}
	if (ret == 0)
		ret = qcow2_header_write(q);
	if (ret == 0)
		ret = io_pflush(q->node->file);
	return ret < 0 ? bd_fail_errno(err, ret, "Could not update the image header") : 0;
}

int qcow2_amend(struct bd_node *node, struct bd_opts *opts, const struct bd_amend_args *args,
		struct bd_error *err)
{
	struct qcow2 *q = qcow2_of(node);
	struct wanted want;
	int ret = parse(q, opts, &want, err);

	if (ret == 0)
		ret = qcow2_verb_begin(q, err);
	/* New features first, the step down last: between them the others can be removed. */
	if (ret == 0 && want.version > q->version)
		ret = qcow2_upgrade(q, args, err);
	if (ret == 0 && qcow2_crypt_options(opts))
		ret = qcow2_crypt_amend(q, opts, args->force, err);
	if (ret == 0)
		ret = set_width(q, &want, err);
	if (ret == 0 && (want.data_file || want.data_file_raw !=
			 !!(q->autoclear & QCOW2_AUTOCLEAR_RAW_DATA)))
		ret = set_data_file(q, &want, err);
	if (ret == 0)
		ret = parse_backing(q, opts, err);
	if (ret == 0)
		ret = set_lazy(q, &want, err);
	if (ret == 0 && want.size)
		ret = bd_resize(node, want.size, "off", true, err);
	if (ret == 0 && want.version < q->version)
		ret = qcow2_downgrade(q, args, err);
	return ret;
}
