/* SPDX-License-Identifier: MIT */
/* A virtual processor: run the guest, answer its exits. */
#include "vkvm/machine/vcpu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vkvm/report.h"

/* --- state at power on ------------------------------------------------------------------- */

enum { MAX_MSRS = 1024, MSR_TSC = 0x10 };

static bool msr_access(int fd, unsigned long request, struct kvm_msr_entry *entry)
{
	/* A header of two words, and one entry behind it. */
	struct {
		uint32_t nr, pad;
		struct kvm_msr_entry entry;
	} msr = { 1, 0, *entry };
	bool done = ioctl(fd, request, &msr) == 1;

	*entry = msr.entry;
	return done;
}

/* All registers KVM names: which of them a guest changes is its own affair. */
static int save_msrs(struct vcpu *cpu)
{
	struct vcpu_state *state = &cpu->power_on;
	struct {
		uint32_t nr, indices[MAX_MSRS];
	} list = { .nr = MAX_MSRS };

	if (ioctl(cpu->machine->vm.kvm, KVM_GET_MSR_INDEX_LIST, &list) < 0)
		return -errno;
	state->msrs = calloc(list.nr, sizeof(*state->msrs));
	if (!state->msrs)
		return -ENOMEM;
	for (unsigned i = 0; i < list.nr; i++) {
		struct kvm_msr_entry entry = { .index = list.indices[i] };

		if (!msr_access(cpu->fd, KVM_GET_MSRS, &entry))
			continue;
		/* Zero starts the counters of all processors together. */
		if (entry.index == MSR_TSC)
			entry.data = 0;
		state->msrs[state->nr_msrs++] = entry;
	}
	return 0;
}

static int save(struct vcpu *cpu)
{
	struct vcpu_state *state = &cpu->power_on;
	int fd = cpu->fd;

	if (ioctl(fd, KVM_GET_REGS, &state->regs) < 0 ||
	    ioctl(fd, KVM_GET_SREGS, &state->sregs) < 0 ||
	    ioctl(fd, KVM_GET_XSAVE, state->xsave) < 0 ||
	    ioctl(fd, KVM_GET_XCRS, &state->xcrs) < 0 ||
	    ioctl(fd, KVM_GET_DEBUGREGS, &state->debugregs) < 0 ||
	    ioctl(fd, KVM_GET_VCPU_EVENTS, &state->events) < 0 ||
	    ioctl(fd, KVM_GET_LAPIC, &state->lapic) < 0 ||
	    ioctl(fd, KVM_GET_MP_STATE, &state->mp) < 0)
		return -errno;
	return save_msrs(cpu);
}

void vcpu_reset(struct vcpu *cpu)
{
	struct vcpu_state *state = &cpu->power_on;
	int fd = cpu->fd;

	/* The local APIC's mode stands in sregs, so they come first. */
	if (ioctl(fd, KVM_SET_SREGS, &state->sregs) < 0 ||
	    ioctl(fd, KVM_SET_REGS, &state->regs) < 0 ||
	    ioctl(fd, KVM_SET_XCRS, &state->xcrs) < 0 ||
	    ioctl(fd, KVM_SET_XSAVE, state->xsave) < 0 ||
	    ioctl(fd, KVM_SET_DEBUGREGS, &state->debugregs) < 0)
		report_error("Could not reset processor %u: %s", cpu->idx, strerror(errno));
	for (unsigned i = 0; i < state->nr_msrs; i++)
		msr_access(fd, KVM_SET_MSRS, &state->msrs[i]);
	/* The deadline timer of the guest that ends must not fire in the next one. */
	if (ioctl(fd, KVM_SET_LAPIC, &state->lapic) < 0 ||
	    ioctl(fd, KVM_SET_VCPU_EVENTS, &state->events) < 0 ||
	    ioctl(fd, KVM_SET_MP_STATE, &state->mp) < 0)
		report_error("Could not reset processor %u: %s", cpu->idx, strerror(errno));
}

/* --- exits ------------------------------------------------------------------------------- */

static void handle_io(struct vcpu *cpu)
{
	struct kvm_run *run = cpu->run;
	uint8_t *data = (uint8_t *)run + run->io.data_offset;

	pthread_mutex_lock(&cpu->machine->lock);
	for (uint32_t i = 0; i < run->io.count; i++)
		bus_access(&cpu->machine->ports, run->io.port, data + i * run->io.size,
			   run->io.size, run->io.direction == KVM_EXIT_IO_OUT);
	pthread_mutex_unlock(&cpu->machine->lock);
}

static void handle_mmio(struct vcpu *cpu)
{
	struct kvm_run *run = cpu->run;

	pthread_mutex_lock(&cpu->machine->lock);
	bus_access(&cpu->machine->mmio, run->mmio.phys_addr, run->mmio.data, run->mmio.len,
		   run->mmio.is_write);
	pthread_mutex_unlock(&cpu->machine->lock);
}

/* The bytes of the instruction KVM could not carry out, if it says so. */
static void insn_text(const struct kvm_run *run, char *text, size_t size)
{
	unsigned nr = 0;

	text[0] = 0;
	if (run->internal.suberror != KVM_INTERNAL_ERROR_EMULATION || run->internal.ndata < 2 ||
	    !(run->emulation_failure.flags & KVM_INTERNAL_ERROR_EMULATION_FLAG_INSTRUCTION_BYTES))
		return;
	nr = run->emulation_failure.insn_size;
	for (unsigned i = 0; i < nr && i < sizeof(run->emulation_failure.insn_bytes); i++)
		snprintf(text + 3 * i, size - 3 * i, " %02x", run->emulation_failure.insn_bytes[i]);
}

