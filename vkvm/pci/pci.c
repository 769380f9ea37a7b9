/* SPDX-License-Identifier: MIT */
/* Configuration mechanism 1, and the memory windows behind it. */
#include "vkvm/pci/pci.h"

#include <errno.h>
#include <linux/pci_regs.h>
#include <string.h>

/* The generic host bridge of Red Hat's range of numbers: firmware takes it for no known chipset. */
enum { HOST_VENDOR = 0x1b36, HOST_DEVICE = 0x0008, HOST_CLASS = 0x060000 };
/* By these SeaBIOS knows that there is fw_cfg. */
enum { HOST_SUBSYSTEM_VENDOR = 0x1af4, HOST_SUBSYSTEM = 0x1100 };

uint32_t pci_get(const struct pci_device *dev, unsigned off, unsigned len)
{
	uint32_t value = 0;

	memcpy(&value, dev->config + off, len);
	return value;
}

void pci_put(struct pci_device *dev, unsigned off, uint32_t value, unsigned len)
{
	memcpy(dev->config + off, &value, len);
}

/* --- a function's registers -------------------------------------------------------------- */

void pci_init(struct pci_device *dev, uint16_t vendor, uint16_t device, uint32_t class_code)
{
	pci_put(dev, PCI_VENDOR_ID, vendor, 2);
	pci_put(dev, PCI_DEVICE_ID, device, 2);
	pci_put(dev, PCI_CLASS_REVISION, class_code << 8 | 1, 4);
	pci_put(dev, PCI_SUBSYSTEM_VENDOR_ID, vendor, 2);
	pci_put(dev, PCI_SUBSYSTEM_ID, device, 2);
	dev->writable[PCI_COMMAND] = PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER;
	dev->writable[PCI_COMMAND + 1] = PCI_COMMAND_INTX_DISABLE >> 8;
	dev->writable[PCI_CACHE_LINE_SIZE] = 0xff;
	dev->writable[PCI_INTERRUPT_LINE] = 0xff;
	dev->next_cap = PCI_STD_HEADER_SIZEOF;
	dev->last_cap = PCI_CAPABILITY_LIST;
}

void pci_set_bar(struct pci_device *dev, unsigned bar, uint32_t size,
		 void (*access)(void *device, struct bus_access *access))
{
	uint32_t mask = ~(size - 1);

	dev->bars[bar] = (struct pci_bar){ size, access };
	memcpy(dev->writable + PCI_BASE_ADDRESS_0 + 4 * bar, &mask, 4);
}

unsigned pci_add_cap(struct pci_device *dev, const void *cap, unsigned len)
{
	unsigned off = dev->next_cap;

	memcpy(dev->config + off, cap, len);
	dev->config[off + 1] = 0;
	dev->config[dev->last_cap] = (uint8_t)off;
	dev->last_cap = off + 1;
	dev->next_cap = (off + len + 3) & ~3u;
	dev->config[PCI_STATUS] |= PCI_STATUS_CAP_LIST;
	return off;
}

uint64_t pci_bar_address(const struct pci_device *dev, unsigned bar)
{
	if (!dev->bars[bar].size || !(pci_get(dev, PCI_COMMAND, 2) & PCI_COMMAND_MEMORY))
		return 0;
	return pci_get(dev, PCI_BASE_ADDRESS_0 + 4 * bar, 4) & PCI_BASE_ADDRESS_MEM_MASK;
}

static uint32_t config_read(struct pci_device *dev, unsigned off, unsigned len)
{
	if (dev->read)
		dev->read(dev, off, len);
	return pci_get(dev, off, len);
}

static void config_write(struct pci_device *dev, unsigned off, uint32_t value, unsigned len)
{
	for (unsigned i = 0; i < len; i++) {
		uint8_t mask = dev->writable[off + i];

		dev->config[off + i] = (uint8_t)((dev->config[off + i] & ~mask) |
						 (value >> 8 * i & mask));
	}
	if (dev->written)
		dev->written(dev, off, len);
}

/* --- the bus ----------------------------------------------------------------------------- */

