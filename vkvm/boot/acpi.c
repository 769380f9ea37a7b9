/* SPDX-License-Identifier: MIT */
/* ACPI tables in one block: with addresses for a kernel, or as files for firmware. */
#include "vkvm/boot/acpi.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "vkvm/boot/dsdt.h"
#include "vkvm/report.h"

enum {
	HEADER_LEN = 36, CHECKSUM_AT = 9,
	FADT_SCI = 46, FADT_PM1_EVENT = 56, FADT_PM1_CONTROL = 64, FADT_PM1_EVENT_LEN = 88,
	FADT_PM1_CONTROL_LEN = 89, FADT_BOOT_ARCH = 109, FADT_FLAGS = 112, FADT_RESET_REG = 116,
	FADT_RESET_VALUE = 128, FADT_X_FACS = 132, FADT_X_DSDT = 140, FADT_SLEEP_CONTROL = 244,
	FADT_SLEEP_STATUS = 256, FADT_LEN = 276,
	FACS_LEN = 64,
	RSDP_LEN = 36, RSDP_XSDT = 24,
	MAX_TABLES = 4,
};

/* Flags of the FADT. */
enum {
	FADT_WBINVD = 1, FADT_NO_FIXED_BUTTONS = 3 << 4, FADT_NO_FIXED_CLOCK = 1 << 6,
	FADT_RESET_SUPPORTED = 1 << 10, FADT_HW_REDUCED = 1 << 20,
	BOOT_ARCH_LEGACY = 1 << 0, BOOT_ARCH_NO_VGA = 1 << 2,
};

/* All tables but the root pointer, and what firmware must fix in them. */
struct tables {
	uint8_t data[4096];
	uint32_t len;
	struct {
		uint32_t off, len;
	} table[MAX_TABLES];
	unsigned nr;
	uint32_t pointers[MAX_TABLES];  /* offsets of 8-byte addresses */
	unsigned nr_pointers;
	uint32_t xsdt;                  /* offset */
	uint64_t base;                  /* added to each address */
};

static void put(uint8_t *at, uint64_t value, unsigned len)
{
	memcpy(at, &value, len);
}

/* Room for a table with its header; returns its offset. */
static uint32_t begin(struct tables *t, const char *signature, uint8_t revision, uint32_t len)
{
	uint32_t off = (t->len + 15) & ~15u;
	uint8_t *at = t->data + off;

	assert(off + len <= sizeof(t->data) && t->nr < MAX_TABLES);
	memcpy(at, signature, 4);
	put(at + 4, len, 4);
	at[8] = revision;
	memcpy(at + 10, "VKVM  VKVM    ", 14);
	put(at + 24, 1, 4);
	memcpy(at + 28, "VKVM", 4);
	put(at + 32, 1, 4);
	t->table[t->nr].off = off;
	t->table[t->nr++].len = len;
	t->len = off + len;
	return off;
}

static void put_pointer(struct tables *t, uint32_t at, uint32_t target)
{
	put(t->data + at, t->base + target, 8);
	t->pointers[t->nr_pointers++] = at;
}

/* A register in I/O space, 8 bits wide. */
static void put_register(uint8_t *at, uint16_t port)
{
	at[0] = 1;
	at[1] = 8;
	at[3] = 1;
	put(at + 4, port, 8);
}

/* Neither header nor checksum, at a multiple of 64: it goes first. */
static uint32_t add_facs(struct tables *t)
{
	assert(t->len == 0);
	memcpy(t->data, "FACS", 4);
	put(t->data + 4, FACS_LEN, 4);
	t->data[32] = 2; /* its version */
	t->len = FACS_LEN;
	return 0;
}

/*
 * Firmware leaves the old interrupt controllers and the timer running.  On hardware-reduced ACPI a
 * kernel takes them for absent and would die of the first tick it does not know; so what firmware
 * passes on is ACPI with its fixed registers, and the kernel silences them.
 */
