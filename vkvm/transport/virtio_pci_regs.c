/* SPDX-License-Identifier: MIT */
/* The registers of virtio over PCI: common configuration, interrupt status, doorbells. */
#include "vkvm/transport/virtio_pci.h"

#include <linux/virtio_pci.h>
#include <string.h>

/* --- common configuration ---------------------------------------------------------------- */

static const uint8_t registers[sizeof(struct virtio_pci_common_cfg)] = {
	[VIRTIO_PCI_COMMON_DFSELECT] = VIRTIO_REG_FEATURES_SEL,
	[VIRTIO_PCI_COMMON_DF] = VIRTIO_REG_FEATURES,
	[VIRTIO_PCI_COMMON_GFSELECT] = VIRTIO_REG_ACKED_SEL,
	[VIRTIO_PCI_COMMON_GF] = VIRTIO_REG_ACKED,
	[VIRTIO_PCI_COMMON_NUMQ] = VIRTIO_REG_NR_QUEUES,
	[VIRTIO_PCI_COMMON_STATUS] = VIRTIO_REG_STATUS,
	[VIRTIO_PCI_COMMON_CFGGENERATION] = VIRTIO_REG_GENERATION,
	[VIRTIO_PCI_COMMON_Q_SELECT] = VIRTIO_REG_QUEUE_SEL,
	[VIRTIO_PCI_COMMON_Q_SIZE] = VIRTIO_REG_QUEUE_SIZE,
	[VIRTIO_PCI_COMMON_Q_ENABLE] = VIRTIO_REG_QUEUE_ENABLE,
	[VIRTIO_PCI_COMMON_Q_DESCLO] = VIRTIO_REG_DESC,
	[VIRTIO_PCI_COMMON_Q_DESCHI] = VIRTIO_REG_DESC_HIGH,
	[VIRTIO_PCI_COMMON_Q_AVAILLO] = VIRTIO_REG_AVAIL,
	[VIRTIO_PCI_COMMON_Q_AVAILHI] = VIRTIO_REG_AVAIL_HIGH,
	[VIRTIO_PCI_COMMON_Q_USEDLO] = VIRTIO_REG_USED,
	[VIRTIO_PCI_COMMON_Q_USEDHI] = VIRTIO_REG_USED_HIGH,
};

/* The vector of the configuration or of the selected queue; NULL: @reg is none. */
static uint16_t *vector_at(struct virtio_pci *vp, uint64_t reg)
{
	if (reg == VIRTIO_PCI_COMMON_MSIX)
		return &vp->config_vector;
	if (reg == VIRTIO_PCI_COMMON_Q_MSIX && vp->dev->queue_sel < vp->dev->nr_queues)
		return &vp->queue_vectors[vp->dev->queue_sel];
	return NULL;
}

static uint64_t read_common(struct virtio_pci *vp, uint64_t reg)
{
	const uint16_t *vector = vector_at(vp, reg);

	if (vector)
		return __atomic_load_n(vector, __ATOMIC_ACQUIRE);
	if (reg == VIRTIO_PCI_COMMON_CFGGENERATION)
		return (uint8_t)virtio_read_reg(vp->dev, VIRTIO_REG_GENERATION);
	if (reg == VIRTIO_PCI_COMMON_Q_NOFF) /* doorbells lie in the queues' order */
		return vp->dev->queue_sel < vp->dev->nr_queues ? vp->dev->queue_sel : 0;
	return reg < sizeof(registers) ? virtio_read_reg(vp->dev, registers[reg]) : 0;
}

static void write_common(struct virtio_pci *vp, uint64_t reg, uint32_t value)
{
	uint16_t *vector = vector_at(vp, reg);

	/* What the driver reads back tells it whether there is such a vector. */
	if (vector)
		__atomic_store_n(vector, value < vp->msix.nr ? (uint16_t)value :
							       VIRTIO_MSI_NO_VECTOR,
				 __ATOMIC_RELEASE);
	else if (reg < sizeof(registers))
		virtio_write_reg(vp->dev, registers[reg], value);
}

/* --- the window -------------------------------------------------------------------------- */

/* An address of 8 bytes may be written at once. */
static void access_common(struct virtio_pci *vp, struct bus_access *access)
{
	uint64_t reg = access->off;

	if (!access->write) {
		access->value = read_common(vp, reg);
		if (access->len == 8)
			access->value |= read_common(vp, reg + 4) << 32;
		return;
	}
	write_common(vp, reg, (uint32_t)access->value);
	if (access->len == 8)
		write_common(vp, reg + 4, (uint32_t)(access->value >> 32));
}

void virtio_pci_access(struct virtio_pci *vp, struct bus_access *access)
{
	uint64_t part = access->off & ~(uint64_t)(VIRTIO_PCI_PART - 1);

	access->off -= part;
	switch (part) {
	case VIRTIO_PCI_COMMON:
		access_common(vp, access);
		break;
	case VIRTIO_PCI_ISR_STATUS:
		/* Reading it is the acknowledgement. */
		if (!access->write)
			access->value = __atomic_exchange_n(&vp->isr, 0, __ATOMIC_ACQ_REL);
		break;
	case VIRTIO_PCI_DEVICE:
		if (access->write) {
			virtio_write_config(vp->dev, (unsigned)access->off, &access->value,
					    access->len);
			break;
		}
		access->value = 0;
		virtio_read_config(vp->dev, (unsigned)access->off, &access->value, access->len);
		break;
	case VIRTIO_PCI_NOTIFY:
		if (access->write)
			virtio_doorbell(vp->dev, (unsigned)access->off / VIRTIO_PCI_NOTIFY_STEP);
		break;
	}
}
