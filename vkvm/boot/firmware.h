/* SPDX-License-Identifier: MIT */
/* Start by a PC's firmware: SeaBIOS, as distributions have it. */
#ifndef VKVM_FIRMWARE_H
#define VKVM_FIRMWARE_H

#include "vkvm/devices/fw_cfg.h"

struct firmware {
	struct machine *machine;
	uint8_t *image;              /* a mapping, seen by the guest below 4 GiB */
	size_t size;                 /* bytes */
};

/*
 * Load the firmware from @path (NULL: where distributions put it) and tell it through @cfg about
 * memory, console and @boot_order (fw_cfg's text, may be empty).
 */
int firmware_load(struct firmware *fw, struct machine *m, struct fw_cfg *cfg, const char *path,
		  const char *boot_order, struct bd_error *err);
void firmware_clear(struct firmware *fw);

#endif