static void add_fixed_hardware(struct tables *t, uint32_t fadt, uint32_t facs)
{
	uint8_t *at = t->data + fadt;

	put(at + FADT_SCI, POWER_SCI, 2);
	put(at + FADT_PM1_EVENT, POWER_PM1_EVENT, 4);
	put(at + FADT_PM1_CONTROL, POWER_PM1_CONTROL, 4);
	at[FADT_PM1_EVENT_LEN] = POWER_PM1_CONTROL - POWER_PM1_EVENT;
	at[FADT_PM1_CONTROL_LEN] = POWER_PM1_END - POWER_PM1_CONTROL;
	put(at + FADT_BOOT_ARCH, BOOT_ARCH_LEGACY | BOOT_ARCH_NO_VGA, 2);
	put(at + FADT_FLAGS, FADT_WBINVD | FADT_NO_FIXED_BUTTONS | FADT_NO_FIXED_CLOCK |
	    FADT_RESET_SUPPORTED, 4);
	put_pointer(t, fadt + FADT_X_FACS, facs);
}

static uint32_t add_fadt(struct tables *t, uint32_t dsdt)
{
	uint32_t off = begin(t, "FACP", 6, FADT_LEN);
	uint8_t *at = t->data + off;

	put(at + FADT_BOOT_ARCH, BOOT_ARCH_NO_VGA, 2);
	put(at + FADT_FLAGS,
	    FADT_WBINVD | FADT_NO_FIXED_BUTTONS | FADT_RESET_SUPPORTED | FADT_HW_REDUCED, 4);
	put_register(at + FADT_RESET_REG, POWER_RESET_PORT);
	at[FADT_RESET_VALUE] = POWER_RESET_VALUE;
	put_pointer(t, off + FADT_X_DSDT, dsdt);
	put_register(at + FADT_SLEEP_CONTROL, POWER_SLEEP_CONTROL);
	put_register(at + FADT_SLEEP_STATUS, POWER_SLEEP_STATUS);
	return off;
}

static uint32_t add_madt(struct tables *t, unsigned nr_cpus)
{
	static const uint8_t rest[] = {
		1, 12, 0, 0, 0, 0, 0xc0, 0xfe, 0, 0, 0, 0,  /* IOAPIC 0 at 0xfec00000 */
		2, 10, 0, 0, 2, 0, 0, 0, 0, 0,              /* the timer is on its pin 2 */
		4, 6, 0xff, 0, 0, 1,                        /* NMI: LINT1 of all */
	};
	uint32_t off = begin(t, "APIC", 4, HEADER_LEN + 8 + 8 * nr_cpus + sizeof(rest));
	uint8_t *at = t->data + off + HEADER_LEN;

	put(at, 0xfee00000, 4);
	put(at + 4, 1, 4); /* there are old interrupt controllers, too */
	at += 8;
	for (unsigned i = 0; i < nr_cpus; i++, at += 8) {
		const uint8_t entry[] = { 0, 8, (uint8_t)i, (uint8_t)i, 1, 0, 0, 0 };

		memcpy(at, entry, sizeof(entry));
	}
	memcpy(at, rest, sizeof(rest));
	return off;
}

/* @firmware: for firmware to pass on, with ACPI's fixed registers; otherwise hardware-reduced. */
static void build(struct tables *t, const struct machine *m, uint64_t base, bool firmware)
{
	uint32_t dsdt, fadt, madt, facs = 0;

	memset(t, 0, sizeof(*t));
	t->base = base;
	if (firmware)
		facs = add_facs(t);
	dsdt = begin(t, "DSDT", 2, HEADER_LEN + sizeof(dsdt_code));
	memcpy(t->data + dsdt + HEADER_LEN, dsdt_code, sizeof(dsdt_code));
	fadt = add_fadt(t, dsdt);
	if (firmware)
		add_fixed_hardware(t, fadt, facs);
	madt = add_madt(t, m->nr_cpus);
	t->xsdt = begin(t, "XSDT", 1, HEADER_LEN + 16);
	put_pointer(t, t->xsdt + HEADER_LEN, fadt);
	put_pointer(t, t->xsdt + HEADER_LEN + 8, madt);
}

static void make_rsdp(uint8_t *rsdp, uint64_t xsdt)
{
	memset(rsdp, 0, RSDP_LEN);
	memcpy(rsdp, "RSD PTR ", 8);
	memcpy(rsdp + 9, "VKVM  ", 6);
	rsdp[15] = 2;
	put(rsdp + 20, RSDP_LEN, 4);
	put(rsdp + RSDP_XSDT, xsdt, 8);
}

