/* SPDX-License-Identifier: MIT */
/* Processors: interrupts, other processors, the end. */
#include "guest.h"

enum {
	APIC = 0xfee00000, APIC_ID = 0x20, APIC_EOI = 0xb0, APIC_SPURIOUS = 0xf0,
	APIC_COMMAND = 0x300, APIC_TARGET = 0x310,
	INIT = 0x4500, STARTUP = 0x4600,
	TRAMPOLINE = 0x8000, STACK_BYTES = 16384,
};

/* A gate of the interrupt table. */
struct gate {
	uint16_t low, selector, flags, middle;
	uint32_t high, zero;
};

struct table {
	uint16_t limit;
	uint64_t base;
} __attribute__((packed));

volatile uint32_t interrupts[MAX_DISKS * MAX_QUEUES];
volatile uint32_t config_interrupts;
uint64_t cpu_stack;                      /* of the processor that is being started */
static struct gate gates[256];
static uint8_t stacks[MAX_CPUS][STACK_BYTES] __attribute__((aligned(16)));
static volatile uint32_t entered;
extern char interrupt_entries[], trampoline[], trampoline_end[];

static volatile uint32_t *apic(unsigned reg)
{
	return (volatile uint32_t *)(uintptr_t)(APIC + reg);
}

/* @idx: 0..15 the queues', 16 configuration, 17 spurious. */
void interrupt(uint64_t idx)
{
	if (idx < MAX_DISKS * MAX_QUEUES)
		interrupts[idx]++;
	else if (idx == 16)
		config_interrupts++;
	if (idx != 17)
		*apic(APIC_EOI) = 0;
}

void cpu_init(void)
{
	struct table table = { sizeof(gates) - 1, (uintptr_t)gates };

	for (unsigned i = 0; i < 18; i++) {
		uint64_t entry = (uintptr_t)interrupt_entries + 16 * i;

		gates[VECTOR + i] = (struct gate){
			.low = (uint16_t)entry, .selector = 0x10, .flags = 0x8e00,
			.middle = (uint16_t)(entry >> 16), .high = (uint32_t)(entry >> 32),
		};
	}
	__asm__ volatile("lidt %0" : : "m"(table));
	*apic(APIC_SPURIOUS) = 0x100 | (VECTOR + 17);
}

unsigned cpu_number(void)
{
	return *apic(APIC_ID) >> 24;
}

void cpu_wait(volatile uint32_t *seen, uint32_t old)
{
	__asm__ volatile("cli");
	/* "sti" takes effect behind the "hlt", so no interrupt falls between. */
	while (*seen == old)
		__asm__ volatile("sti; hlt; cli" : : : "memory");
	__asm__ volatile("sti");
}

void cpu_entered(void)
{
	cpu_init();
	entered++;
	work_loop(cpu_number());
}

void cpu_start(unsigned cpu)
{
	uint32_t before = entered;
	char *to = (char *)TRAMPOLINE;

	for (char *from = trampoline; from < trampoline_end;)
		*to++ = *from++;
	cpu_stack = (uintptr_t)stacks[cpu] + STACK_BYTES;
	*apic(APIC_TARGET) = cpu << 24;
	*apic(APIC_COMMAND) = INIT;
	for (unsigned i = 0; i < 1000; i++)
		inb(0x80);
	*apic(APIC_TARGET) = cpu << 24;
	*apic(APIC_COMMAND) = STARTUP | TRAMPOLINE >> 12;
	while (entered == before)
		__asm__ volatile("pause");
}

void cpu_exit(uint8_t code)
{
	outb(0xf4, code);
	for (;;)
		__asm__ volatile("cli; hlt");
}

void cpu_triple_fault(void)
{
	struct table none = {0};

	__asm__ volatile("lidt %0; ud2" : : "m"(none));
	__builtin_unreachable();
}
