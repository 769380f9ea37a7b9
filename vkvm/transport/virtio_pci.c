/* SPDX-License-Identifier: MIT */
/* virtio over PCI: capabilities, windows, interrupts. */
#include "vkvm/transport/virtio_pci.h"

#include <errno.h>
#include <linux/pci_regs.h>
#include <linux/virtio_pci.h>
#include <stddef.h>
#include <string.h>

#include "vkvm/report.h"

enum { VENDOR = 0x1af4, FIRST_DEVICE = 0x1040, CLASS_SCSI = 0x010000, CLASS_OTHER = 0xff0000 };
enum { REGISTERS, MESSAGES }; /* the two windows */

/* --- interrupts -------------------------------------------------------------------------- */

static void raise_vector(struct virtio_pci *vp, const uint16_t *vector, uint8_t isr)
{
	uint16_t which = __atomic_load_n(vector, __ATOMIC_ACQUIRE);

	__atomic_fetch_or(&vp->isr, isr, __ATOMIC_ACQ_REL);
	if (which != VIRTIO_MSI_NO_VECTOR)
		msix_raise(&vp->msix, which);
}

static void queue_irq(struct virtio_irq *irq, unsigned queue)
{
	struct virtio_pci *vp = (struct virtio_pci *)irq;

	raise_vector(vp, &vp->queue_vectors[queue], 1);
}

static void config_irq(struct virtio_irq *irq)
{
	struct virtio_pci *vp = (struct virtio_pci *)irq;

	raise_vector(vp, &vp->config_vector, 2);
}

static void reset_irq(struct virtio_irq *irq)
{
	struct virtio_pci *vp = (struct virtio_pci *)irq;

	__atomic_store_n(&vp->isr, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&vp->config_vector, VIRTIO_MSI_NO_VECTOR, __ATOMIC_RELEASE);
	for (unsigned i = 0; i < VIRTIO_MAX_QUEUES; i++)
		__atomic_store_n(&vp->queue_vectors[i], VIRTIO_MSI_NO_VECTOR, __ATOMIC_RELEASE);
}

/* --- windows ----------------------------------------------------------------------------- */

/* KVM listens to the doorbells wherever the window lies now. */
static void move_doorbells(struct virtio_pci *vp)
{
	uint64_t base = pci_bar_address(&vp->pci, REGISTERS);
	uint64_t to = base ? base + VIRTIO_PCI_NOTIFY : 0;
	struct vm *vm = &vp->machine->vm;

	if (to == vp->doorbells)
		return;
	for (unsigned i = 0; i < vp->dev->nr_queues; i++) {
		uint64_t at = VIRTIO_PCI_NOTIFY_STEP * i;
		int fd = virtio_kick_fd(vp->dev, i);

		if (vp->doorbells)
			vm_doorbell(vm, vp->doorbells + at, VM_ANY_VALUE, fd, false);
		/* Not fatal: the write then arrives as an ordinary one. */
		if (to && vm_doorbell(vm, to + at, VM_ANY_VALUE, fd, true) < 0)
			report_warning("%s: slow doorbell", vp->pci.name);
	}
	vp->doorbells = to;
}

/* An access through the configuration space, for firmware that maps no windows. */
static void indirect(struct virtio_pci *vp, bool write)
{
	unsigned cap = vp->config_cap;
	uint32_t len = pci_get(&vp->pci, cap + offsetof(struct virtio_pci_cap, length), 4);
	struct bus_access access = { .len = len, .write = write };
	unsigned data = cap + (unsigned)sizeof(struct virtio_pci_cap);

	access.off = pci_get(&vp->pci, cap + offsetof(struct virtio_pci_cap, offset), 4);
	if ((len != 1 && len != 2 && len != 4) || access.off % len ||
	    access.off >= VIRTIO_PCI_WINDOW || vp->pci.config[cap + 4] != REGISTERS)
		return;
	if (write)
		access.value = pci_get(&vp->pci, data, len);
	virtio_pci_access(vp, &access);
	if (!write)
		pci_put(&vp->pci, data, (uint32_t)access.value, len);
}

static bool touches(unsigned off, unsigned len, unsigned reg)
{
	return off < reg + 4 && off + len > reg;
}

static void config_read(struct pci_device *pci, unsigned off, unsigned len)
{
	struct virtio_pci *vp = pci->user;

	if (touches(off, len, vp->config_cap + sizeof(struct virtio_pci_cap)))
		indirect(vp, false);
}

