/* SPDX-License-Identifier: MIT */
/* SeaBIOS: its image at the end of 4 GiB, a copy of its last part below 1 MiB. */
#include "vkvm/boot/firmware.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOW_PART = 256 << 10, LOW_END = 0x100000, MAX_SIZE = 16 << 20 };

static const char *const places[] = {
	"/usr/share/seabios/bios-256k.bin", "/usr/share/qemu/bios-256k.bin",
	"/usr/share/seabios/bios.bin",      "/usr/share/qemu/bios.bin",
};

static int open_image(const char *path, struct bd_error *err)
{
	int fd = -1;

	if (path) {
		fd = open(path, O_RDONLY | O_CLOEXEC);
		return fd >= 0 ? fd : bd_fail_errno(err, -errno, "could not load PC BIOS '%s'",
						    path);
	}
	for (size_t i = 0; fd < 0 && i < sizeof(places) / sizeof(places[0]); i++)
		fd = open(places[i], O_RDONLY | O_CLOEXEC);
	return fd >= 0 ? fd : bd_fail(err, -ENOENT, "no firmware found: install the package "
						    "seabios, or use -bios or -kernel");
}

static int read_image(struct firmware *fw, int fd, struct bd_error *err)
{
	struct stat st;
	size_t done = 0;

	if (fstat(fd, &st) < 0 || st.st_size < 65536 || st.st_size > MAX_SIZE ||
	    st.st_size % 65536)
		return bd_fail(err, -EINVAL, "PC BIOS: not a firmware image, its size is odd");
	fw->size = (size_t)st.st_size;
	fw->image = mmap(NULL, fw->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			 0);
	if (fw->image == MAP_FAILED) {
		fw->image = NULL;
		return bd_fail(err, -ENOMEM, "Out of memory");
	}
	while (done < fw->size) {
		ssize_t got = pread(fd, fw->image + done, fw->size - done, (off_t)done);

		if (got <= 0)
			return bd_fail(err, -EIO, "could not read the PC BIOS");
		done += (size_t)got;
	}
	return 0;
}

/*
 * The part that runs: below 1 MiB, in memory it may write to.  On a PC the firmware would copy it
 * there itself, with the help of a chipset it knows.
 */
static void reset(void *arg)
{
	struct firmware *fw = arg;
	size_t len = fw->size < LOW_PART ? fw->size : LOW_PART;

	memory_write(&fw->machine->vm.mem, LOW_END - len, fw->image + fw->size - len, len);
}

static int tell(struct firmware *fw, struct fw_cfg *cfg, const char *boot_order)
{
	struct e820_entry entries[E820_MAX];
	unsigned nr = e820_fill(&fw->machine->vm, true, entries);
	uint16_t console = htole16(0x3f8);
	int ret = fw_cfg_add(cfg, "etc/e820", entries, nr * sizeof(entries[0]));

	if (ret == 0)
		ret = fw_cfg_add(cfg, "etc/sercon-port", &console, sizeof(console));
	if (ret == 0 && boot_order[0])
		ret = fw_cfg_add(cfg, "bootorder", boot_order, strlen(boot_order) + 1);
	return ret;
}

int firmware_load(struct firmware *fw, struct machine *m, struct fw_cfg *cfg, const char *path,
		  const char *boot_order, struct bd_error *err)
{
	int fd = open_image(path, err), ret;

	*fw = (struct firmware){ .machine = m };
	if (fd < 0)
		return fd;
	ret = read_image(fw, fd, err);
	close(fd);
	if (ret == 0)
		ret = vm_add_slot(&m->vm, (1ull << 32) - fw->size, fw->image, fw->size, true, err);
	if (ret < 0)
		return ret;
	machine_on_reset(m, reset, fw);
	return tell(fw, cfg, boot_order) < 0 ? bd_fail(err, -ENOMEM, "Out of memory") : 0;
}

void firmware_clear(struct firmware *fw)
{
	if (fw->image)
		munmap(fw->image, fw->size);
}
