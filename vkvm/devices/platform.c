/* SPDX-License-Identifier: MIT */
/* The small devices of a PC. */
#include "vkvm/devices/platform.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

/* --- clock and CMOS ---------------------------------------------------------------------- */

static uint8_t bcd(int value)
{
	return (uint8_t)(value / 10 % 10 << 4 | value % 10);
}

static uint8_t clock_field(uint8_t idx)
{
	time_t now = time(NULL);
	struct tm tm;

	gmtime_r(&now, &tm);
	switch (idx) {
	case 0x00: return bcd(tm.tm_sec);
	case 0x02: return bcd(tm.tm_min);
	case 0x04: return bcd(tm.tm_hour);
	case 0x06: return bcd(tm.tm_wday + 1);
	case 0x07: return bcd(tm.tm_mday);
	case 0x08: return bcd(tm.tm_mon + 1);
	case 0x09: return bcd(tm.tm_year % 100);
	default: return bcd((tm.tm_year + 1900) / 100); /* 0x32 */
	}
}

static uint8_t read_cmos(const struct platform *platform)
{
	uint8_t idx = platform->cmos_idx;

	if (idx == 0x32 || (idx <= 0x09 && idx != 0x01 && idx != 0x03 && idx != 0x05))
		return clock_field(idx);
	switch (idx) {
	case 0x0a: return 0x26;              /* 32 kHz, no update in progress */
	case 0x0b: return 0x02;              /* 24 hours, BCD */
	case 0x0c: return 0;                 /* no interrupts */
	case 0x0d: return 0x80;              /* the battery is good */
	default: return platform->cmos[idx];
	}
}

static void access_cmos(void *device, struct bus_access *access)
{
	struct platform *platform = device;

	if (access->off == 0) {
		if (access->write)
			platform->cmos_idx = access->value & 0x7f;
	} else if (access->write) {
		platform->cmos[platform->cmos_idx] = (uint8_t)access->value;
	} else {
		access->value = read_cmos(platform);
	}
}

static uint64_t part(uint64_t value, uint64_t from, uint64_t unit)
{
	return value > from ? (value - from) / unit : 0;
}

/* What a PC's firmware learns from here about memory, processors and the boot order. */
static void fill_cmos(struct platform *platform)
{
	const struct vm *vm = &platform->machine->vm;
	uint64_t low = vm_low_ram(vm), high = (vm->ram_size - low) >> 16;
	uint64_t extended = part(low, 1 << 20, 1024), above = part(low, 16 << 20, 65536);
	uint8_t *cmos = platform->cmos;

	if (extended > 0xffff)
		extended = 0xffff;
	memset(cmos, 0, sizeof(platform->cmos));
	cmos[0x15] = 640 & 0xff;
	cmos[0x16] = 640 >> 8;
	cmos[0x17] = cmos[0x30] = (uint8_t)extended;
	cmos[0x18] = cmos[0x31] = (uint8_t)(extended >> 8);
	cmos[0x34] = (uint8_t)above;
	cmos[0x35] = (uint8_t)(above >> 8);
	cmos[0x38] = 0x01;                   /* no check of a floppy's signature */
	cmos[0x3d] = 0x02;                   /* first the hard disk */
	cmos[0x5b] = (uint8_t)high;
	cmos[0x5c] = (uint8_t)(high >> 8);
	cmos[0x5d] = (uint8_t)(high >> 16);
	cmos[0x5f] = (uint8_t)(platform->machine->nr_cpus - 1);
}

/* --- keyboard controller ----------------------------------------------------------------- */

static void answer(struct platform *platform, uint8_t byte)
{
	if (platform->keyboard.nr_out < sizeof(platform->keyboard.out))
		platform->keyboard.out[platform->keyboard.nr_out++] = byte;
}

