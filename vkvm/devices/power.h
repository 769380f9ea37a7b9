/* SPDX-License-Identifier: MIT */
/* ACPI's few registers: sleep control, the power button's event, the fixed registers of a PC. */
#ifndef VKVM_POWER_H
#define VKVM_POWER_H

#include "vkvm/machine/machine.h"

enum {
	POWER_SLEEP_CONTROL = 0x600, /* ports */
	POWER_SLEEP_STATUS = 0x601,
	POWER_EVENTS = 0x604,        /* reading clears them */
	POWER_PM1_EVENT = 0x608,     /* status, enable; 16 bits each */
	POWER_PM1_CONTROL = 0x60c,   /* 16 bits */
	POWER_PM1_END = 0x60e,
	POWER_IRQ = 9,
	POWER_SCI = 11,              /* of the fixed registers, which have no event: never raised */
	POWER_OFF_TYPE = 5,          /* sleep type of S5 */
	POWER_RESET_PORT = 0xcf9,
	POWER_RESET_VALUE = 6,
	POWER_EVENT_BUTTON = 1,
};

struct power {
	struct machine *machine;
	uint8_t events;              /* POWER_EVENT_*; under the machine's lock */
	uint8_t pm1[POWER_PM1_END - POWER_PM1_EVENT];
	int irq_fd;
};

int power_init(struct power *power, struct machine *m);
/* Press the power button.  Not under the machine's lock. */
void power_press(struct power *power);

#endif
