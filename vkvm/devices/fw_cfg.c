/* SPDX-License-Identifier: MIT */
/* fw_cfg: selector, data port and DMA, as SeaBIOS and Linux know them. */
#include "vkvm/devices/fw_cfg.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PORT = 0x510, PORTS = 12 };
enum { DMA_ERROR = 1, DMA_READ = 2, DMA_SKIP = 4, DMA_SELECT = 8 };

/* "QEMU CFG": the answer that says DMA is there. */
#define DMA_SIGNATURE 0x47464320554d4551ull

/* What a DMA transfer looks like in the guest's memory; big endian. */
struct __attribute__((packed)) dma {
	uint32_t control, len;
	uint64_t address;
};

/* An entry of the directory; big endian. */
struct __attribute__((packed)) dir_entry {
	uint32_t len;
	uint16_t key, reserved;
	char name[56];
};

/* --- contents ---------------------------------------------------------------------------- */

static int set(struct fw_cfg_item *item, const void *data, size_t len)
{
	void *copy = malloc(len ? len : 1);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, data, len);
	free(item->data);
	item->data = copy;
	item->len = (uint32_t)len;
	return 0;
}

static int make_dir(struct fw_cfg *cfg)
{
	struct {
		uint32_t nr;
		struct dir_entry entries[FW_CFG_MAX_FILES];
	} dir = { .nr = htobe32(cfg->nr_files) };

	for (unsigned i = 0; i < cfg->nr_files; i++) {
		struct dir_entry *entry = &dir.entries[i];

		entry->len = htobe32(cfg->files[i].len);
		entry->key = htobe16((uint16_t)(FW_CFG_FILE_FIRST + i));
		memcpy(entry->name, cfg->files[i].name, sizeof(entry->name));
	}
	return set(&cfg->dir, &dir, 4 + cfg->nr_files * sizeof(dir.entries[0]));
}

int fw_cfg_add(struct fw_cfg *cfg, const char *name, const void *data, size_t len)
{
	struct fw_cfg_item *file = &cfg->files[cfg->nr_files];

	if (cfg->nr_files == FW_CFG_MAX_FILES)
		return -ENOSPC;
	if (set(file, data, len) < 0)
		return -ENOMEM;
	snprintf(file->name, sizeof(file->name), "%s", name);
	cfg->nr_files++;
	return make_dir(cfg);
}

static const struct fw_cfg_item *find(const struct fw_cfg *cfg, uint16_t key)
{
	switch (key) {
	case FW_CFG_SIGNATURE: return &cfg->signature;
	case FW_CFG_ID: return &cfg->id;
	case FW_CFG_NB_CPUS: return &cfg->nb_cpus;
	case FW_CFG_MAX_CPUS: return &cfg->max_cpus;
	case FW_CFG_FILE_DIR: return &cfg->dir;
	}
	if (key >= FW_CFG_FILE_FIRST && key - FW_CFG_FILE_FIRST < (int)cfg->nr_files)
		return &cfg->files[key - FW_CFG_FILE_FIRST];
	return NULL;
}

/* --- access ------------------------------------------------------------------------------ */

static void select_item(struct fw_cfg *cfg, uint16_t key)
{
	cfg->selected = find(cfg, key);
	cfg->off = 0;
}

/* Bytes from where the last read ended; behind the end there are zeros.  @to: NULL to skip. */
static void take(struct fw_cfg *cfg, void *to, uint32_t len)
{
	const struct fw_cfg_item *item = cfg->selected;
	uint32_t have = item && cfg->off < item->len ? item->len - cfg->off : 0;

	if (have > len)
		have = len;
	if (to && have)
		memcpy(to, (const char *)item->data + cfg->off, have);
	if (to)
		memset((char *)to + have, 0, len - have);
	cfg->off += have;
}

static void run_dma(struct fw_cfg *cfg)
{
	const struct memory *mem = &cfg->machine->vm.mem;
	uint32_t control, len, result = 0;
	struct dma dma;
	void *at = memory_at(mem, cfg->dma_address, sizeof(dma)), *to = NULL;

	if (!at)
		return;
	memcpy(&dma, at, sizeof(dma));
	control = be32toh(dma.control);
	len = be32toh(dma.len);
	if (control & DMA_SELECT)
		select_item(cfg, (uint16_t)(control >> 16));
	if (control & DMA_READ) {
		to = memory_at(mem, be64toh(dma.address), len);
		if (!to && len)
			result = DMA_ERROR;
	} else if (!(control & (DMA_SKIP | DMA_SELECT))) {
		result = DMA_ERROR; /* nothing here can be written */
	}
	if (!result && (control & (DMA_READ | DMA_SKIP)))
		take(cfg, to, len);
	result = htobe32(result);
	memcpy(at, &result, sizeof(result));
}

static void access_fw_cfg(void *device, struct bus_access *access)
{
	struct fw_cfg *cfg = device;
	uint8_t byte;

	if (access->write) {
		if (access->off == 0 && access->len == 2)
			select_item(cfg, (uint16_t)access->value);
		else if (access->off == 4 && access->len == 4)
			cfg->dma_address = (uint64_t)be32toh((uint32_t)access->value) << 32;
		else if (access->off == 8 && access->len == 4) {
			cfg->dma_address |= be32toh((uint32_t)access->value);
			run_dma(cfg);
			cfg->dma_address = 0;
		}
	} else if (access->off == 1) {
		take(cfg, &byte, 1);
		access->value = byte;
	} else if (access->off >= 4) {
		access->value = DMA_SIGNATURE >> 8 * (access->off - 4);
	}
}

int fw_cfg_init(struct fw_cfg *cfg, struct machine *m)
{
	uint32_t id = htole32(3); /* the data port and DMA */
	uint16_t cpus = htole16((uint16_t)m->nr_cpus);

	*cfg = (struct fw_cfg){ .machine = m };
	if (set(&cfg->signature, "QEMU", 4) < 0 || set(&cfg->id, &id, sizeof(id)) < 0 ||
	    set(&cfg->nb_cpus, &cpus, sizeof(cpus)) < 0 ||
	    set(&cfg->max_cpus, &cpus, sizeof(cpus)) < 0 || make_dir(cfg) < 0)
		return -ENOMEM;
	bus_add(&m->ports, PORT, PORTS, access_fw_cfg, cfg);
	return 0;
}

void fw_cfg_clear(struct fw_cfg *cfg)
{
	for (unsigned i = 0; i < cfg->nr_files; i++)
		free(cfg->files[i].data);
	free(cfg->signature.data);
	free(cfg->id.data);
	free(cfg->nb_cpus.data);
	free(cfg->max_cpus.data);
	free(cfg->dir.data);
}
