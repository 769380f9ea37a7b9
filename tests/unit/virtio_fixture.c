/* SPDX-License-Identifier: MIT */
/* A driver without a guest: see virtio_fixture.h. */
#include "tests/unit/virtio_fixture.h"

#include <string.h>
#include <sys/mman.h>

enum { GUARD = 1 << 16 };

struct memory memory;
static uint8_t *mapping;

void ram_set_up(void)
{
	mapping = mmap(NULL, RAM_SIZE + 2 * GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert(mapping != MAP_FAILED);
	ck_assert_int_eq(mprotect(mapping + GUARD, RAM_SIZE, PROT_READ | PROT_WRITE), 0);
	memory = (struct memory){0};
	ck_assert_int_eq(memory_add(&memory, RAM_BASE, mapping + GUARD, RAM_SIZE), 0);
}

void ram_tear_down(void)
{
	munmap(mapping, RAM_SIZE + 2 * GUARD);
}

void *ram(uint64_t gpa)
{
	ck_assert(gpa >= RAM_BASE && gpa < RAM_BASE + RAM_SIZE);
	return mapping + GUARD + (gpa - RAM_BASE);
}

struct vring_desc *driver_desc(uint16_t idx)
{
	return (struct vring_desc *)ram(DESC_GPA) + idx;
}

struct vring_avail *driver_avail(void)
{
	return ram(AVAIL_GPA);
}

struct vring_used *driver_used_ring(void)
{
	return ram(USED_GPA);
}

void driver_init(struct driver *driver, struct virtqueue *vq, uint16_t size)
{
	memset(ram(DESC_GPA), 0, DATA_GPA - DESC_GPA);
	*driver = (struct driver){ .size = size };
	vq->size = size;
	vq->desc_gpa = DESC_GPA;
	vq->avail_gpa = AVAIL_GPA;
	vq->used_gpa = USED_GPA;
}

uint16_t driver_chain(struct driver *driver, const struct part *parts, unsigned nr)
{
	uint16_t head = driver->next_desc;

	for (unsigned i = 0; i < nr; i++) {
		uint16_t next = (uint16_t)((driver->next_desc + 1) % driver->size);

		*driver_desc(driver->next_desc) = (struct vring_desc){
			.addr = parts[i].gpa, .len = parts[i].len,
			.flags = parts[i].flags | (i + 1 < nr ? VRING_DESC_F_NEXT : 0),
			.next = next,
		};
		driver->next_desc = next;
	}
	return head;
}

void driver_offer(struct driver *driver, uint16_t head)
{
	driver_avail()->ring[driver->avail_idx % driver->size] = head;
	driver_avail()->idx = ++driver->avail_idx;
}

bool driver_used(struct driver *driver, uint32_t *head, uint32_t *len)
{
	const struct vring_used *used = driver_used_ring();
	const struct vring_used_elem *elem = &used->ring[driver->seen_used % driver->size];

	if (used->idx == driver->seen_used)
		return false;
	*head = elem->id;
	*len = elem->len;
	driver->seen_used++;
	return true;
}
