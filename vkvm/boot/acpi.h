/* SPDX-License-Identifier: MIT */
/*
 * ACPI: processors, PCI, serial line, power off, reset, power button.  Hardware-reduced for a
 * kernel that is started directly; with the fixed registers of a PC through firmware.
 */
#ifndef VKVM_ACPI_H
#define VKVM_ACPI_H

#include "vkvm/devices/fw_cfg.h"
#include "vkvm/devices/power.h"

enum {
	ACPI_TABLES = 0xe0000,       /* where the tables go without firmware */
	ACPI_TABLES_END = 0x100000,
};

/* Put the tables into memory, for a kernel without firmware; returns the guest address of the
 * root pointer.  Again after each reset. */
uint64_t acpi_place(struct machine *m);
/* Hand them to firmware. */
int acpi_tell(struct machine *m, struct fw_cfg *cfg);

#endif
