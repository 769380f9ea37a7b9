/* SPDX-License-Identifier: MIT */
/* Compressed clusters that go into the target as they are. */
#include <errno.h>
#include <stdlib.h>

#include "blockdev/base/zero.h"
#include "blockdev/core/copy.h"
#include "blockdev/core/format.h"
#include "blockdev/core/node.h"

bool bd_copy_passes(const struct copy_scan *scan, const struct bd_extent *ext, uint64_t off)
{
	const struct bd_node *dst = scan->args->dst;

	if (!scan->args->compress || !scan->args->pass_packed || ext->kind != BD_COMPRESSED ||
	    ext->flags & BD_EXTENT_CUT)
		return false;
	return ext->node->fmt == dst->fmt && dst->fmt->same_packing &&
	       dst->fmt->same_packing(ext->node, dst) && off % scan->cluster == 0 &&
	       ext->len == scan->cluster && ext->guest_off % scan->cluster == 0 &&
	       ext->host_len <= COPY_BUFFER &&
	       (scan->args->verify_packed || ext->host_len < scan->cluster);
}

static void end(struct copy_slot *slot, int res)
{
	/* A payload that fills its cluster cannot have been made by anybody. */
	if (res == 0 && slot->run.kind == COPY_PACKED && slot->packed_len >= slot->run.len)
		res = -EIO;
	if (res < 0 && !slot->res)
		slot->res = res;
	slot->reading--;
	slot->job->in_flight--;
}

/* On a worker: is the payload whole, how long is it, and is there anything in it? */
static void look(struct bd_work *work)
{
	struct copy_slot *slot = container_of(work, struct copy_slot, work);
	struct bd_node *layer = slot->run.layer;
	void *plain = malloc(slot->run.len);
	int used = -ENOMEM;

	if (plain)
		used = layer->fmt->inflate(layer, slot->buf, slot->run.host_len, plain,
					   slot->run.len);
	slot->looked = used;
	slot->all_zero = used >= 0 && bd_is_zero(plain, slot->run.len);
	free(plain);
}

static void looked(struct bd_work *work)
{
	struct copy_slot *slot = container_of(work, struct copy_slot, work);

	if (slot->all_zero && slot->job->args->sparse_size)
		slot->run.kind = COPY_ZERO;
	slot->packed_len = slot->looked > 0 ? (size_t)slot->looked : 0;
	end(slot, slot->looked < 0 ? slot->looked : 0);
}

static void payload_read(struct io_op *op)
{
	struct copy_slot *slot = op->user;

	slot->packed_len = slot->run.host_len;
	if (op->res < 0 || !slot->job->args->verify_packed) {
		end(slot, op->res < 0 ? op->res : 0);
		return;
	}
	slot->work.run = look;
	slot->work.done = looked;
	bd_work_submit(slot->job->queue, &slot->work);
}

void bd_copy_read_packed(struct copy_slot *slot)
{
	struct bd_node *layer = slot->run.layer;

	slot->iov = (struct iovec){slot->buf, slot->run.host_len};
	slot->op = (struct io_op){
		.kind = IO_READ, .file = layer->data, .off = slot->run.host_off,
		.len = slot->run.host_len, .iov = &slot->iov, .niov = 1, .done = payload_read,
		.user = slot,
	};
	slot->read_pos = slot->run.len;
	slot->reading++;
	slot->job->in_flight++;
	io_event(layer->file, "read_compressed");
	io_op_submit(&slot->op);
}
