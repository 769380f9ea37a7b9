/* SPDX-License-Identifier: MIT */
/* A 16550 on COM1.  Called under the machine's lock. */
#ifndef VKVM_SERIAL_H
#define VKVM_SERIAL_H

#include "vkvm/machine/bus.h"

enum { SERIAL_PORT = 0x3f8, SERIAL_IRQ = 4, SERIAL_ROOM = 1024 };

struct serial {
	uint8_t ier, lcr, mcr, lsr, scr, dll, dlm;
	bool fifo, thr_empty;        /* thr_empty: that interrupt has not been taken */
	uint8_t input[SERIAL_ROOM];  /* typed and not read, a ring */
	unsigned head, nr_input;
	int irq_fd;                  /* writing to it is an edge on line 4 */
	/* One byte of output. */
	void (*output)(void *user, uint8_t byte);
	/* The guest has made room in a full input buffer. */
	void (*room)(void *user);
	void *user;
};

void serial_init(struct serial *serial, int irq_fd);
void serial_reset(struct serial *serial);
void serial_access(void *device, struct bus_access *access);
/* Bytes that can be put. */
unsigned serial_room(const struct serial *serial);
/* Type @len bytes, at most serial_room(). */
void serial_put(struct serial *serial, const uint8_t *data, unsigned len);
/* Type a break: a byte of zero, with its mark in the line's status. */
void serial_break(struct serial *serial);

#endif
