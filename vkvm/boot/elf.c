/* SPDX-License-Identifier: MIT */
/* ELF: an unpacked kernel or a test program, by its entry or by PVH if it has Xen's note. */
#include <elf.h>
#include <errno.h>
#include <string.h>

#include "vkvm/boot/kernel.h"

enum { NOTE_PHYS32_ENTRY = 18, MAX_SEGMENTS = 64 };

static bool in_file(const struct kernel_file *file, uint64_t off, uint64_t len)
{
	return off <= file->len && len <= file->len - off;
}

static int load_segment(const struct kernel_file *file, const struct vm *vm, const Elf64_Phdr *ph,
			struct kernel_image *image, struct bd_error *err)
{
	void *to;

	if (!in_file(file, ph->p_offset, ph->p_filesz) || ph->p_filesz > ph->p_memsz)
		return bd_fail(err, -EINVAL, "the kernel file is cut short");
	if (!ph->p_memsz)
		return 0;
	/* The first MiB has what the entry needs. */
	to = ph->p_paddr >= 1 << 20 ? memory_at(&vm->mem, ph->p_paddr, ph->p_memsz) : NULL;
	if (!to)
		return bd_fail(err, -ENOMEM, "a part of the kernel at 0x%llx does not fit into "
					     "memory", (unsigned long long)ph->p_paddr);
	memcpy(to, file->data + ph->p_offset, ph->p_filesz);
	memset((char *)to + ph->p_filesz, 0, ph->p_memsz - ph->p_filesz);
	if (ph->p_paddr + ph->p_memsz > image->end)
		image->end = ph->p_paddr + ph->p_memsz;
	return 0;
}

/* Look for Xen's note with the entry for PVH. */
static void read_notes(const struct kernel_file *file, const Elf64_Phdr *ph,
		       struct kernel_image *image)
{
	uint64_t off = ph->p_offset, end = off + ph->p_filesz;
	Elf64_Nhdr note;
	uint64_t value = 0;

	if (!in_file(file, ph->p_offset, ph->p_filesz))
		return;
	while (end - off >= sizeof(note)) {
		uint64_t name = off + sizeof(note), desc, next;

		memcpy(&note, file->data + off, sizeof(note));
		desc = name + ((note.n_namesz + 3ull) & ~3ull);
		next = desc + ((note.n_descsz + 3ull) & ~3ull);
		if (next > end)
			return;
		if (note.n_type == NOTE_PHYS32_ENTRY && note.n_namesz == 4 &&
		    !memcmp(file->data + name, "Xen", 4) &&
		    (note.n_descsz == 4 || note.n_descsz == 8)) {
			memcpy(&value, file->data + desc, note.n_descsz);
			image->pvh = true;
			image->entry = value;
			return;
		}
		off = next;
	}
}

int elf_load(const struct kernel_file *file, const struct vm *vm, struct kernel_image *image,
	     struct bd_error *err)
{
	Elf64_Ehdr eh;
	Elf64_Phdr ph;

	if (file->len < sizeof(eh))
		return -ENOEXEC;
	memcpy(&eh, file->data, sizeof(eh));
	if (memcmp(eh.e_ident, ELFMAG, SELFMAG))
		return -ENOEXEC;
	if (eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_machine != EM_X86_64 ||
	    eh.e_phentsize != sizeof(ph) || eh.e_phnum > MAX_SEGMENTS ||
	    !in_file(file, eh.e_phoff, (uint64_t)eh.e_phnum * sizeof(ph)))
		return bd_fail(err, -EINVAL, "the kernel is no x86-64 ELF file that can be loaded");
	*image = (struct kernel_image){ .entry = eh.e_entry, .initrd_max = UINT32_MAX,
					.cmdline_max = KERNEL_CMDLINE_MAX - 1 };
	for (unsigned i = 0; i < eh.e_phnum; i++) {
		int ret = 0;

		memcpy(&ph, file->data + eh.e_phoff + i * sizeof(ph), sizeof(ph));
		if (ph.p_type == PT_LOAD)
			ret = load_segment(file, vm, &ph, image, err);
		else if (ph.p_type == PT_NOTE)
			read_notes(file, &ph, image);
		if (ret < 0)
			return ret;
	}
	return image->end ? 0 : bd_fail(err, -EINVAL, "the kernel file has nothing to load");
}
