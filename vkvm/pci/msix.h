/* SPDX-License-Identifier: MIT */
/* MSI-X: a table of messages in the guest's hands, raised from any thread. */
#ifndef VKVM_MSIX_H
#define VKVM_MSIX_H

#include "vkvm/pci/pci.h"

enum {
	MSIX_MAX_VECTORS = 32,
	MSIX_PBA = 0x800,            /* of the pending bits, behind the table */
	MSIX_WINDOW = 0x1000,        /* bytes of both */
};

struct msix {
	struct machine *machine;
	struct pci_device *dev;
	unsigned nr, cap;            /* vectors; offset of the capability */
	pthread_mutex_t lock;        /* of what follows */
	bool enabled, masked;        /* the whole function */
	struct msix_vector {
		uint64_t address;
		uint32_t data, control;
		bool pending;
		int fd;              /* raises the message */
		unsigned gsi;
	} vectors[MSIX_MAX_VECTORS];
};

/* Give @dev @nr vectors, with their table in window @bar. */
int msix_init(struct msix *msix, struct machine *m, struct pci_device *dev, unsigned nr,
	      unsigned bar);
void msix_clear(struct msix *msix);
/* The window's handler; its device is the struct msix. */
void msix_access(void *device, struct bus_access *access);
/* The capability's control register may have been written. */
void msix_written(struct msix *msix);
/* Send @vector's message, or remember it while it is masked.  From any thread. */
void msix_raise(struct msix *msix, unsigned vector);
void msix_reset(struct msix *msix);

#endif
