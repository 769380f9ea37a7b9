/* SPDX-License-Identifier: MIT */
/*
 * The machine: vCPUs, buses, and what makes them run, stop, reset and end.
 *
 * vCPU threads run the guest and answer its accesses under the machine's lock.  They never decide:
 * what ends or resets the machine is raised as an event, stops all of them, and is left to the
 * control thread.
 */
#ifndef VKVM_MACHINE_H
#define VKVM_MACHINE_H

#include <signal.h>

#include "vkvm/machine/bus.h"
#include "vkvm/machine/vm.h"

enum { MACHINE_MAX_CPUS = 64, MACHINE_MAX_RESETS = 64 };

/* Sent to a vCPU's thread to bring it out of the guest. */
#define MACHINE_KICK SIGRTMIN

enum machine_event {
	EVENT_SHUTDOWN = 1,     /* the guest switched itself off */
	EVENT_RESET = 2,        /* the guest wants a reset, or broke down in a way that means one */
	EVENT_PANIC = 4,        /* a vCPU cannot go on */
	EVENT_DEBUG_EXIT = 8,   /* the guest ends the program with m->exit_status */
	EVENT_IO_ERROR = 16,    /* a disk stopped the machine */
	EVENT_WAKE = 32,        /* nothing but that the control thread should look */
};

/* Why vCPUs do not run; they do when there is no reason left. */
enum stop_reason {
	STOP_EVENT = 1,         /* an event is being handled */
	STOP_USER = 2,          /* -S, stop */
	STOP_IO_ERROR = 4,
	STOP_CONTROL = 8,       /* for a moment, by the control thread */
};

struct vcpu;

struct machine {
	struct vm vm;
	struct bus ports, mmio;
	pthread_mutex_t lock;   /* devices */
	unsigned nr_cpus;
	struct vcpu *cpus;

	pthread_mutex_t run_lock;
	pthread_cond_t run_cond;
	unsigned stop_reasons;  /* enum stop_reason */
	unsigned parked;        /* vCPU threads that wait for it to be 0 */
	unsigned nr_threads;
	bool quit;
	unsigned events;        /* raised and not taken */
	int event_fd;           /* readable when there are some */
	int exit_status;

	struct {
		void (*reset)(void *arg);
		void *arg;
	} resets[MACHINE_MAX_RESETS];
	unsigned nr_resets;
	struct kvm_irqchip chips[3]; /* state at power on */
	struct kvm_pit_state2 pit;
};

/* A machine with memory and vCPUs that do not run yet. */
int machine_create(struct machine *m, uint64_t ram_size, unsigned nr_cpus, struct bd_error *err);
/* Call @reset at each reset, in order of registration, with all vCPUs stopped. */
void machine_on_reset(struct machine *m, void (*reset)(void *arg), void *arg);
/* Reset everything and start the vCPU threads. */
int machine_start(struct machine *m, struct bd_error *err);
/* End the vCPU threads; nothing of the guest runs afterwards. */
void machine_end(struct machine *m);
void machine_destroy(struct machine *m);

/* Stop all vCPUs and wait until they are out of the guest.  Not on a vCPU's thread. */
void machine_stop(struct machine *m, enum stop_reason reason);
/* Take back a reason. */
void machine_cont(struct machine *m, enum stop_reason reason);
bool machine_running(struct machine *m);
/* Back to the state at power on.  All vCPUs are stopped. */
void machine_reset(struct machine *m);

/* From any thread, and without waiting: events but EVENT_WAKE stop the vCPUs. */
void machine_raise(struct machine *m, enum machine_event event);
/* The events raised since the last call. */
unsigned machine_take_events(struct machine *m);

/* For vcpu.c: wait while there is a reason to.  false: the thread must end. */
bool machine_park(struct machine *m, struct vcpu *cpu);

#endif