static void panic(struct vcpu *cpu, const char *what, uint64_t code)
{
	char insn[64] = "";
	struct kvm_regs regs = {0};
	struct kvm_sregs sregs = {0};

	if (cpu->run->exit_reason == KVM_EXIT_INTERNAL_ERROR)
		insn_text(cpu->run, insn, sizeof(insn));
	ioctl(cpu->fd, KVM_GET_REGS, &regs);
	ioctl(cpu->fd, KVM_GET_SREGS, &sregs);
	report_error("KVM %s 0x%llx on processor %u%s%s", what, (unsigned long long)code, cpu->idx,
		     insn[0] ? ", instruction" : "", insn);
	report_error("rip=%llx cs=%x rsp=%llx rax=%llx rbx=%llx rcx=%llx rdx=%llx rsi=%llx "
		     "rdi=%llx cr0=%llx cr2=%llx cr3=%llx cr4=%llx efer=%llx", regs.rip,
		     sregs.cs.selector, regs.rsp, regs.rax, regs.rbx, regs.rcx, regs.rdx, regs.rsi,
		     regs.rdi, sregs.cr0, sregs.cr2, sregs.cr3, sregs.cr4, sregs.efer);
	machine_raise(cpu->machine, EVENT_PANIC);
}

static void handle_exit(struct vcpu *cpu)
{
	struct kvm_run *run = cpu->run;

	switch (run->exit_reason) {
	case KVM_EXIT_IO:
		handle_io(cpu);
		break;
	case KVM_EXIT_MMIO:
		handle_mmio(cpu);
		break;
	case KVM_EXIT_SHUTDOWN: /* a triple fault resets a PC */
		machine_raise(cpu->machine, EVENT_RESET);
		break;
	case KVM_EXIT_SYSTEM_EVENT:
		machine_raise(cpu->machine, run->system_event.type == KVM_SYSTEM_EVENT_RESET ?
						    EVENT_RESET : EVENT_SHUTDOWN);
		break;
	case KVM_EXIT_FAIL_ENTRY:
		panic(cpu, "entry failed:", run->fail_entry.hardware_entry_failure_reason);
		break;
	case KVM_EXIT_INTERNAL_ERROR:
		panic(cpu, "internal error: suberror", run->internal.suberror);
		break;
	case KVM_EXIT_INTR:
	case KVM_EXIT_IRQ_WINDOW_OPEN:
		break;
	default:
		panic(cpu, "left the guest for unknown reason", run->exit_reason);
	}
}

static void *vcpu_main(void *arg)
{
	struct vcpu *cpu = arg;

	while (machine_park(cpu->machine, cpu)) {
		/* -EINTR: kicked; what the guest was in the middle of is complete. */
		while (ioctl(cpu->fd, KVM_RUN, 0) == 0)
			handle_exit(cpu);
		/* -EAGAIN: a processor that has not been started yet. */
		if (errno != EINTR && errno != EAGAIN)
			panic(cpu, "KVM_RUN failed: error", (uint64_t)errno);
	}
	return NULL;
}

/* --- life -------------------------------------------------------------------------------- */

int vcpu_create(struct vcpu *cpu, struct machine *m, unsigned idx, struct bd_error *err)
{
	int size = ioctl(m->vm.kvm, KVM_GET_VCPU_MMAP_SIZE, 0), ret;

	cpu->machine = m;
	cpu->idx = idx;
	cpu->fd = ioctl(m->vm.fd, KVM_CREATE_VCPU, idx);
	if (cpu->fd < 0 || size < (int)sizeof(*cpu->run))
		return bd_fail_errno(err, -errno, "Could not create processor %u", idx);
	cpu->run_size = (size_t)size;
	cpu->run = mmap(NULL, cpu->run_size, PROT_READ | PROT_WRITE, MAP_SHARED, cpu->fd, 0);
	if (cpu->run == MAP_FAILED) {
		cpu->run = NULL;
		return bd_fail_errno(err, -errno, "Could not create processor %u", idx);
	}
	ret = vcpu_set_cpuid(&m->vm, cpu->fd, idx, m->nr_cpus, err);
	if (ret < 0)
		return ret;
	ret = save(cpu);
	return ret < 0 ? bd_fail_errno(err, ret, "Could not read the state of processor %u", idx) :
			 0;
}

void vcpu_destroy(struct vcpu *cpu)
{
	free(cpu->power_on.msrs);
	if (cpu->run)
		munmap(cpu->run, cpu->run_size);
	if (cpu->fd >= 0)
		close(cpu->fd);
}

int vcpu_start(struct vcpu *cpu, struct bd_error *err)
{
	int ret = pthread_create(&cpu->thread, NULL, vcpu_main, cpu);

	if (ret)
		return bd_fail_errno(err, -ret, "Could not start processor %u", cpu->idx);
	cpu->has_thread = true;
	return 0;
}

void vcpu_kick(struct vcpu *cpu)
{
	if (!cpu->has_thread)
		return;
	__atomic_store_n(&cpu->run->immediate_exit, 1, __ATOMIC_SEQ_CST);
	pthread_kill(cpu->thread, MACHINE_KICK);
}
