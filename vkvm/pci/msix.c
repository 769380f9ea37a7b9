/* SPDX-License-Identifier: MIT */
/* MSI-X: the table, masks and pending bits; KVM carries the messages. */
#include "vkvm/pci/msix.h"

#include <errno.h>
#include <linux/pci_regs.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "vkvm/report.h"

static bool is_masked(const struct msix *msix, const struct msix_vector *vector)
{
	return !msix->enabled || msix->masked || (vector->control & PCI_MSIX_ENTRY_CTRL_MASKBIT);
}

static void send(const struct msix_vector *vector)
{
	const uint64_t one = 1;

	/* A full counter says the same. */
	if (write(vector->fd, &one, sizeof(one)) < 0)
		return;
}

/* A vector may have been unmasked: what waited for that is sent. */
static void send_pending(struct msix *msix, struct msix_vector *vector)
{
	if (!vector->pending || is_masked(msix, vector))
		return;
	vector->pending = false;
	send(vector);
}

void msix_raise(struct msix *msix, unsigned idx)
{
	struct msix_vector *vector = &msix->vectors[idx];

	if (idx >= msix->nr)
		return;
	pthread_mutex_lock(&msix->lock);
	if (!msix->enabled)
		; /* nobody listens: the driver polls */
	else if (is_masked(msix, vector))
		vector->pending = true;
	else
		send(vector);
	pthread_mutex_unlock(&msix->lock);
}

void msix_written(struct msix *msix)
{
	uint32_t flags = pci_get(msix->dev, msix->cap + PCI_MSIX_FLAGS, 2);

	pthread_mutex_lock(&msix->lock);
	msix->enabled = flags & PCI_MSIX_FLAGS_ENABLE;
	msix->masked = flags & PCI_MSIX_FLAGS_MASKALL;
	for (unsigned i = 0; i < msix->nr; i++)
		send_pending(msix, &msix->vectors[i]);
	pthread_mutex_unlock(&msix->lock);
}

/* --- the table --------------------------------------------------------------------------- */

static void route(struct msix *msix, const struct msix_vector *vector)
{
	if (vm_msi_route(&msix->machine->vm, vector->gsi, vector->address, vector->data) < 0)
		report_warning("%s: an interrupt could not be routed", msix->dev->name);
}

/* 4 bytes of a table entry. */
static void write_entry(struct msix *msix, struct msix_vector *vector, unsigned off,
			uint32_t value)
{
	bool was_masked = vector->control & PCI_MSIX_ENTRY_CTRL_MASKBIT, is_unmasked;

	switch (off) {
	case PCI_MSIX_ENTRY_LOWER_ADDR:
		vector->address = (vector->address & ~0xffffffffull) | value;
		break;
	case PCI_MSIX_ENTRY_UPPER_ADDR:
		vector->address = (vector->address & 0xffffffff) | (uint64_t)value << 32;
		break;
	case PCI_MSIX_ENTRY_DATA:
		vector->data = value;
		break;
	default:
		vector->control = value & PCI_MSIX_ENTRY_CTRL_MASKBIT;
	}
	is_unmasked = !(vector->control & PCI_MSIX_ENTRY_CTRL_MASKBIT);
	/* While it is masked the message is written in pieces: wait for the end of it. */
	if (is_unmasked && (was_masked || off != PCI_MSIX_ENTRY_VECTOR_CTRL))
		route(msix, vector);
	send_pending(msix, vector);
}

static uint32_t read_entry(const struct msix_vector *vector, unsigned off)
{
	switch (off) {
	case PCI_MSIX_ENTRY_LOWER_ADDR: return (uint32_t)vector->address;
	case PCI_MSIX_ENTRY_UPPER_ADDR: return (uint32_t)(vector->address >> 32);
	case PCI_MSIX_ENTRY_DATA: return vector->data;
	default: return vector->control;
	}
}

static uint32_t read_word(const struct msix *msix, uint64_t off)
{
	uint32_t bits = 0;

	if (off / PCI_MSIX_ENTRY_SIZE < msix->nr)
		return read_entry(&msix->vectors[off / PCI_MSIX_ENTRY_SIZE],
				  off % PCI_MSIX_ENTRY_SIZE);
	for (unsigned i = 0; off == MSIX_PBA && i < msix->nr; i++)
		bits |= (uint32_t)msix->vectors[i].pending << i;
	return bits;
}

void msix_access(void *device, struct bus_access *access)
{
	struct msix *msix = device;
	uint64_t off = access->off, value = 0;

	/* Words of 4 or 8 bytes; anything else is undefined. */
	if (access->len < 4 || off % access->len)
		return;
	pthread_mutex_lock(&msix->lock);
	for (unsigned i = 0; i < access->len; i += 4) {
		uint64_t entry = (off + i) / PCI_MSIX_ENTRY_SIZE;

		if (!access->write)
			value |= (uint64_t)read_word(msix, off + i) << 8 * i;
		else if (entry < msix->nr)
			write_entry(msix, &msix->vectors[entry], (off + i) % PCI_MSIX_ENTRY_SIZE,
				    (uint32_t)(access->value >> 8 * i));
	}
	if (!access->write)
		access->value = value;
	pthread_mutex_unlock(&msix->lock);
}

/* --- life -------------------------------------------------------------------------------- */

void msix_reset(struct msix *msix)
{
	pthread_mutex_lock(&msix->lock);
	for (unsigned i = 0; i < msix->nr; i++) {
		struct msix_vector *vector = &msix->vectors[i];

		vector->address = vector->data = 0;
		vector->control = PCI_MSIX_ENTRY_CTRL_MASKBIT;
		vector->pending = false;
	}
	msix->enabled = msix->masked = false;
	pthread_mutex_unlock(&msix->lock);
	pci_put(msix->dev, msix->cap + PCI_MSIX_FLAGS, msix->nr - 1, 2);
}

int msix_init(struct msix *msix, struct machine *m, struct pci_device *dev, unsigned nr,
	      unsigned bar)
{
	uint8_t cap[PCI_CAP_MSIX_SIZEOF] = { PCI_CAP_ID_MSIX };
	uint32_t table = bar, pba = MSIX_PBA | bar;

	msix->machine = m;
	msix->dev = dev;
	pthread_mutex_init(&msix->lock, NULL);
	memcpy(cap + PCI_MSIX_TABLE, &table, 4);
	memcpy(cap + PCI_MSIX_PBA, &pba, 4);
	msix->cap = pci_add_cap(dev, cap, sizeof(cap));
	dev->writable[msix->cap + PCI_MSIX_FLAGS + 1] =
		(PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL) >> 8;
	for (; msix->nr < nr; msix->nr++) {
		struct msix_vector *vector = &msix->vectors[msix->nr];
		int gsi = vm_msi_alloc(&m->vm);

		vector->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (gsi < 0 || vector->fd < 0)
			return -ENOSPC;
		vector->gsi = (unsigned)gsi;
		if (vm_irqfd(&m->vm, vector->gsi, vector->fd) < 0)
			return -ENOSPC;
	}
	msix_reset(msix);
	return 0;
}

void msix_clear(struct msix *msix)
{
	for (unsigned i = 0; i < msix->nr; i++)
		close(msix->vectors[i].fd);
	msix->nr = 0;
}
