/* SPDX-License-Identifier: MIT */
/* The small devices of a PC: clock and CMOS, keyboard controller, reset, logs, debug exit. */
#ifndef VKVM_PLATFORM_H
#define VKVM_PLATFORM_H

#include "vkvm/machine/machine.h"

struct platform {
	struct machine *machine;
	uint8_t cmos[128], cmos_idx;
	struct {
		uint8_t out[4];      /* answers not read yet */
		unsigned nr_out;
		uint8_t mode;        /* its command byte */
		uint8_t command;     /* one that waits for its data byte; 0: none */
	} keyboard;
	int log_fd;                  /* where the firmware's log goes; -1: nowhere */
	uint8_t boot_setting;        /* port 0x92 */
};

/* Put the devices on @m's ports.  @debug_port: of the debug exit, 0: there is none. */
void platform_init(struct platform *platform, struct machine *m, int log_fd, uint16_t debug_port);

#endif
