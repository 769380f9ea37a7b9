/* SPDX-License-Identifier: MIT */
/* Power off, and the power button. */
#include "vkvm/devices/power.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
	SLEEP_ENABLE = 1 << 5, SLEEP_TYPE_SHIFT = 2, SLEEP_TYPE_MASK = 7,
	PM1_ENABLE = 2, PM1_CONTROL = POWER_PM1_CONTROL - POWER_PM1_EVENT,
	PM1_ACPI_MODE = 1,
};

/* The sleep control register and the upper half of PM1 control have the same bits. */
static void sleep_control(struct power *power, uint8_t value)
{
	if ((value & SLEEP_ENABLE) &&
	    (value >> SLEEP_TYPE_SHIFT & SLEEP_TYPE_MASK) == POWER_OFF_TYPE)
		machine_raise(power->machine, EVENT_SHUTDOWN);
}

static void access_power(void *device, struct bus_access *access)
{
	struct power *power = device;
	uint8_t value = (uint8_t)access->value;

	if (!access->write) {
		access->value = 0;
		if (access->off == POWER_EVENTS - POWER_SLEEP_CONTROL) {
			access->value = power->events;
			power->events = 0;
		}
	} else if (access->off == 0) {
		sleep_control(power, value);
	}
}

/*
 * Nothing ever happens here, so the status stays zero; what is enabled reads back as written.
 * Spec: ACPI 6.4, 4.8.3.1 and 4.8.3.2.
 */
static void access_pm1(void *device, struct bus_access *access)
{
	struct power *power = device;

	if (!access->write)
		access->value = 0;
	for (unsigned i = 0; i < access->len && access->off + i < sizeof(power->pm1); i++) {
		uint8_t *at = &power->pm1[access->off + i];

		if (!access->write)
			access->value |= (uint64_t)*at << 8 * i;
		else if (access->off + i >= PM1_ENABLE)
			*at = (uint8_t)(access->value >> 8 * i);
	}
	sleep_control(power, power->pm1[PM1_CONTROL + 1]);
	power->pm1[PM1_CONTROL + 1] &= (uint8_t)~SLEEP_ENABLE;
	power->pm1[PM1_CONTROL] |= PM1_ACPI_MODE;
}

static void reset(void *arg)
{
	struct power *power = arg;

	memset(power->pm1, 0, sizeof(power->pm1));
	power->pm1[PM1_CONTROL] = PM1_ACPI_MODE;
}

void power_press(struct power *power)
{
	const uint64_t one = 1;

	pthread_mutex_lock(&power->machine->lock);
	power->events |= POWER_EVENT_BUTTON;
	pthread_mutex_unlock(&power->machine->lock);
	if (write(power->irq_fd, &one, sizeof(one)) < 0)
		return;
}

int power_init(struct power *power, struct machine *m)
{
	power->machine = m;
	power->irq_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (power->irq_fd < 0)
		return -errno;
	bus_add(&m->ports, POWER_SLEEP_CONTROL, 8, access_power, power);
	bus_add(&m->ports, POWER_PM1_EVENT, sizeof(power->pm1), access_pm1, power);
	machine_on_reset(m, reset, power);
	return vm_irqfd(&m->vm, POWER_IRQ, power->irq_fd);
}
