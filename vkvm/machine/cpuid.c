/* SPDX-License-Identifier: MIT */
/* CPUID: the host's, with the topology of this machine: one package of single-threaded cores. */
#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "vkvm/machine/vcpu.h"

enum { MAX_ENTRIES = 256 };

/* Bits an APIC id needs. */
static unsigned id_bits(unsigned nr)
{
	unsigned bits = 0;

	while (1u << bits < nr)
		bits++;
	return bits;
}

static void patch(struct kvm_cpuid_entry2 *entry, unsigned idx, unsigned nr, bool tsc_deadline)
{
	switch (entry->function) {
	case 1:
		entry->ebx = (entry->ebx & 0xffff) | nr << 16 | idx << 24;
		entry->ecx |= 1u << 31; /* under a hypervisor */
		if (tsc_deadline)
			entry->ecx |= 1u << 24;
		entry->edx = nr > 1 ? entry->edx | 1u << 28 : entry->edx & ~(1u << 28);
		break;
	case 4: /* caches: not shared; cores in the package */
		if (entry->eax & 31)
			entry->eax = (entry->eax & 0x3fff) | (nr - 1) << 26;
		break;
	case 0xb:
	case 0x1f:
		entry->edx = idx;
		entry->eax = entry->index == 1 ? id_bits(nr) : 0;
		entry->ebx = entry->index == 0 ? 1 : entry->index == 1 ? nr : 0;
		entry->ecx = entry->index | (entry->index < 2 ? (entry->index + 1) << 8 : 0);
		break;
	case 0x80000008:
		entry->ecx = (entry->ecx & ~0xf0ffu) | (nr - 1) | id_bits(nr) << 12;
		break;
	case 0x8000001e:
		entry->eax = entry->ebx = idx;
		entry->ecx = 0;
		break;
	}
}

int vcpu_set_cpuid(struct vm *vm, int vcpu_fd, unsigned idx, unsigned nr, struct bd_error *err)
{
	struct kvm_cpuid2 *cpuid = calloc(1, sizeof(*cpuid) +
					     MAX_ENTRIES * sizeof(cpuid->entries[0]));
	bool deadline = ioctl(vm->kvm, KVM_CHECK_EXTENSION, KVM_CAP_TSC_DEADLINE_TIMER) > 0;
	int ret = 0;

	if (!cpuid)
		return bd_fail(err, -ENOMEM, "Out of memory");
	cpuid->nent = MAX_ENTRIES;
	if (ioctl(vm->kvm, KVM_GET_SUPPORTED_CPUID, cpuid) < 0)
		ret = bd_fail_errno(err, -errno, "Could not learn what processors KVM can make");
	for (unsigned i = 0; ret == 0 && i < cpuid->nent; i++)
		patch(&cpuid->entries[i], idx, nr, deadline);
	if (ret == 0 && ioctl(vcpu_fd, KVM_SET_CPUID2, cpuid) < 0)
		ret = bd_fail_errno(err, -errno, "Could not set up processor %u", idx);
	free(cpuid);
	return ret;
}
