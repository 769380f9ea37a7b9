/* SPDX-License-Identifier: MIT */
/* Direct start: files, where they go, command line. */
#include "vkvm/boot/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vkvm/boot/acpi.h"
#include "vkvm/report.h"

static int map_file(const char *path, const char *what, struct kernel_file *file,
		    struct bd_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *data;

	if (fd < 0)
		return bd_fail_errno(err, -errno, "could not open %s file '%s'", what, path);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= 0) {
		close(fd);
		return bd_fail(err, -EINVAL, "%s file '%s' is empty or no file", what, path);
	}
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (data == MAP_FAILED)
		return bd_fail_errno(err, -errno, "could not read %s file '%s'", what, path);
	file->data = data;
	file->len = (size_t)st.st_size;
	return 0;
}

/* As high as the kernel takes it, so that it stays clear of what the kernel unpacks. */
static int place_initrd(struct kernel *kernel, struct bd_error *err)
{
	uint64_t top = vm_low_ram(&kernel->machine->vm), len = kernel->initrd.len;

	if (top > kernel->image.initrd_max)
		top = kernel->image.initrd_max + 1;
	kernel->initrd_at = 0;
	if (!len)
		return 0;
	if (len > top || ((top - len) & ~0xfffull) < kernel->image.end)
		return bd_fail(err, -ENOMEM, "the initrd does not fit into memory beside the "
					     "kernel");
	kernel->initrd_at = (top - len) & ~0xfffull;
	memory_write(&kernel->machine->vm.mem, kernel->initrd_at, kernel->initrd.data, len);
	return 0;
}

static int place(struct kernel *kernel, struct bd_error *err)
{
	const struct vm *vm = &kernel->machine->vm;
	size_t len = strlen(kernel->append);
	int ret = elf_load(&kernel->file, vm, &kernel->image, err);

	if (ret == -ENOEXEC)
		ret = bzimage_load(&kernel->file, vm, &kernel->image, err);
	if (ret == -ENOEXEC)
		return bd_fail(err, ret, "the kernel is neither a bzImage nor an ELF file");
	if (ret < 0)
		return ret;
	if (len > kernel->image.cmdline_max || len >= KERNEL_CMDLINE_MAX)
		return bd_fail(err, -E2BIG, "the kernel's command line is too long");
	memory_write(&vm->mem, KERNEL_CMDLINE, kernel->append, len + 1);
	return place_initrd(kernel, err);
}

/*
 * A kernel that finds hardware-reduced ACPI and no EFI reboots by a jump to the firmware's entry,
 * which is not there: this is.  mov $6, %al; mov $0xcf9, %dx; out %al, %dx; hlt
 */
static const uint8_t reboot_code[] = { 0xb0, 0x06, 0xba, 0xf9, 0x0c, 0xee, 0xf4 };
#define REBOOT_ENTRY 0xffff0ull

static void reset(void *arg)
{
	struct kernel *kernel = arg;
	struct bd_error err = {0};
	int ret;

	pci_assign(kernel->bus, VM_PCI_END);
	kernel->rsdp = acpi_place(kernel->machine);
	memory_write(&kernel->machine->vm.mem, REBOOT_ENTRY, reboot_code, sizeof(reboot_code));
	ret = place(kernel, &err);
	if (ret == 0)
		ret = kernel->image.pvh ? kernel_enter_pvh(kernel) : kernel_enter_long(kernel);
	if (ret < 0)
		report_error("could not start the kernel: %s", err.msg[0] ? err.msg :
								    strerror(-ret));
}

int kernel_load(struct kernel *kernel, const char *path, const char *initrd, struct bd_error *err)
{
	int ret = map_file(path, "kernel", &kernel->file, err);

	if (ret == 0 && initrd)
		ret = map_file(initrd, "initrd", &kernel->initrd, err);
	if (ret == 0)
		ret = place(kernel, err);
	if (ret == 0)
		machine_on_reset(kernel->machine, reset, kernel);
	return ret;
}

void kernel_clear(struct kernel *kernel)
{
	if (kernel->file.data)
		munmap((void *)(uintptr_t)kernel->file.data, kernel->file.len);
	if (kernel->initrd.data)
		munmap((void *)(uintptr_t)kernel->initrd.data, kernel->initrd.len);
}
