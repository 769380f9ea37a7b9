/* SPDX-License-Identifier: MIT */
/* The qcow2 format's entry in the table of formats. */
#include <string.h>

#include "blockdev/format/qcow2/amend.h"
#include "blockdev/format/qcow2/bitmap.h"
#include "blockdev/format/qcow2/chain.h"
#include "blockdev/format/qcow2/create.h"
#include "blockdev/format/qcow2/header.h"
#include "blockdev/format/qcow2/inspect.h"
#include "blockdev/format/qcow2/open.h"
#include "blockdev/format/qcow2/resize.h"
#include "blockdev/format/qcow2/snapshot.h"

/* Version 1 is claimed too: its images shall be refused by name, not read as raw. */
static int probe(const uint8_t *head, size_t len)
{
	struct qcow2_disk_header h;

	if (len < 8)
		return 0;
	memcpy(&h, head, 8);
	return be32_get(h.magic) == QCOW2_MAGIC && be32_get(h.version) >= 1 ? 100 : 0;
}

static const struct bd_create_ops create_ops = {
	.options = qcow2_create_options,
	.create = qcow2_create,
	.stream = qcow2_stream,
	.resize = qcow2_resize,
	.measure = qcow2_measure,
	.amend_options = qcow2_amend_options,
	.amend = qcow2_amend,
};

extern const struct bd_format bd_format_qcow2;
const struct bd_format bd_format_qcow2 = {
	.name = "qcow2",
	.caps = BD_CAP_BACKING | BD_CAP_COMPRESS | BD_CAP_BITMAPS | BD_CAP_METADATA,
	.state_size = sizeof(struct qcow2),
	.probe = probe,
	.open = qcow2_open,
	.close = qcow2_close,
	.map = qcow2_map,
	.holes_in_data = qcow2_holes_in_data,
	.check_packing = qcow2_check_packing,
	.same_packing = qcow2_same_packing,
	.inflate = qcow2_inflate,
	.deflate = qcow2_deflate,
	.write = &qcow2_write_ops,
	.create = &create_ops,
	.snapshot = &qcow2_snapshot_ops,
	.chain = &qcow2_chain_ops,
	.bitmap = &qcow2_bitmap_ops,
	.check = qcow2_check,
	.info = qcow2_info,
	.stats = qcow2_stats,
	.inspect = qcow2_inspect,
};
