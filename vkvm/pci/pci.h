/* SPDX-License-Identifier: MIT */
/* A PCI bus with configuration mechanism 1: functions, their registers and memory windows. */
#ifndef VKVM_PCI_H
#define VKVM_PCI_H

#include "vkvm/machine/machine.h"

enum { PCI_MAX_DEVICES = 32, PCI_NR_BARS = 2 };

struct pci_device {
	const char *name;
	uint8_t config[256];         /* little endian */
	uint8_t writable[256];       /* bits of it that the guest can change */
	unsigned next_cap;           /* where the next capability goes */
	unsigned last_cap;           /* register that points to the next one */
	/* memory windows of 32-bit addresses; a power of two of bytes, 0: none */
	struct pci_bar {
		uint32_t size;
		void (*access)(void *device, struct bus_access *access);
	} bars[PCI_NR_BARS];
	void *user;                  /* passed to the windows' handlers */
	/* Optional: @len bytes at @off will be read, have been written. */
	void (*read)(struct pci_device *dev, unsigned off, unsigned len);
	void (*written)(struct pci_device *dev, unsigned off, unsigned len);
};

struct pci_bus {
	struct machine *machine;
	uint32_t address;            /* the register at 0xcf8 */
	struct pci_device host;      /* 00:00.0 */
	struct pci_device *devices[PCI_MAX_DEVICES]; /* by slot; function 0 */
};

void pci_bus_init(struct pci_bus *bus, struct machine *m);
/* Put a function into the next free slot; returns the slot, or -ENOSPC. */
int pci_add(struct pci_bus *bus, struct pci_device *dev);
/* Fill the standard registers. */
void pci_init(struct pci_device *dev, uint16_t vendor, uint16_t device, uint32_t class_code);
/* A memory window of @size bytes; at least 16, a power of two. */
void pci_set_bar(struct pci_device *dev, unsigned bar, uint32_t size,
		 void (*access)(void *device, struct bus_access *access));
/* Where a window lies; 0: not mapped. */
uint64_t pci_bar_address(const struct pci_device *dev, unsigned bar);
/* Append a capability of @len bytes, id first, the link is filled in.  Returns its offset. */
unsigned pci_add_cap(struct pci_device *dev, const void *cap, unsigned len);
/*
 * Give all windows addresses below @end and switch them on, as firmware would: for a kernel that is
 * started without any.
 */
void pci_assign(struct pci_bus *bus, uint64_t end);

uint32_t pci_get(const struct pci_device *dev, unsigned off, unsigned len);
void pci_put(struct pci_device *dev, unsigned off, uint32_t value, unsigned len);

#endif