static uint8_t take_answer(struct platform *platform)
{
	uint8_t byte = platform->keyboard.out[0];

	if (!platform->keyboard.nr_out)
		return 0;
	memmove(platform->keyboard.out, platform->keyboard.out + 1, --platform->keyboard.nr_out);
	return byte;
}

static void controller_command(struct platform *platform, uint8_t command)
{
	switch (command) {
	case 0x20:
		answer(platform, platform->keyboard.mode);
		break;
	case 0xaa: /* self test: passed */
		answer(platform, 0x55);
		break;
	case 0xab: /* the keyboard's, the mouse's lines: fine */
	case 0xa9:
		answer(platform, 0);
		break;
	case 0x60:
	case 0xd1:
	case 0xd2:
	case 0xd3:
	case 0xd4: /* these have a data byte */
		platform->keyboard.command = command;
		break;
	case 0xfe:
		machine_raise(platform->machine, EVENT_RESET);
		break;
	}
}

/* A byte for the keyboard is acknowledged; nobody ever types on it. */
static void keyboard_data(struct platform *platform, uint8_t byte)
{
	uint8_t command = platform->keyboard.command;

	platform->keyboard.command = 0;
	if (command == 0x60) {
		platform->keyboard.mode = byte;
	} else if (command == 0xd1 && !(byte & 1)) {
		machine_raise(platform->machine, EVENT_RESET);
	} else if (!command) {
		answer(platform, 0xfa);
		if (byte == 0xff)
			answer(platform, 0xaa);
	}
}

static void access_keyboard(void *device, struct bus_access *access)
{
	struct platform *platform = device;

	if (access->off == 4 && access->write)
		controller_command(platform, (uint8_t)access->value);
	else if (access->off == 4)
		access->value = 0x1c | (platform->keyboard.nr_out != 0);
	else if (access->off == 0 && access->write)
		keyboard_data(platform, (uint8_t)access->value);
	else if (access->off == 0)
		access->value = take_answer(platform);
}

/* --- reset, log, debug exit -------------------------------------------------------------- */

static void access_boot_setting(void *device, struct bus_access *access)
{
	struct platform *platform = device;

	if (!access->write) {
		access->value = platform->boot_setting;
		return;
	}
	platform->boot_setting = (uint8_t)access->value & 0xfe;
	if (access->value & 1)
		machine_raise(platform->machine, EVENT_RESET);
}

static void access_log(void *device, struct bus_access *access)
{
	struct platform *platform = device;
	char byte = (char)access->value;

	if (!access->write)
		access->value = 0xe9; /* how the firmware finds out that somebody listens */
	else if (platform->log_fd >= 0 && write(platform->log_fd, &byte, 1) < 0)
		platform->log_fd = -1;
}

/* Like: QEMU's isa-debug-exit. */
static void access_debug_exit(void *device, struct bus_access *access)
{
	struct machine *m = device;

	if (!access->write || access->off)
		return;
	m->exit_status = (int)(access->value << 1 | 1) & 0xff;
	machine_raise(m, EVENT_DEBUG_EXIT);
}

static void reset(void *arg)
{
	struct platform *platform = arg;

	fill_cmos(platform);
	platform->cmos_idx = 0;
	memset(&platform->keyboard, 0, sizeof(platform->keyboard));
	platform->boot_setting = 2; /* addresses above 1 MiB are reachable */
}

void platform_init(struct platform *platform, struct machine *m, int log_fd, uint16_t debug_port)
{
	platform->machine = m;
	platform->log_fd = log_fd;
	bus_add(&m->ports, 0x70, 2, access_cmos, platform);
	bus_add(&m->ports, 0x60, 5, access_keyboard, platform);
	bus_add(&m->ports, 0x92, 1, access_boot_setting, platform);
	bus_add(&m->ports, 0x402, 1, access_log, platform);
	if (debug_port)
		bus_add(&m->ports, debug_port, 4, access_debug_exit, m);
	machine_on_reset(m, reset, platform);
}
