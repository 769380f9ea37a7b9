/* SPDX-License-Identifier: MIT */
/* Verbs of a layer: another backing name, no contents, writable after all. */
#include "blockdev/format/qcow2/chain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/format/qcow2/alloc.h"
#include "blockdev/format/qcow2/header.h"
#include "blockdev/format/qcow2/open.h"
#include "blockdev/format/qcow2/rewrite.h"

/* QEMU reads no longer format names. */
enum { FORMAT_NAME_MAX = 15 };

static int copy_text(const char *text, char **copy)
{
	*copy = text ? strdup(text) : NULL;
	return text && !*copy ? -ENOMEM : 0;
}

static int set_backing(struct bd_node *node, const char *name, const char *format,
		       struct bd_error *err)
{
	struct qcow2 *q = qcow2_of(node);
	char *old_name = node->backing_name, *old_format = node->backing_format;
	int ret = qcow2_verb_begin(q, err);

	if (ret < 0)
		return ret;
	if (name && strlen(name) > QCOW2_LIMIT_BACKING_NAME)
		return bd_fail(err, -EINVAL, "Backing file name too long");
	if (format && strlen(format) > FORMAT_NAME_MAX)
		return bd_fail(err, -EINVAL, "Backing format name too long");
	/* A raw data file alone would no longer tell what the disk holds. */
	if (name && q->autoclear & QCOW2_AUTOCLEAR_RAW_DATA)
		return bd_fail(err, -EINVAL, "A raw data file excludes a backing file");
	node->backing_name = node->backing_format = NULL;
	if ((ret = copy_text(name, &node->backing_name)) < 0 ||
	    (ret = copy_text(format, &node->backing_format)) < 0 ||
	    (ret = qcow2_header_write(q)) < 0 ||
	    (ret = io_pflush(node->file)) < 0) {
		free(node->backing_name);
		free(node->backing_format);
		node->backing_name = old_name;
		node->backing_format = old_format;
		return bd_fail_errno(err, ret, "Could not write the image header");
	}
	free(old_name);
	free(old_format);
	free(node->backing_full);
	node->backing_full = NULL;
	return 0;
}

static int make_writable(struct bd_node *node, struct bd_error *err)
{
	struct qcow2 *q = qcow2_of(node);

	if (q->incompatible & QCOW2_INCOMPAT_CORRUPT)
		return bd_fail(err, -EACCES, "qcow2: Image is corrupt; cannot be opened "
					     "read/write");
	q->discard_passthrough[QCOW2_FREE_REQUEST] |= (node->flags & BD_O_UNMAP) != 0;
	return qcow2_repair_dirty(q, err);
}

const struct bd_chain_ops qcow2_chain_ops = {
	.set_backing = set_backing,
	.make_empty = qcow2_make_empty,
	.make_writable = make_writable,
};
