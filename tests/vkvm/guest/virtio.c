/* SPDX-License-Identifier: MIT */
/* A driver for virtio-blk over PCI. */
#include <linux/pci_regs.h>
#include <linux/virtio_blk.h>
#include <linux/virtio_config.h>
#include <linux/virtio_pci.h>
#include <linux/virtio_ring.h>

#include "guest.h"

struct queue {
	struct vring_desc desc[QUEUE_SIZE] __attribute__((aligned(4096)));
	struct {
		volatile uint16_t flags, idx, ring[QUEUE_SIZE], used_event;
	} avail __attribute__((aligned(4096)));
	struct {
		volatile uint16_t flags, idx;
		volatile struct vring_used_elem ring[QUEUE_SIZE];
		volatile uint16_t avail_event;
	} used __attribute__((aligned(4096)));
	/* what a slot's request has beside its data; a page each */
	struct slot {
		struct virtio_blk_outhdr header;
		uint8_t status, pad[15];
		uint32_t length, glued;  /* glued: 1 + offset of a status behind the data */
		uint8_t room[1024];
		struct vring_desc table[600];
	} slots[SLOTS] __attribute__((aligned(16384)));
	uint16_t next_desc, seen;
	uint8_t slot_of[QUEUE_SIZE];     /* by head */
};

struct disk {
	volatile struct virtio_pci_common_cfg *common;
	volatile uint8_t *config, *notify, *messages;
	uint32_t notify_step;
	uint64_t features;
	unsigned nr_queues;
};

static struct disk disks[MAX_DISKS];
static struct queue queues[MAX_DISKS][MAX_QUEUES];

#define barrier() __asm__ volatile("mfence" : : : "memory")

/* --- PCI --------------------------------------------------------------------------------- */

static uint32_t pci_read(unsigned slot, unsigned off)
{
	outl(0xcf8, 0x80000000u | slot << 11 | off);
	return inl(0xcfc);
}

static void pci_write(unsigned slot, unsigned off, uint32_t value)
{
	outl(0xcf8, 0x80000000u | slot << 11 | off);
	outl(0xcfc, value);
}

static volatile uint8_t *bar(unsigned slot, unsigned idx)
{
	return (volatile uint8_t *)(uintptr_t)(pci_read(slot, 0x10 + 4 * idx) & ~15u);
}

static void found_cap(struct disk *disk, unsigned slot, unsigned at)
{
	uint32_t head = pci_read(slot, at);
	volatile uint8_t *where = bar(slot, pci_read(slot, at + 4) & 0xff) +
				  pci_read(slot, at + 8);

	if ((head & 0xff) == PCI_CAP_ID_MSIX) {
		disk->messages = bar(slot, pci_read(slot, at + 4) & 7);
		pci_write(slot, at, head | (uint32_t)PCI_MSIX_FLAGS_ENABLE << 16);
	}
	if ((head & 0xff) != PCI_CAP_ID_VNDR)
		return;
	switch (head >> 24) {
	case VIRTIO_PCI_CAP_COMMON_CFG:
		disk->common = (volatile void *)where;
		break;
	case VIRTIO_PCI_CAP_DEVICE_CFG:
		disk->config = where;
		break;
	case VIRTIO_PCI_CAP_NOTIFY_CFG:
		disk->notify = where;
		disk->notify_step = pci_read(slot, at + 16);
		break;
	}
}

