/* SPDX-License-Identifier: MIT */
/* The machine: run, stop, reset. */
#include "vkvm/machine/machine.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "vkvm/machine/vcpu.h"
#include "vkvm/report.h"

/* --- running and stopping ---------------------------------------------------------------- */

static void kick_all(struct machine *m)
{
	for (unsigned i = 0; i < m->nr_cpus; i++)
		vcpu_kick(&m->cpus[i]);
}

bool machine_park(struct machine *m, struct vcpu *cpu)
{
	bool go_on;

	pthread_mutex_lock(&m->run_lock);
	m->parked++;
	pthread_cond_broadcast(&m->run_cond);
	while (m->stop_reasons && !m->quit)
		pthread_cond_wait(&m->run_cond, &m->run_lock);
	m->parked--;
	/* Kicks come under this lock, so none is lost. */
	__atomic_store_n(&cpu->run->immediate_exit, 0, __ATOMIC_SEQ_CST);
	go_on = !m->quit;
	pthread_mutex_unlock(&m->run_lock);
	return go_on;
}

void machine_stop(struct machine *m, enum stop_reason reason)
{
	pthread_mutex_lock(&m->run_lock);
	m->stop_reasons |= reason;
	kick_all(m);
	while (m->parked < m->nr_threads)
		pthread_cond_wait(&m->run_cond, &m->run_lock);
	pthread_mutex_unlock(&m->run_lock);
}

void machine_cont(struct machine *m, enum stop_reason reason)
{
	pthread_mutex_lock(&m->run_lock);
	m->stop_reasons &= ~(unsigned)reason;
	pthread_cond_broadcast(&m->run_cond);
	pthread_mutex_unlock(&m->run_lock);
}

bool machine_running(struct machine *m)
{
	bool running;

	pthread_mutex_lock(&m->run_lock);
	running = !(m->stop_reasons & ~(unsigned)STOP_CONTROL);
	pthread_mutex_unlock(&m->run_lock);
	return running;
}

void machine_raise(struct machine *m, enum machine_event event)
{
	const uint64_t one = 1;

	pthread_mutex_lock(&m->run_lock);
	m->events |= event;
	if (event != EVENT_WAKE) {
		m->stop_reasons |= event == EVENT_IO_ERROR ? STOP_IO_ERROR : STOP_EVENT;
		kick_all(m);
	}
	pthread_mutex_unlock(&m->run_lock);
	/* A full counter says the same. */
	if (write(m->event_fd, &one, sizeof(one)) < 0)
		return;
}

unsigned machine_take_events(struct machine *m)
{
	unsigned events;
	uint64_t count;

	if (read(m->event_fd, &count, sizeof(count)) < 0)
		return 0;
	pthread_mutex_lock(&m->run_lock);
	events = m->events;
	m->events = 0;
	pthread_mutex_unlock(&m->run_lock);
	return events;
}

/* --- reset ------------------------------------------------------------------------------- */

void machine_on_reset(struct machine *m, void (*reset)(void *arg), void *arg)
{
	assert(m->nr_resets < MACHINE_MAX_RESETS);
	m->resets[m->nr_resets].reset = reset;
	m->resets[m->nr_resets++].arg = arg;
}

static int save_chips(struct machine *m)
{
	for (unsigned i = 0; i < 3; i++) {
		m->chips[i].chip_id = i;
		if (ioctl(m->vm.fd, KVM_GET_IRQCHIP, &m->chips[i]) < 0)
			return -errno;
	}
	return ioctl(m->vm.fd, KVM_GET_PIT2, &m->pit) < 0 ? -errno : 0;
}

void machine_reset(struct machine *m)
{
	for (unsigned i = 0; i < m->nr_cpus; i++)
		vcpu_reset(&m->cpus[i]);
	for (unsigned i = 0; i < 3; i++) {
		if (ioctl(m->vm.fd, KVM_SET_IRQCHIP, &m->chips[i]) < 0)
			report_error("Could not reset interrupt controller %u: %s", i,
				     strerror(errno));
	}
	if (ioctl(m->vm.fd, KVM_SET_PIT2, &m->pit) < 0)
		report_error("Could not reset the interval timer: %s", strerror(errno));
	for (unsigned i = 0; i < m->nr_resets; i++)
		m->resets[i].reset(m->resets[i].arg);
}

/* --- life -------------------------------------------------------------------------------- */

static void kicked(int sig)
{
	(void)sig; /* its arrival is what matters: the guest is left */
}

int machine_create(struct machine *m, uint64_t ram_size, unsigned nr_cpus, struct bd_error *err)
{
	struct sigaction action = { .sa_handler = kicked };
	int ret;

	*m = (struct machine){ .event_fd = -1, .nr_cpus = nr_cpus };
	pthread_mutex_init(&m->lock, NULL);
	pthread_mutex_init(&m->run_lock, NULL);
	pthread_cond_init(&m->run_cond, NULL);
	sigaction(MACHINE_KICK, &action, NULL);
	ret = vm_create(&m->vm, ram_size, err);
	if (ret < 0)
		return ret;
	m->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	m->cpus = calloc(nr_cpus, sizeof(*m->cpus));
	if (!m->cpus || m->event_fd < 0)
		return bd_fail(err, -ENOMEM, "Out of memory");
	for (unsigned i = 0; i < nr_cpus; i++)
		m->cpus[i].fd = -1;
	for (unsigned i = 0; i < nr_cpus; i++) {
		ret = vcpu_create(&m->cpus[i], m, i, err);
		if (ret < 0)
			return ret;
	}
	ret = save_chips(m);
	return ret < 0 ? bd_fail_errno(err, ret, "Could not read the machine's state") : 0;
}

int machine_start(struct machine *m, struct bd_error *err)
{
	machine_reset(m);
	for (unsigned i = 0; i < m->nr_cpus; i++) {
		int ret = vcpu_start(&m->cpus[i], err);

		if (ret < 0)
			return ret;
		m->nr_threads++;
	}
	return 0;
}

void machine_end(struct machine *m)
{
	if (!m->nr_threads)
		return;
	machine_stop(m, STOP_CONTROL);
	pthread_mutex_lock(&m->run_lock);
	m->quit = true;
	pthread_cond_broadcast(&m->run_cond);
	pthread_mutex_unlock(&m->run_lock);
	for (unsigned i = 0; i < m->nr_threads; i++)
		pthread_join(m->cpus[i].thread, NULL);
	m->nr_threads = 0;
}

void machine_destroy(struct machine *m)
{
	if (!m->nr_cpus)
		return; /* never created */
	for (unsigned i = 0; m->cpus && i < m->nr_cpus; i++)
		vcpu_destroy(&m->cpus[i]);
	free(m->cpus);
	if (m->event_fd >= 0)
		close(m->event_fd);
	vm_destroy(&m->vm);
}
