/* SPDX-License-Identifier: MIT */
/* The script: what each operation does, and whether the device did it. */
#include <asm/bootparam.h>
#include <linux/virtio_blk.h>
#include <linux/virtio_config.h>

#include "guest.h"

enum { WORDS = SECTOR / 8 };

/* Work for another processor: operations [from, from + nr). */
static struct work {
	const struct op *volatile from;
	uint32_t nr;
} works[MAX_CPUS];

static const struct op *first_op, *end_op;

/* All words of a sector are the same, so that filling and comparing are single instructions. */
static uint64_t pattern(uint64_t seed, uint64_t sector)
{
	return ((seed << 40) ^ sector) * 0x9e3779b97f4a7c15;
}

/* --- requests ---------------------------------------------------------------------------- */

static uint32_t type_of(uint8_t code)
{
	switch (code) {
	case OP_WRITE: return VIRTIO_BLK_T_OUT;
	case OP_FLUSH: return VIRTIO_BLK_T_FLUSH;
	case OP_DISCARD: return VIRTIO_BLK_T_DISCARD;
	case OP_ZEROES: return VIRTIO_BLK_T_WRITE_ZEROES;
	case OP_ID: return VIRTIO_BLK_T_GET_ID;
	default: return VIRTIO_BLK_T_IN;
	}
}

/* Fill in what the device will read; returns the bytes of data. */
static uint32_t prepare(const struct op *op, void *data)
{
	struct virtio_blk_discard_write_zeroes *range = data;

	switch (op->code) {
	case OP_WRITE:
		for (uint32_t i = 0; i < op->count; i++)
			fill((char *)data + i * SECTOR, pattern(op->seed, op->sector + i), WORDS);
		return op->count * SECTOR;
	case OP_DISCARD:
	case OP_ZEROES:
		range->sector = op->sector;
		range->num_sectors = op->count;
		range->flags = op->flags & F_UNMAP;
		return sizeof(*range);
	case OP_FLUSH:
		return 0;
	case OP_ID:
		return VIRTIO_BLK_ID_BYTES;
	default:
		fill(data, 0x5555555555555555, op->count * WORDS);
		return op->count * SECTOR;
	}
}

static void start(const struct op *op, unsigned slot)
{
	uint32_t len;

	if (op->code == OP_RAW) {
		disk_put_raw(op, (const struct op_desc *)(op + 1), slot);
		return;
	}
	if (op->count * (uint64_t)SECTOR > SLOT_BYTES && type_of(op->code) <= VIRTIO_BLK_T_OUT)
		fail("request too large", op->count);
	len = prepare(op, slot_data(op->disk, op->queue, slot));
	disk_put(op, slot, type_of(op->code), type_of(op->code) != VIRTIO_BLK_T_IN &&
						       op->code != OP_ID, len);
}

static void print_sum(const uint32_t *words, size_t nr)
{
	static uint32_t sum;

	for (size_t i = 0; i < nr; i++)
		sum += words[i];
	print("sum ");
	print_number(sum);
	print("\n");
}

static void print_ext4(const uint8_t *block)
{
	char label[17] = {0};

	if (*(const uint16_t *)(block + 0x38) != 0xef53) {
		print("no ext4 file system\n");
		return;
	}
	for (int i = 0; i < 16; i++)
		label[i] = (char)block[0x78 + i];
	print("label ");
	print(label);
	print("\nfree blocks ");
	print_number(*(const uint32_t *)(block + 0x0c) |
		     (uint64_t)*(const uint32_t *)(block + 0x158) << 32);
	print("\n");
}

static void check(const struct op *op, unsigned slot)
{
	uint8_t status = slot_status(op->disk, op->queue, slot);
	uint8_t want = op->flags & F_FAILS ? VIRTIO_BLK_S_IOERR :
		       op->flags & F_UNSUPP ? VIRTIO_BLK_S_UNSUPP : VIRTIO_BLK_S_OK;
	const char *data = slot_data(op->disk, op->queue, slot);

	if (op->code == OP_RAW) {
		print("raw: status ");
		print_hex(status);
		print(" length ");
		print_number(slot_length(op->disk, op->queue, slot));
		print("\n");
		return;
	}
	if (status != want)
		fail("status", status << 24 | op->code);
	if (status)
		return;
	for (uint32_t i = 0; i < op->count; i++) {
		uint64_t word = op->code == OP_VERIFY ? pattern(op->seed, op->sector + i) : 0;

		if ((op->code == OP_VERIFY || op->code == OP_ZERO_CHECK) &&
		    !all_words(data + i * SECTOR, word, WORDS))
			fail("contents of sector", op->sector + i);
	}
	if (op->code == OP_ID) {
		print("id ");
		print(data);
		print("\n");
	}
	if (op->code == OP_SUM)
		print_sum((const uint32_t *)data, op->count * (SECTOR / 4));
	if (op->code == OP_EXT4)
		print_ext4((const uint8_t *)data + 1024);
}