static void config_written(struct pci_device *pci, unsigned off, unsigned len)
{
	struct virtio_pci *vp = pci->user;

	if (touches(off, len, PCI_COMMAND) || touches(off, len, PCI_BASE_ADDRESS_0))
		move_doorbells(vp);
	if (touches(off, len, vp->msix.cap))
		msix_written(&vp->msix);
	if (touches(off, len, vp->config_cap + sizeof(struct virtio_pci_cap)))
		indirect(vp, true);
}

static void access_registers(void *device, struct bus_access *access)
{
	virtio_pci_access(device, access);
}

static void access_messages(void *device, struct bus_access *access)
{
	struct virtio_pci *vp = device;

	msix_access(&vp->msix, access);
}

/* --- set-up ------------------------------------------------------------------------------ */

static void add_cap(struct virtio_pci *vp, uint8_t type, uint32_t off, uint32_t len)
{
	struct virtio_pci_notify_cap cap = {
		.cap = { .cap_vndr = PCI_CAP_ID_VNDR, .cap_len = sizeof(cap.cap), .cfg_type = type,
			 .bar = REGISTERS, .offset = off, .length = len },
		.notify_off_multiplier = VIRTIO_PCI_NOTIFY_STEP,
	};
	bool longer = type == VIRTIO_PCI_CAP_NOTIFY_CFG || type == VIRTIO_PCI_CAP_PCI_CFG;
	unsigned at;

	if (longer)
		cap.cap.cap_len = sizeof(cap);
	if (type == VIRTIO_PCI_CAP_PCI_CFG)
		cap.notify_off_multiplier = 0;
	at = pci_add_cap(&vp->pci, &cap, cap.cap.cap_len);
	if (type != VIRTIO_PCI_CAP_PCI_CFG)
		return;
	vp->config_cap = at;
	vp->pci.writable[at + offsetof(struct virtio_pci_cap, bar)] = 0xff;
	memset(vp->pci.writable + at + offsetof(struct virtio_pci_cap, offset), 0xff, 12);
}

static void reset(void *arg)
{
	struct virtio_pci *vp = arg;

	virtio_reset(vp->dev);
	msix_reset(&vp->msix);
}

int virtio_pci_init(struct virtio_pci *vp, struct pci_bus *bus, struct virtio_device *dev)
{
	uint16_t id = dev->kind->id;
	int ret;

	*vp = (struct virtio_pci){
		.irq = { queue_irq, config_irq, reset_irq }, .dev = dev, .machine = bus->machine,
	};
	dev->irq = &vp->irq;
	vp->pci.name = dev->name;
	vp->pci.user = vp;
	pci_init(&vp->pci, VENDOR, (uint16_t)(FIRST_DEVICE + id),
		 id == 2 ? CLASS_SCSI : CLASS_OTHER);
	pci_set_bar(&vp->pci, REGISTERS, VIRTIO_PCI_WINDOW, access_registers);
	pci_set_bar(&vp->pci, MESSAGES, MSIX_WINDOW, access_messages);
	add_cap(vp, VIRTIO_PCI_CAP_COMMON_CFG, VIRTIO_PCI_COMMON,
		sizeof(struct virtio_pci_common_cfg));
	add_cap(vp, VIRTIO_PCI_CAP_ISR_CFG, VIRTIO_PCI_ISR_STATUS, 1);
	add_cap(vp, VIRTIO_PCI_CAP_DEVICE_CFG, VIRTIO_PCI_DEVICE, VIRTIO_PCI_PART);
	add_cap(vp, VIRTIO_PCI_CAP_NOTIFY_CFG, VIRTIO_PCI_NOTIFY, VIRTIO_PCI_PART);
	add_cap(vp, VIRTIO_PCI_CAP_PCI_CFG, 0, 0);
	ret = msix_init(&vp->msix, vp->machine, &vp->pci, dev->nr_queues + 1, MESSAGES);
	if (ret < 0)
		return ret;
	reset_irq(&vp->irq);
	vp->pci.read = config_read;
	vp->pci.written = config_written;
	vp->slot = pci_add(bus, &vp->pci);
	machine_on_reset(vp->machine, reset, vp);
	return vp->slot < 0 ? vp->slot : 0;
}

void virtio_pci_clear(struct virtio_pci *vp)
{
	msix_clear(&vp->msix);
}
