/* SPDX-License-Identifier: MIT */
/* fw_cfg: what the firmware is told, as numbered items and named files. */
#ifndef VKVM_FW_CFG_H
#define VKVM_FW_CFG_H

#include <stddef.h>

#include "vkvm/machine/machine.h"

enum { FW_CFG_MAX_FILES = 24 };

/* Keys of items that are no files. */
enum {
	FW_CFG_SIGNATURE = 0x00, FW_CFG_ID = 0x01, FW_CFG_NB_CPUS = 0x05, FW_CFG_MAX_CPUS = 0x0f,
	FW_CFG_FILE_DIR = 0x19, FW_CFG_FILE_FIRST = 0x20,
};

struct fw_cfg {
	struct machine *machine;
	struct fw_cfg_item {
		char name[56];
		void *data;          /* heap, owned */
		uint32_t len;
	} files[FW_CFG_MAX_FILES];
	unsigned nr_files;
	struct fw_cfg_item signature, id, nb_cpus, max_cpus, dir;
	const struct fw_cfg_item *selected;
	uint32_t off;                /* of the next byte in it */
	uint64_t dma_address;
};

int fw_cfg_init(struct fw_cfg *cfg, struct machine *m);
/* Add a file; copies @data.  -ENOMEM, -ENOSPC. */
int fw_cfg_add(struct fw_cfg *cfg, const char *name, const void *data, size_t len);
void fw_cfg_clear(struct fw_cfg *cfg);

#endif
