/* SPDX-License-Identifier: MIT */
/*
 * A guest without an operating system: it drives virtio-blk disks as a script says.
 *
 * 64-bit code with every address mapped at itself, started as an ELF kernel.  The script is the
 * initrd: "VKTG", 28 bytes unused, then operations.  Loops are few and short: the processor may be
 * an emulated one with two million instructions a second.
 */
#ifndef GUEST_H
#define GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	MAX_DISKS = 4, MAX_QUEUES = 4, QUEUE_SIZE = 64, MAX_CPUS = 4,
	SECTOR = 512,
	SLOTS = 16,                  /* requests at once on one queue */
	SLOT_BYTES = 1 << 18,        /* data of one of them */
	VECTOR = 0x40,               /* interrupt of disk 0, queue 0 */
};

/* --- script ------------------------------------------------------------------------------ */

enum op_code {
	OP_END,          /* exit with status @seed */
	OP_WRITE,        /* pattern @seed to @count sectors */
	OP_VERIFY,       /* read and compare with pattern @seed */
	OP_ZERO_CHECK,   /* read and compare with zeros */
	OP_FLUSH,
	OP_DISCARD,
	OP_ZEROES,       /* write zeroes; flag F_UNMAP */
	OP_ID,           /* print the serial number */
	OP_CONFIG,       /* print capacity and features */
	OP_RESET,        /* reset, and negotiate features but those in @seed */
	OP_SUM,          /* print the sum of the 32-bit words of @count sectors */
	OP_EXT4,         /* print label and free blocks of the ext4 file system at 0 */
	OP_PRINT,        /* the text that follows in one operation */
	OP_WAIT,         /* until a byte comes in on COM1 */
	OP_BATCH,        /* the next @count operations with one kick */
	OP_CPU,          /* the next @count operations on processor @seed, meanwhile go on */
	OP_JOIN,         /* wait for all other processors */
	OP_RAW,          /* a chain of @count descriptors, which follow; see struct op_desc */
	OP_PCI,          /* print the functions of the bus */
	OP_REBOOT,       /* by way of @seed: 0: keyboard controller, 1: 0xcf9, 2: triple fault */
	OP_POWEROFF,     /* through the ACPI sleep register at 0x600 */
	OP_REPEAT,       /* the @count operations before this one, @seed more times */
};

enum {
	F_UNMAP = 1,     /* write zeroes may unmap */
	F_FAILS = 2,     /* the device must answer with IOERR */
	F_UNSUPP = 4,    /* the device must answer with UNSUPP */
	F_POLL = 8,      /* do not wait for an interrupt */
};

/* How a request lies in descriptors. */
enum layout {
	LAYOUT_PLAIN,    /* header, data, status */
	LAYOUT_SPLIT,    /* header in two, data in three */
	LAYOUT_INDIRECT, /* as LAYOUT_SPLIT, in an indirect table */
	LAYOUT_SECTORS,  /* a descriptor for each sector */
	LAYOUT_GLUED,    /* status at the end of the data (reads) */
};

struct op {
	uint8_t code, disk, queue, flags;
	uint32_t count;
	uint64_t sector, seed;
	uint32_t layout, unused;
};

/* A descriptor of OP_RAW: the address as it is, or relative to the slot's page. */
struct op_desc {
	uint64_t addr;
	uint32_t len;
	uint16_t flags;              /* VRING_DESC_F_*; 0x8000: @addr is relative */
	uint16_t next;
	uint64_t fill;               /* written there first, if it is relative */
	uint64_t unused;
};

/* --- processor (cpu.c, start.S) ---------------------------------------------------------- */

static inline void outb(uint16_t port, uint8_t value)
{
	__asm__ volatile("outb %0, %1" : : "a"(value), "Nd"(port));
}

static inline uint8_t inb(uint16_t port)
{
	uint8_t value;

	__asm__ volatile("inb %1, %0" : "=a"(value) : "Nd"(port));
	return value;
}

static inline void outl(uint16_t port, uint32_t value)
{
	__asm__ volatile("outl %0, %1" : : "a"(value), "Nd"(port));
}

static inline uint32_t inl(uint16_t port)
{
	uint32_t value;

	__asm__ volatile("inl %1, %0" : "=a"(value) : "Nd"(port));
	return value;
}

/* Counts of interrupts by vector - VECTOR. */
extern volatile uint32_t interrupts[MAX_DISKS * MAX_QUEUES];
extern volatile uint32_t config_interrupts;

void cpu_init(void);                 /* interrupts on this processor */
unsigned cpu_number(void);
/* Start processor @cpu; it calls work_loop(). */
void cpu_start(unsigned cpu);
/* Sleep until an interrupt has come since *@seen was @old. */
void cpu_wait(volatile uint32_t *seen, uint32_t old);
/* End the machine with the status that debug exit makes of @code. */
void cpu_exit(uint8_t code) __attribute__((noreturn));
void cpu_triple_fault(void) __attribute__((noreturn));
void work_loop(unsigned cpu) __attribute__((noreturn));

/* --- text (text.c) ----------------------------------------------------------------------- */

void print(const char *text);
void print_hex(uint64_t value);
void print_number(uint64_t value);
/* Print "failed: " and the texts and number, and end with status 3. */
void fail(const char *what, uint64_t value) __attribute__((noreturn));

static inline void fill(void *at, uint64_t value, size_t words)
{
	__asm__ volatile("rep stosq" : "+D"(at), "+c"(words) : "a"(value) : "memory");
}

/* Are all 64-bit words the same? */
bool all_words(const void *at, uint64_t value, size_t words);

/* --- disks (virtio.c) -------------------------------------------------------------------- */

/* Find all virtio-blk functions, and get them ready with all features but @without. */
unsigned disks_find(void);
void disk_start(unsigned disk, uint64_t without);
uint64_t disk_sectors(unsigned disk);
uint64_t disk_features(unsigned disk);
/* Memory of a request's data, SLOT_BYTES. */
void *slot_data(unsigned disk, unsigned queue, unsigned slot);
/* Put a request into the ring, without a kick.  @out: the device reads the data. */
void disk_put(const struct op *op, unsigned slot, uint32_t type, bool out, uint32_t len);
void disk_put_raw(const struct op *op, const struct op_desc *descs, unsigned slot);
void disk_kick(unsigned disk, unsigned queue);
/* Wait until @nr requests of the queue have been answered; false: the device wants a reset. */
bool disk_wait(unsigned disk, unsigned queue, unsigned nr, bool poll);
/* Status byte of a slot's last request, and the length the device gave. */
uint8_t slot_status(unsigned disk, unsigned queue, unsigned slot);
uint32_t slot_length(unsigned disk, unsigned queue, unsigned slot);

#endif
