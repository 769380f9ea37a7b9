/* SPDX-License-Identifier: MIT */
/* The device's side of a split virtqueue. */
#include "vkvm/virtio/virtqueue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The guest's memory is little endian, and so is every host that has KVM for x86. */
#define READ(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE(x, value) __atomic_store_n(&(x), value, __ATOMIC_RELAXED)

/* A descriptor where it lies: an indirect table may have any alignment. */
struct __attribute__((packed)) raw_desc {
	uint64_t addr;
	uint32_t len;
	uint16_t flags, next;
};

/* Each field is read exactly once. */
static struct vring_desc read_desc(const struct vring_desc *table, unsigned idx)
{
	const volatile struct raw_desc *at = (const volatile void *)((const char *)table +
								     idx * sizeof(*at));

	return (struct vring_desc){ at->addr, at->len, at->flags, at->next };
}

/* Written by the driver: the used index at which it wants the next interrupt. */
static uint16_t *used_event(const struct virtqueue *vq)
{
	return &vq->avail->ring[vq->size];
}

/* Written by the device: the avail index at which it wants the next kick. */
static uint16_t *avail_event(const struct virtqueue *vq)
{
	return (uint16_t *)&vq->used->ring[vq->size];
}

int virtqueue_start(struct virtqueue *vq, bool event_idx)
{
	uint16_t size = vq->size;

	if (!size || size > vq->max_size || (size & (size - 1)))
		return -EINVAL;
	if ((vq->desc_gpa & 15) || (vq->avail_gpa & 1) || (vq->used_gpa & 3))
		return -EINVAL;
	/* Both rings end with an event index, used or not. */
	vq->desc = memory_at(vq->mem, vq->desc_gpa, 16u * size);
	vq->avail = memory_at(vq->mem, vq->avail_gpa, 6u + 2u * size);
	vq->used = memory_at(vq->mem, vq->used_gpa, 6u + 8u * size);
	if (!vq->desc || !vq->avail || !vq->used)
		return -EINVAL;
	vq->last_avail = vq->used_idx = vq->published = 0;
	vq->in_flight = 0;
	memset(vq->busy, 0, sizeof(vq->busy));
	vq->event_idx = event_idx;
	vq->running = true;
	return 0;
}

void virtqueue_reset(struct virtqueue *vq)
{
	*vq = (struct virtqueue){
		.mem = vq->mem, .max_size = vq->max_size, .size = vq->max_size,
	};
}

/* --- chains ------------------------------------------------------------------------------ */

static int chain_add(const struct virtqueue *vq, struct vq_chain *chain,
		     const struct vring_desc *desc)
{
	bool in = desc->flags & VRING_DESC_F_WRITE;
	unsigned nr = chain->nr_out + chain->nr_in;
	struct iovec *more;

	if (!in && chain->nr_in) {
		chain->malformed = true;
		return 0;
	}
	if (!desc->len)
		return 0;
	if (nr == chain->room) {
		more = realloc(chain->iov, (nr * 2 + 8) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		chain->iov = more;
		chain->room = nr * 2 + 8;
	}
	chain->iov[nr].iov_base = memory_at(vq->mem, desc->addr, desc->len);
	chain->iov[nr].iov_len = desc->len;
	chain->unmapped |= !chain->iov[nr].iov_base;
	chain->nr_in += in;
	chain->nr_out += !in;
	*(in ? &chain->in_len : &chain->out_len) += desc->len;
	return 0;
}

/* A table of descriptors that are followed from @first. */
struct desc_table {
	const struct vring_desc *desc;
	unsigned nr;
	bool indirect;
};

/* An indirect table: its own length, no further nesting. */
static bool open_indirect(const struct virtqueue *vq, const struct vring_desc *desc,
			  struct desc_table *table)
{
	unsigned nr = desc->len / 16;

	if (table->indirect || (desc->flags & VRING_DESC_F_NEXT) || desc->len % 16 || !nr ||
	    nr > VQ_MAX_CHAIN)
		return false;
	*table = (struct desc_table){ memory_at(vq->mem, desc->addr, desc->len), nr, true };
	return table->desc;
}

static int follow(const struct virtqueue *vq, struct vq_chain *chain)
{
	struct desc_table table = { vq->desc, vq->size, false };
	unsigned idx = chain->head, count = 0;
	int ret;

	for (;;) {
		struct vring_desc desc;

		/* As many as the table has: a longer chain is a circle. */
		if (idx >= table.nr || count++ >= table.nr)
			break;
		desc = read_desc(table.desc, idx);
		if (desc.flags & VRING_DESC_F_INDIRECT) {
			if (!open_indirect(vq, &desc, &table))
				break;
			idx = count = 0;
			continue;
		}
		ret = chain_add(vq, chain, &desc);
		if (ret < 0)
			return ret;
		if (chain->malformed)
			return 0;
		if (!(desc.flags & VRING_DESC_F_NEXT))
			return 0;
		idx = desc.next;
	}
	chain->malformed = true;
	return 0;
}

int virtqueue_pop(struct virtqueue *vq, struct vq_chain *chain)
{
	uint16_t avail_idx = __atomic_load_n(&vq->avail->idx, __ATOMIC_ACQUIRE);
	uint16_t waiting = (uint16_t)(avail_idx - vq->last_avail), head;
	int ret;

	if (!waiting)
		return 0;
	if (waiting > vq->size)
		return -EPROTO;
	head = READ(vq->avail->ring[vq->last_avail % vq->size]);
	if (head >= vq->size || (vq->busy[head / 64] >> head % 64 & 1))
		return -EPROTO;
	chain->head = head;
	chain->nr_out = chain->nr_in = 0;
	chain->out_len = chain->in_len = 0;
	chain->malformed = chain->unmapped = false;
	ret = follow(vq, chain);
	if (ret < 0)
		return ret;
	vq->last_avail++;
	vq->busy[head / 64] |= 1ull << head % 64;
	vq->in_flight++;
	return 1;
}

void virtqueue_push(struct virtqueue *vq, uint16_t head, uint32_t written)
{
	struct vring_used_elem *elem = &vq->used->ring[vq->used_idx % vq->size];

	WRITE(elem->id, head);
	WRITE(elem->len, written);
	vq->used_idx++;
	vq->busy[head / 64] &= ~(1ull << head % 64);
	vq->in_flight--;
}

bool virtqueue_publish(struct virtqueue *vq)
{
	uint16_t old = vq->published, now = vq->used_idx, event;

	if (old == now)
		return false;
	__atomic_store_n(&vq->used->idx, now, __ATOMIC_RELEASE);
	vq->published = now;
	/* The driver first says when it wants an interrupt, then looks at the index. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!vq->event_idx)
		return !(READ(vq->avail->flags) & VRING_AVAIL_F_NO_INTERRUPT);
	event = READ(*used_event(vq));
	return (uint16_t)(now - event - 1) < (uint16_t)(now - old);
}

bool virtqueue_waiting(const struct virtqueue *vq)
{
	return READ(vq->avail->idx) != vq->last_avail;
}

bool virtqueue_want_kicks(struct virtqueue *vq, bool on)
{
	if (!vq->event_idx)
		WRITE(vq->used->flags, on ? 0 : VRING_USED_F_NO_NOTIFY);
	else /* the index it has just passed comes again after 2^16 chains only */
		WRITE(*avail_event(vq), (uint16_t)(vq->last_avail - !on));
	if (!on)
		return false;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return virtqueue_waiting(vq);
}

void vq_chain_clear(struct vq_chain *chain)
{
	free(chain->iov);
	*chain = (struct vq_chain){0};
}