/* The function the address register names; only function 0 of bus 0 is there. */
static struct pci_device *selected(const struct pci_bus *bus)
{
	uint32_t address = bus->address;

	if (!(address >> 31) || (address >> 16 & 0xff) || (address >> 8 & 7))
		return NULL;
	return bus->devices[address >> 11 & 31];
}

static void access_ports(void *device, struct bus_access *access)
{
	struct pci_bus *bus = device;
	struct pci_device *dev = selected(bus);
	unsigned off;

	if (access->off == 0 && access->len == 4) {
		if (access->write)
			bus->address = (uint32_t)access->value;
		else
			access->value = bus->address;
		return;
	}
	/* 0xcf9 lies in the address register: the reset register of a PC. */
	if (access->off == 1 && access->len == 1) {
		if (access->write && (access->value & 4))
			machine_raise(bus->machine, EVENT_RESET);
		access->value = 0;
		return;
	}
	off = (bus->address & 0xfc) + (unsigned)(access->off & 3);
	if (access->off < 4 || !dev || access->len > 4 - (access->off & 3))
		return;
	if (access->write)
		config_write(dev, off, (uint32_t)access->value, access->len);
	else
		access->value = config_read(dev, off, access->len);
}

/* Everything that is no memory: a window of some function, or nobody. */
static void access_windows(void *device, struct bus_access *access)
{
	struct pci_bus *bus = device;

	for (unsigned i = 0; i < PCI_MAX_DEVICES; i++) {
		struct pci_device *dev = bus->devices[i];

		for (unsigned bar = 0; dev && bar < PCI_NR_BARS; bar++) {
			uint64_t base = pci_bar_address(dev, bar);

			if (!base || access->off < base ||
			    access->off - base >= dev->bars[bar].size)
				continue;
			access->off -= base;
			dev->bars[bar].access(dev->user, access);
			return;
		}
	}
}

int pci_add(struct pci_bus *bus, struct pci_device *dev)
{
	for (int slot = 0; slot < PCI_MAX_DEVICES; slot++) {
		if (!bus->devices[slot]) {
			bus->devices[slot] = dev;
			return slot;
		}
	}
	return -ENOSPC;
}

void pci_assign(struct pci_bus *bus, uint64_t end)
{
	for (unsigned i = 0; i < PCI_MAX_DEVICES; i++) {
		struct pci_device *dev = bus->devices[i];

		for (unsigned bar = 0; dev && bar < PCI_NR_BARS; bar++) {
			uint32_t size = dev->bars[bar].size;

			if (!size)
				continue;
			end = (end - size) & ~(uint64_t)(size - 1);
			config_write(dev, PCI_BASE_ADDRESS_0 + 4 * bar, (uint32_t)end, 4);
		}
		if (dev)
			config_write(dev, PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 2);
	}
}

static void reset(void *arg)
{
	struct pci_bus *bus = arg;

	bus->address = 0;
	for (unsigned i = 0; i < PCI_MAX_DEVICES; i++) {
		struct pci_device *dev = bus->devices[i];

		for (unsigned bar = 0; dev && bar < PCI_NR_BARS; bar++)
			config_write(dev, PCI_BASE_ADDRESS_0 + 4 * bar, 0, 4);
		if (dev)
			config_write(dev, PCI_COMMAND, 0, 2);
	}
}

void pci_bus_init(struct pci_bus *bus, struct machine *m)
{
	bus->machine = m;
	bus->host.name = "host bridge";
	pci_init(&bus->host, HOST_VENDOR, HOST_DEVICE, HOST_CLASS);
	pci_put(&bus->host, PCI_SUBSYSTEM_VENDOR_ID, HOST_SUBSYSTEM_VENDOR, 2);
	pci_put(&bus->host, PCI_SUBSYSTEM_ID, HOST_SUBSYSTEM, 2);
	pci_add(bus, &bus->host);
	bus_add(&m->ports, 0xcf8, 8, access_ports, bus);
	m->mmio.rest = (struct bus_range){ 0, UINT64_MAX, access_windows, bus };
	machine_on_reset(m, reset, bus);
}
