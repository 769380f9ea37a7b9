/* SPDX-License-Identifier: MIT */
/* A 16550: output goes out at once, input waits in a buffer. */
#include "vkvm/devices/serial.h"

#include <linux/serial_reg.h>
#include <unistd.h>

static uint8_t pending(const struct serial *serial)
{
	if ((serial->ier & UART_IER_RDI) && serial->nr_input)
		return UART_IIR_RDI;
	if ((serial->ier & UART_IER_THRI) && serial->thr_empty)
		return UART_IIR_THRI;
	return UART_IIR_NO_INT;
}

/* The line is an edge: say it each time something new may be pending. */
static void update_irq(const struct serial *serial)
{
	const uint64_t one = 1;

	if (pending(serial) != UART_IIR_NO_INT && serial->irq_fd >= 0 &&
	    write(serial->irq_fd, &one, sizeof(one)) < 0)
		return;
}

void serial_reset(struct serial *serial)
{
	serial->ier = serial->lcr = serial->scr = serial->dlm = 0;
	serial->dll = 12; /* 9600 baud, for whoever looks */
	serial->mcr = UART_MCR_OUT2;
	serial->lsr = UART_LSR_THRE | UART_LSR_TEMT;
	serial->fifo = serial->thr_empty = false;
}

void serial_init(struct serial *serial, int irq_fd)
{
	serial->irq_fd = irq_fd;
	serial_reset(serial);
}

unsigned serial_room(const struct serial *serial)
{
	return SERIAL_ROOM - serial->nr_input;
}

void serial_put(struct serial *serial, const uint8_t *data, unsigned len)
{
	for (unsigned i = 0; i < len; i++)
		serial->input[(serial->head + serial->nr_input++) % SERIAL_ROOM] = data[i];
	update_irq(serial);
}

void serial_break(struct serial *serial)
{
	const uint8_t nothing = 0;

	if (!serial_room(serial))
		return;
	serial->lsr |= UART_LSR_BI;
	serial_put(serial, &nothing, 1);
}

static uint8_t take_input(struct serial *serial)
{
	uint8_t byte;

	if (!serial->nr_input)
		return 0;
	byte = serial->input[serial->head];
	serial->head = (serial->head + 1) % SERIAL_ROOM;
	if (serial->nr_input-- == SERIAL_ROOM && serial->room)
		serial->room(serial->user);
	return byte;
}

static void transmit(struct serial *serial, uint8_t byte)
{
	if (serial->mcr & UART_MCR_LOOP) {
		if (serial_room(serial))
			serial_put(serial, &byte, 1);
	} else if (serial->output) {
		serial->output(serial->user, byte);
	}
	serial->thr_empty = true;
	update_irq(serial);
}

/* In loopback the modem lines are our own outputs. */
static uint8_t modem_status(const struct serial *serial)
{
	uint8_t mcr = serial->mcr, msr = 0;

	if (!(mcr & UART_MCR_LOOP))
		return UART_MSR_DCD | UART_MSR_DSR | UART_MSR_CTS;
	msr |= mcr & UART_MCR_DTR ? UART_MSR_DSR : 0;
	msr |= mcr & UART_MCR_RTS ? UART_MSR_CTS : 0;
	msr |= mcr & UART_MCR_OUT1 ? UART_MSR_RI : 0;
	msr |= mcr & UART_MCR_OUT2 ? UART_MSR_DCD : 0;
	return msr;
}

static uint8_t read_register(struct serial *serial, unsigned reg)
{
	bool divisor = serial->lcr & UART_LCR_DLAB;
	uint8_t iir, lsr;

	switch (reg) {
	case UART_RX:
		return divisor ? serial->dll : take_input(serial);
	case UART_IER:
		return divisor ? serial->dlm : serial->ier;
	case UART_IIR:
		iir = pending(serial);
		if (iir == UART_IIR_THRI)
			serial->thr_empty = false;
		return iir | (serial->fifo ? 0xc0 : 0);
	case UART_LCR:
		return serial->lcr;
	case UART_MCR:
		return serial->mcr;
	case UART_LSR:
		lsr = serial->lsr | (serial->nr_input ? UART_LSR_DR : 0);
		serial->lsr &= (uint8_t)~UART_LSR_BI;
		return lsr;
	case UART_MSR:
		return modem_status(serial);
	default:
		return serial->scr;
	}
}

static void write_register(struct serial *serial, unsigned reg, uint8_t value)
{
	bool divisor = serial->lcr & UART_LCR_DLAB;

	switch (reg) {
	case UART_TX:
		if (divisor)
			serial->dll = value;
		else
			transmit(serial, value);
		break;
	case UART_IER:
		if (divisor) {
			serial->dlm = value;
			break;
		}
		/* Switching it on says that the transmitter is empty, which it always is. */
		if (value & ~serial->ier & UART_IER_THRI)
			serial->thr_empty = true;
		serial->ier = value & 0xf;
		update_irq(serial);
		break;
	case UART_FCR:
		serial->fifo = value & UART_FCR_ENABLE_FIFO;
		if (value & UART_FCR_CLEAR_RCVR)
			serial->nr_input = 0;
		break;
	case UART_LCR:
		serial->lcr = value;
		break;
	case UART_MCR:
		serial->mcr = value & 0x1f;
		break;
	case UART_SCR:
		serial->scr = value;
		break;
	}
}

void serial_access(void *device, struct bus_access *access)
{
	if (access->write)
		write_register(device, (unsigned)access->off, (uint8_t)access->value);
	else
		access->value = read_register(device, (unsigned)access->off);
}