static uint8_t checksum(const uint8_t *data, size_t len)
{
	uint8_t sum = 0;

	for (size_t i = 0; i < len; i++)
		sum += data[i];
	return (uint8_t)-sum;
}

/* --- without firmware -------------------------------------------------------------------- */

uint64_t acpi_place(struct machine *m)
{
	uint64_t base = ACPI_TABLES + 64;
	struct tables t;
	uint8_t rsdp[RSDP_LEN];

	build(&t, m, base, false);
	for (unsigned i = 0; i < t.nr; i++)
		t.data[t.table[i].off + CHECKSUM_AT] = checksum(t.data + t.table[i].off,
							       t.table[i].len);
	make_rsdp(rsdp, base + t.xsdt);
	rsdp[8] = checksum(rsdp, 20);
	rsdp[32] = checksum(rsdp, RSDP_LEN);
	if (!memory_write(&m->vm.mem, ACPI_TABLES, rsdp, sizeof(rsdp)) ||
	    !memory_write(&m->vm.mem, base, t.data, t.len))
		report_error("the ACPI tables do not fit into memory");
	return ACPI_TABLES;
}

/* --- through firmware -------------------------------------------------------------------- */

#define TABLES_FILE "etc/acpi/tables"
#define RSDP_FILE "etc/acpi/rsdp"

enum { CMD_ALLOCATE = 1, CMD_POINTER, CMD_CHECKSUM, ZONE_HIGH = 1, ZONE_FSEG, CMD_LEN = 128 };

/* The commands by which firmware puts files into memory and links them. */
struct loader {
	uint8_t data[24][CMD_LEN];
	unsigned nr;
};

static uint8_t *command(struct loader *loader, uint32_t what, const char *file)
{
	uint8_t *at = loader->data[loader->nr++];

	assert(loader->nr <= 24);
	put(at, what, 4);
	memcpy(at + 4, file, strlen(file));
	return at;
}

static void allocate(struct loader *loader, const char *file, uint32_t align, uint8_t zone)
{
	uint8_t *at = command(loader, CMD_ALLOCATE, file);

	put(at + 60, align, 4);
	at[64] = zone;
}

static void link_pointer(struct loader *loader, const char *file, uint32_t off)
{
	uint8_t *at = command(loader, CMD_POINTER, file);

	memcpy(at + 60, TABLES_FILE, sizeof(TABLES_FILE));
	put(at + 116, off, 4);
	at[120] = 8;
}

static void sum(struct loader *loader, const char *file, uint32_t at_off, uint32_t start,
		uint32_t len)
{
	uint8_t *at = command(loader, CMD_CHECKSUM, file);

	put(at + 60, at_off, 4);
	put(at + 64, start, 4);
	put(at + 68, len, 4);
}

int acpi_tell(struct machine *m, struct fw_cfg *cfg)
{
	struct loader loader = {0};
	struct tables t;
	uint8_t rsdp[RSDP_LEN];

	build(&t, m, 0, true);
	make_rsdp(rsdp, t.xsdt);
	allocate(&loader, RSDP_FILE, 16, ZONE_FSEG);
	allocate(&loader, TABLES_FILE, 64, ZONE_HIGH);
	for (unsigned i = 0; i < t.nr_pointers; i++)
		link_pointer(&loader, TABLES_FILE, t.pointers[i]);
	for (unsigned i = 0; i < t.nr; i++)
		sum(&loader, TABLES_FILE, t.table[i].off + CHECKSUM_AT, t.table[i].off,
		    t.table[i].len);
	link_pointer(&loader, RSDP_FILE, RSDP_XSDT);
	sum(&loader, RSDP_FILE, 8, 0, 20);
	sum(&loader, RSDP_FILE, 32, 0, RSDP_LEN);
	if (fw_cfg_add(cfg, TABLES_FILE, t.data, t.len) < 0 ||
	    fw_cfg_add(cfg, RSDP_FILE, rsdp, sizeof(rsdp)) < 0)
		return -ENOMEM;
	return fw_cfg_add(cfg, "etc/table-loader", loader.data, loader.nr * CMD_LEN);
}
