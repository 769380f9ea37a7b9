/* SPDX-License-Identifier: MIT */
/* One virtual processor: its thread, its exits, its state at power on. */
#ifndef VKVM_VCPU_H
#define VKVM_VCPU_H

#include "vkvm/machine/machine.h"

/* What a reset restores. */
struct vcpu_state {
	struct kvm_regs regs;
	struct kvm_sregs sregs;
	uint32_t xsave[1024];        /* struct kvm_xsave without what may follow its region */
	struct kvm_xcrs xcrs;
	struct kvm_debugregs debugregs;
	struct kvm_vcpu_events events;
	struct kvm_lapic_state lapic;
	struct kvm_mp_state mp;
	struct kvm_msr_entry *msrs;  /* heap; all that KVM can save */
	unsigned nr_msrs;
};

struct vcpu {
	struct machine *machine;
	unsigned idx;
	int fd;
	struct kvm_run *run;
	size_t run_size;
	pthread_t thread;
	bool has_thread;
	struct vcpu_state power_on;
};

int vcpu_create(struct vcpu *cpu, struct machine *m, unsigned idx, struct bd_error *err);
void vcpu_destroy(struct vcpu *cpu);
int vcpu_start(struct vcpu *cpu, struct bd_error *err);
/* Bring it out of the guest.  The machine's run_lock is held. */
void vcpu_kick(struct vcpu *cpu);
/* Restore the state at power on.  The thread is parked. */
void vcpu_reset(struct vcpu *cpu);

/*
 * cpuid.c: what the processor says of itself: what KVM can do on this host, and where this one of
 * @nr stands.
 */
int vcpu_set_cpuid(struct vm *vm, int vcpu_fd, unsigned idx, unsigned nr, struct bd_error *err);

#endif
