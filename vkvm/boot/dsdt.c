/* SPDX-License-Identifier: MIT */
/* The machine's devices: PCI bus, serial line, power button. */
#include "vkvm/boot/dsdt.h"

#include <string.h>

#include "vkvm/devices/power.h"
#include "vkvm/devices/serial.h"

enum { RANGE_MEMORY, RANGE_IO, RANGE_BUS };

/* A list of resources being put together. */
struct resources {
	uint8_t data[256];
	size_t len;
};

static void append(struct resources *res, const void *data, size_t len)
{
	memcpy(res->data + res->len, data, len);
	res->len += len;
}

static void add_io(struct resources *res, uint16_t port, uint8_t len)
{
	const uint8_t io[] = { 0x47, 1, (uint8_t)port, (uint8_t)(port >> 8), (uint8_t)port,
			       (uint8_t)(port >> 8), 1, len };

	append(res, io, sizeof(io));
}

/* An edge, as irqfd makes it. */
static void add_irq(struct resources *res, uint32_t gsi)
{
	const uint8_t irq[] = { 0x89, 6, 0, 0x03, 1, (uint8_t)gsi, 0, 0, 0 };

	append(res, irq, sizeof(irq));
}

/* A window of the PCI bus: all of [first, last], fixed, passed on as it is. */
static void add_window(struct resources *res, uint8_t type, uint64_t first, uint64_t last)
{
	bool wide = type == RANGE_MEMORY;
	uint64_t words[] = { 0, first, last, 0, last - first + 1 };
	unsigned size = wide ? 4 : 2;
	uint8_t flags = type == RANGE_MEMORY ? 1 : type == RANGE_IO ? 3 : 0;
	const uint8_t head[] = { wide ? 0x87 : 0x88, (uint8_t)(3 + 5 * size), 0, type, 0x0c, flags };

	append(res, head, sizeof(head));
	for (unsigned i = 0; i < 5; i++)
		append(res, &words[i], size);
}

static void write_pci(struct aml *aml)
{
	struct resources res = {0};
	size_t begin = aml_device(aml, "PCI0", "PNP0A03", 0);

	add_window(&res, RANGE_BUS, 0, 0);
	add_io(&res, 0xcf8, 8);
	add_window(&res, RANGE_IO, 0, 0xcf7);
	add_window(&res, RANGE_IO, 0xd00, 0xffff);
	add_window(&res, RANGE_MEMORY, VM_PCI_BASE, VM_PCI_END - 1);
	aml_resources(aml, res.data, res.len);
	aml_end(aml, begin);
}

static void write_serial(struct aml *aml)
{
	struct resources res = {0};
	size_t begin = aml_device(aml, "COM1", "PNP0501", 1);

	add_io(&res, SERIAL_PORT, 8);
	add_irq(&res, SERIAL_IRQ);
	aml_resources(aml, res.data, res.len);
	aml_end(aml, begin);
}

/* OperationRegion (EVTR, SystemIO, POWER_EVENTS, 1); Field (EVTR, ByteAcc) { EVTS, 8 } */
static void write_event_register(struct aml *aml)
{
	size_t begin;

	aml_byte(aml, 0x5b);
	aml_byte(aml, 0x80);
	aml_path(aml, "EVTR");
	aml_byte(aml, 1);
	aml_integer(aml, POWER_EVENTS);
	aml_integer(aml, 1);
	begin = aml_begin(aml, AML_FIELD);
	aml_path(aml, "EVTR");
	aml_byte(aml, 1);
	aml_path(aml, "EVTS");
	aml_byte(aml, 8);
	aml_end(aml, begin);
}

/* Method (_EVT, 1) { If (And (EVTS, 1)) { Notify (PWRB, 0x80) } } */
static void write_event_method(struct aml *aml)
{
	size_t method = aml_begin(aml, AML_METHOD), condition;

	aml_path(aml, "_EVT");
	aml_byte(aml, 1);
	condition = aml_begin(aml, AML_IF);
	aml_byte(aml, 0x7b);
	aml_path(aml, "EVTS");
	aml_integer(aml, POWER_EVENT_BUTTON);
	aml_byte(aml, 0);
	aml_byte(aml, 0x86);
	aml_path(aml, "\\_SB_PWRB");
	aml_integer(aml, 0x80);
	aml_end(aml, condition);
	aml_end(aml, method);
}

static void write_power(struct aml *aml)
{
	struct resources res = {0};
	size_t begin = aml_device(aml, "PWRB", "PNP0C0C", 0);

	aml_end(aml, begin);
	begin = aml_device(aml, "GED_", "ACPI0013", 0);
	add_irq(&res, POWER_IRQ);
	aml_resources(aml, res.data, res.len);
	write_event_register(aml);
	write_event_method(aml);
	aml_end(aml, begin);
}

void dsdt_write(struct aml *aml)
{
	size_t begin = aml_begin(aml, AML_SCOPE);

	aml_path(aml, "\\_SB_");
	write_pci(aml);
	write_serial(aml);
	write_power(aml);
	aml_end(aml, begin);
	/* Name (\_S5, Package () { type, 0, 0, 0 }) */
	aml_name(aml, "\\_S5_");
	begin = aml_begin(aml, AML_PACKAGE);
	aml_byte(aml, 4);
	aml_integer(aml, POWER_OFF_TYPE);
	for (int i = 0; i < 3; i++)
		aml_integer(aml, 0);
	aml_end(aml, begin);
}