/* @nr requests with one kick per queue that has some. */
static void run_requests(const struct op *op, uint32_t nr)
{
	unsigned used[MAX_DISKS][MAX_QUEUES] = {{0}};
	unsigned slots[MAX_DISKS * MAX_QUEUES * SLOTS];

	for (uint32_t i = 0; i < nr; i++) {
		slots[i] = used[op[i].disk][op[i].queue]++;
		start(&op[i], slots[i]);
	}
	for (unsigned i = 0; i < MAX_DISKS * MAX_QUEUES; i++) {
		if (used[i / MAX_QUEUES][i % MAX_QUEUES])
			disk_kick(i / MAX_QUEUES, i % MAX_QUEUES);
	}
	for (unsigned i = 0; i < MAX_DISKS * MAX_QUEUES; i++) {
		unsigned wait = used[i / MAX_QUEUES][i % MAX_QUEUES];

		if (wait && !disk_wait(i / MAX_QUEUES, i % MAX_QUEUES, wait, op->flags & F_POLL)) {
			print("the device needs a reset\n");
			return;
		}
	}
	for (uint32_t i = 0; i < nr; i++)
		check(&op[i], slots[i]);
}

/* --- other operations -------------------------------------------------------------------- */

static void join(void)
{
	for (unsigned i = 0; i < MAX_CPUS; i++) {
		while (works[i].from)
			__asm__ volatile("pause" : : : "memory");
	}
}

static void hand_over(const struct op *op)
{
	static bool started[MAX_CPUS];
	unsigned cpu = (unsigned)op->seed % MAX_CPUS;

	works[cpu].nr = op->count;
	__asm__ volatile("" : : : "memory");
	works[cpu].from = op + 1;
	if (!started[cpu])
		cpu_start(cpu);
	started[cpu] = true;
}

static void print_config(unsigned disk)
{
	print("capacity ");
	print_number(disk_sectors(disk));
	print(" features ");
	print_hex(disk_features(disk));
	print("\n");
}

static void print_pci(void)
{
	for (unsigned i = 0; i < 32; i++) {
		outl(0xcf8, 0x80000000u | i << 11);
		if (inl(0xcfc) != 0xffffffff) {
			print_hex(inl(0xcfc));
			print("\n");
		}
	}
}

static void reboot(uint64_t way)
{
	if (way == 2)
		cpu_triple_fault();
	if (way == 1)
		outb(0xcf9, 6);
	else
		outb(0x64, 0xfe);
	for (;;)
		__asm__ volatile("hlt");
}

static void wait_for_byte(void)
{
	while (!(inb(0x3fd) & 1))
		__asm__ volatile("pause");
	inb(0x3f8);
}

/* One operation; returns the one behind it. */
static const struct op *run_one(const struct op *op)
{
	switch (op->code) {
	case OP_CONFIG:
		print_config(op->disk);
		return op + 1;
	case OP_RESET:
		disk_start(op->disk, op->seed);
		return op + 1;
	case OP_PRINT:
		print((const char *)(op + 1));
		return op + 2;
	case OP_WAIT:
		wait_for_byte();
		return op + 1;
	case OP_BATCH:
		run_requests(op + 1, op->count);
		return op + 1 + op->count;
	case OP_CPU:
		hand_over(op);
		return op + 1 + op->count;
	case OP_JOIN:
		join();
		return op + 1;
	case OP_RAW:
		run_requests(op, 1);
		return op + 1 + op->count;
	case OP_PCI:
		print_pci();
		return op + 1;
	case OP_REBOOT:
		reboot(op->seed);
		return op + 1;
	case OP_POWEROFF:
		outb(0x600, 5 << 2 | 1 << 5);
		return op + 1;
	default:
		run_requests(op, 1);
		return op + 1;
	}
}

/* Until @end or OP_END; returns where. */
static const struct op *run(const struct op *op, const struct op *end)
{
	while (op < end && op->code != OP_END) {
		if (op->code != OP_REPEAT) {
			op = run_one(op);
			continue;
		}
		for (uint64_t i = 0; i < op->seed; i++)
			run(op - op->count, op);
		op++;
	}
	return op;
}

void work_loop(unsigned cpu)
{
	for (;;) {
		const struct op *from = works[cpu].from;

		if (from) {
			run(from, from + works[cpu].nr);
			works[cpu].from = NULL;
		}
		__asm__ volatile("pause" : : : "memory");
	}
}

/* Without a script: what is on the first disk. */
static void look_at_disk(void)
{
	struct op ext4 = { .code = OP_EXT4, .count = 8 };
	struct op sum = { .code = OP_SUM, .count = SLOT_BYTES / SECTOR };

	print_config(0);
	run_requests(&ext4, 1);
	for (; sum.sector < (1 << 20) / SECTOR; sum.sector += sum.count)
		run_requests(&sum, 1);
	cpu_exit(0);
}

void guest_main(const struct boot_params *params)
{
	unsigned nr = disks_find();

	cpu_init();
	__asm__ volatile("sti");
	for (unsigned i = 0; i < nr; i++)
		disk_start(i, 0);
	first_op = (const struct op *)(uintptr_t)params->hdr.ramdisk_image;
	end_op = first_op + params->hdr.ramdisk_size / sizeof(*first_op);
	if (!params->hdr.ramdisk_size)
		look_at_disk();
	if (*(const uint32_t *)first_op != 0x47544b56)
		fail("no script", *(const uint32_t *)first_op);
	first_op = run(first_op + 1, end_op);
	cpu_exit(first_op < end_op ? (uint8_t)first_op->seed : 0);
}