unsigned disks_find(void)
{
	unsigned nr = 0;

	for (unsigned slot = 0; slot < 32 && nr < MAX_DISKS; slot++) {
		if (pci_read(slot, 0) != 0x10421af4)
			continue;
		pci_write(slot, PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
		for (unsigned at = pci_read(slot, PCI_CAPABILITY_LIST) & 0xff; at;
		     at = pci_read(slot, at) >> 8 & 0xff)
			found_cap(&disks[nr], slot, at);
		nr++;
	}
	return nr;
}

/* --- device ------------------------------------------------------------------------------ */

static void set_message(struct disk *disk, unsigned entry, unsigned vector)
{
	volatile uint32_t *words = (volatile uint32_t *)(disk->messages + 16 * entry);

	words[0] = 0xfee00000;
	words[1] = 0;
	words[2] = vector;
	words[3] = 0;
}

static void start_queue(unsigned disk, unsigned idx)
{
	volatile struct virtio_pci_common_cfg *common = disks[disk].common;
	struct queue *queue = &queues[disk][idx];

	queue->next_desc = queue->seen = 0;
	queue->avail.idx = queue->avail.flags = queue->avail.used_event = 0;
	queue->used.idx = queue->used.flags = 0;
	set_message(&disks[disk], idx, VECTOR + disk * MAX_QUEUES + idx);
	common->queue_select = (uint16_t)idx;
	common->queue_size = QUEUE_SIZE;
	common->queue_msix_vector = (uint16_t)idx;
	if (common->queue_msix_vector != idx)
		fail("no vector for queue", idx);
	common->queue_desc_lo = (uint32_t)(uintptr_t)queue->desc;
	common->queue_avail_lo = (uint32_t)(uintptr_t)&queue->avail;
	common->queue_used_lo = (uint32_t)(uintptr_t)&queue->used;
	common->queue_enable = 1;
}

void disk_start(unsigned idx, uint64_t without)
{
	struct disk *disk = &disks[idx];
	volatile struct virtio_pci_common_cfg *common = disk->common;

	common->device_status = 0;
	while (common->device_status)
		;
	common->device_status = VIRTIO_CONFIG_S_ACKNOWLEDGE | VIRTIO_CONFIG_S_DRIVER;
	common->device_feature_select = 0;
	disk->features = common->device_feature;
	common->device_feature_select = 1;
	disk->features |= (uint64_t)common->device_feature << 32;
	disk->features &= ~without;
	common->guest_feature_select = 0;
	common->guest_feature = (uint32_t)disk->features;
	common->guest_feature_select = 1;
	common->guest_feature = (uint32_t)(disk->features >> 32);
	common->device_status |= VIRTIO_CONFIG_S_FEATURES_OK;
	if (!(common->device_status & VIRTIO_CONFIG_S_FEATURES_OK))
		fail("features were refused", disk->features);
	disk->nr_queues = common->num_queues < MAX_QUEUES ? common->num_queues : MAX_QUEUES;
	for (unsigned i = 0; i < disk->nr_queues; i++)
		start_queue(idx, i);
	set_message(disk, disk->nr_queues, VECTOR + 16);
	common->msix_config = (uint16_t)disk->nr_queues;
	common->device_status |= VIRTIO_CONFIG_S_DRIVER_OK;
}

uint64_t disk_sectors(unsigned disk)
{
	volatile uint32_t *words = (volatile uint32_t *)disks[disk].config;

	return words[0] | (uint64_t)words[1] << 32;
}

uint64_t disk_features(unsigned disk)
{
	return disks[disk].features;
}

/* --- requests ---------------------------------------------------------------------------- */

void *slot_data(unsigned disk, unsigned queue, unsigned slot)
{
	return (void *)(uintptr_t)(0x1000000 + ((disk * MAX_QUEUES + queue) * SLOTS + slot) *
					       (size_t)SLOT_BYTES);
}

/* A chain that is being written, in the ring or in a table. */
struct chain {
	struct vring_desc *at;
	unsigned nr, size, first, last;
};

static void add(struct chain *chain, const void *data, uint32_t len, bool in)
{
	unsigned idx = (chain->first + chain->nr++) % chain->size;

	chain->at[idx] = (struct vring_desc){
		(uintptr_t)data, len, (uint16_t)((in ? VRING_DESC_F_WRITE : 0) | VRING_DESC_F_NEXT),
		(uint16_t)((idx + 1) % chain->size) };
	chain->last = idx;
}

static void add_data(struct chain *chain, uint8_t *data, uint32_t len, bool in, unsigned layout)
{
	uint32_t part = len;

	if (layout == LAYOUT_SECTORS)
		part = SECTOR;
	else if (layout == LAYOUT_SPLIT || layout == LAYOUT_INDIRECT)
		part = len / 3 + 1;
	for (uint32_t done = 0; done < len; done += part)
		add(chain, data + done, len - done < part ? len - done : part, in);
}

static void offer(struct queue *queue, unsigned head, unsigned used, unsigned slot)
{
	queue->next_desc = (uint16_t)((queue->next_desc + used) % QUEUE_SIZE);
	queue->slot_of[head] = (uint8_t)slot;
	queue->avail.ring[queue->avail.idx % QUEUE_SIZE] = (uint16_t)head;
	barrier();
	queue->avail.idx++;
}

void disk_put(const struct op *op, unsigned slot_idx, uint32_t type, bool out, uint32_t len)
{
	struct queue *queue = &queues[op->disk][op->queue];
	struct slot *slot = &queue->slots[slot_idx];
	uint8_t *data = slot_data(op->disk, op->queue, slot_idx), *header = (void *)&slot->header;
	bool table = op->layout == LAYOUT_INDIRECT, glued = op->layout == LAYOUT_GLUED && !out;
	bool split = table || op->layout == LAYOUT_SPLIT;
	struct chain chain = { .at = table ? slot->table : queue->desc,
			       .size = table ? 600 : QUEUE_SIZE,
			       .first = table ? 0 : queue->next_desc };
	unsigned head = queue->next_desc;

	slot->header = (struct virtio_blk_outhdr){ .type = type, .sector = op->sector };
	slot->status = 0xee;
	add(&chain, header, split ? 5 : 16, false);
	if (split)
		add(&chain, header + 5, 11, false);
	if (len && !glued)
		add_data(&chain, data, len, !out, op->layout);
	if (glued) {
		data[len] = 0xee;
		add(&chain, data, len + 1, true);
	} else {
		add(&chain, &slot->status, 1, true);
	}
	chain.at[chain.last].flags &= (uint16_t)~VRING_DESC_F_NEXT;
	if (table)
		queue->desc[head] = (struct vring_desc){ (uintptr_t)slot->table, 16 * chain.nr,
							 VRING_DESC_F_INDIRECT, 0 };
	slot->glued = glued ? len + 1 : 0;
	offer(queue, head, table ? 1 : chain.nr, slot_idx);
}

void disk_put_raw(const struct op *op, const struct op_desc *descs, unsigned slot_idx)
{
	struct queue *queue = &queues[op->disk][op->queue];
	struct slot *slot = &queue->slots[slot_idx];
	unsigned head = queue->next_desc;

	slot->status = 0xee;
	slot->glued = 0;
	for (unsigned i = 0; i < op->count; i++) {
		bool relative = descs[i].flags & 0x8000;
		uint64_t base = (uintptr_t)slot->room;

		/* At 1008 lies the status byte of such a chain. */
		if (relative && descs[i].addr < sizeof(slot->room) - 8)
			*(uint64_t *)(slot->room + descs[i].addr) = descs[i].fill;
		if (relative && descs[i].addr >= 1 << 20)
			base = (uintptr_t)&slot->status - (1 << 20);
		queue->desc[(head + i) % QUEUE_SIZE] = (struct vring_desc){
			descs[i].addr + (relative ? base : 0), descs[i].len,
			descs[i].flags & 0x7fff,
			(uint16_t)((head + descs[i].next) % QUEUE_SIZE) };
	}
	offer(queue, head, op->count, slot_idx);
}

void disk_kick(unsigned disk, unsigned queue)
{
	struct queue *ring = &queues[disk][queue];

	/* Wake up when the last one is there. */
	ring->avail.used_event = (uint16_t)(ring->avail.idx - 1);
	barrier();
	*(volatile uint16_t *)(disks[disk].notify + queue * disks[disk].notify_step) =
		(uint16_t)queue;
}

bool disk_wait(unsigned disk, unsigned queue, unsigned nr, bool poll)
{
	struct queue *ring = &queues[disk][queue];
	volatile uint32_t *count = &interrupts[disk * MAX_QUEUES + queue];

	for (unsigned done = 0; done < nr;) {
		uint32_t before = *count;
		volatile struct vring_used_elem *elem = &ring->used.ring[ring->seen % QUEUE_SIZE];

		if (ring->used.idx != ring->seen) {
			struct slot *slot = &ring->slots[ring->slot_of[elem->id % QUEUE_SIZE]];

			slot->length = elem->len;
			ring->seen++;
			done++;
			continue;
		}
		if (disks[disk].common->device_status & VIRTIO_CONFIG_S_NEEDS_RESET)
			return false;
		/* Interrupts come to the first processor only. */
		if (!poll && !cpu_number() && ring->used.idx == ring->seen)
			cpu_wait(count, before);
	}
	return true;
}

uint8_t slot_status(unsigned disk, unsigned queue, unsigned slot)
{
	struct slot *at = &queues[disk][queue].slots[slot];

	if (at->glued)
		return ((uint8_t *)slot_data(disk, queue, slot))[at->glued - 1];
	return at->status;
}

uint32_t slot_length(unsigned disk, unsigned queue, unsigned slot)
{
	return queues[disk][queue].slots[slot].length;
}
