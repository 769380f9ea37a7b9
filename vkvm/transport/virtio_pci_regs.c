/* SPDX-License-Identifier: MIT */
/* The registers of virtio over PCI: common configuration, interrupt status, doorbells. */
#include "vkvm/transport/virtio_pci_regs.h"

#include <linux/virtio_pci.h>
#include <string.h>

enum { QUEUE_MSIX = VIRTIO_PCI_COMMON_Q_MSIX, CFG_MSIX = VIRTIO_PCI_COMMON_MSIX };

static uint16_t vector_of(const uint16_t *vector)
{
	return __atomic_load_n(vector, __ATOMIC_ACQUIRE);
}

/* What the driver reads back tells it whether there is such a vector. */
static void set_vector(struct virtio_pci *vp, uint16_t *vector, uint64_t value)
{
	uint16_t which = value < vp->msix.nr ? (uint16_t)value : VIRTIO_MSI_NO_VECTOR;

	__atomic_store_n(vector, which, __ATOMIC_RELEASE);
}

/* --- common configuration ---------------------------------------------------------------- */

static uint64_t read_queue(const struct virtio_pci *vp, uint64_t reg)
{
	const struct virtqueue *vq = &vp->dev->queues[vp->queue];

	if (vp->queue >= vp->dev->nr_queues)
		return 0;
	switch (reg) {
	case VIRTIO_PCI_COMMON_Q_SIZE: return vq->size;
	case QUEUE_MSIX: return vector_of(&vp->queue_vectors[vp->queue]);
	case VIRTIO_PCI_COMMON_Q_ENABLE: return vq->enabled;
	case VIRTIO_PCI_COMMON_Q_NOFF: return vp->queue;
	case VIRTIO_PCI_COMMON_Q_DESCLO: return (uint32_t)vq->desc_gpa;
	case VIRTIO_PCI_COMMON_Q_DESCHI: return vq->desc_gpa >> 32;
	case VIRTIO_PCI_COMMON_Q_AVAILLO: return (uint32_t)vq->avail_gpa;
	case VIRTIO_PCI_COMMON_Q_AVAILHI: return vq->avail_gpa >> 32;
	case VIRTIO_PCI_COMMON_Q_USEDLO: return (uint32_t)vq->used_gpa;
	case VIRTIO_PCI_COMMON_Q_USEDHI: return vq->used_gpa >> 32;
	default: return 0;
	}
}

static uint64_t read_common(struct virtio_pci *vp, uint64_t reg)
{
	struct virtio_device *dev = vp->dev;

	switch (reg) {
	case VIRTIO_PCI_COMMON_DFSELECT: return vp->feature_word;
	case VIRTIO_PCI_COMMON_DF: return virtio_features(dev, vp->feature_word);
	case VIRTIO_PCI_COMMON_GFSELECT: return vp->acked_word;
	case VIRTIO_PCI_COMMON_GF: return virtio_acked(dev, vp->acked_word);
	case CFG_MSIX: return vector_of(&vp->config_vector);
	case VIRTIO_PCI_COMMON_NUMQ: return dev->nr_queues;
	case VIRTIO_PCI_COMMON_STATUS: return virtio_status(dev);
	case VIRTIO_PCI_COMMON_CFGGENERATION:
		return (uint8_t)__atomic_load_n(&dev->generation, __ATOMIC_ACQUIRE);
	case VIRTIO_PCI_COMMON_Q_SELECT: return vp->queue;
	default: return read_queue(vp, reg);
	}
}

static void write_queue(struct virtio_pci *vp, uint64_t reg, uint64_t value)
{
	struct virtqueue *vq = virtio_queue_setup(vp->dev, vp->queue);

	if (!vq)
		return;
	switch (reg) {
	case VIRTIO_PCI_COMMON_Q_SIZE:
		if (value <= vq->max_size)
			vq->size = (uint16_t)value;
		break;
	case VIRTIO_PCI_COMMON_Q_ENABLE:
		/* Queues are enabled before the driver says that it is ready. */
		vq->enabled = value == 1 && !vp->dev->started;
		break;
	case VIRTIO_PCI_COMMON_Q_DESCLO:
	case VIRTIO_PCI_COMMON_Q_DESCHI:
		virtio_set_half(&vq->desc_gpa, reg == VIRTIO_PCI_COMMON_Q_DESCHI, value);
		break;
	case VIRTIO_PCI_COMMON_Q_AVAILLO:
	case VIRTIO_PCI_COMMON_Q_AVAILHI:
		virtio_set_half(&vq->avail_gpa, reg == VIRTIO_PCI_COMMON_Q_AVAILHI, value);
		break;
	case VIRTIO_PCI_COMMON_Q_USEDLO:
	case VIRTIO_PCI_COMMON_Q_USEDHI:
		virtio_set_half(&vq->used_gpa, reg == VIRTIO_PCI_COMMON_Q_USEDHI, value);
		break;
	}
}

static void write_common(struct virtio_pci *vp, uint64_t reg, uint64_t value)
{
	switch (reg) {
	case VIRTIO_PCI_COMMON_DFSELECT:
		vp->feature_word = (uint32_t)value;
		break;
	case VIRTIO_PCI_COMMON_GFSELECT:
		vp->acked_word = (uint32_t)value;
		break;
	case VIRTIO_PCI_COMMON_GF:
		virtio_ack(vp->dev, vp->acked_word, (uint32_t)value);
		break;
	case CFG_MSIX:
		set_vector(vp, &vp->config_vector, value);
		break;
	case VIRTIO_PCI_COMMON_STATUS:
		virtio_set_status(vp->dev, (uint8_t)value);
		if (!(uint8_t)value)
			virtio_pci_reset_vectors(vp);
		break;
	case VIRTIO_PCI_COMMON_Q_SELECT:
		vp->queue = (uint16_t)value;
		break;
	case QUEUE_MSIX:
		if (vp->queue < vp->dev->nr_queues)
			set_vector(vp, &vp->queue_vectors[vp->queue], value);
		break;
	default:
		write_queue(vp, reg, value);
	}
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
	write_common(vp, reg, access->len == 8 ? (uint32_t)access->value : access->value);
	if (access->len == 8)
		write_common(vp, reg + 4, access->value >> 32);
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
