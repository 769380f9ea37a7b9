/* SPDX-License-Identifier: MIT */
/* Power off, and the power button. */
#include "vkvm/devices/power.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

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
	} else if (access->off == 0 && (value & 1 << 5) && (value >> 2 & 7) == POWER_OFF_TYPE) {
		machine_raise(power->machine, EVENT_SHUTDOWN);
	}
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
	return vm_irqfd(&m->vm, POWER_IRQ, power->irq_fd);
}
