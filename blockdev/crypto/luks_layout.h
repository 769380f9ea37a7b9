/* SPDX-License-Identifier: MIT */
/* Structures on disk.  Made by scripts/gen-layout.sh from qcow2-spec/fields.txt: do not edit. */
#ifndef LUKS_LAYOUT_H
#define LUKS_LAYOUT_H

#include "blockdev/base/be.h"

/* Spec: encryption */
struct luks_disk_header {
	uint8_t magic[6];
	be16 version;
	uint8_t cipher_name[32];
	uint8_t cipher_mode[32];
	uint8_t hash[32];
	be32 payload_sector;
	be32 key_bytes;
	uint8_t digest[20];
	uint8_t digest_salt[32];
	be32 digest_iterations;
	uint8_t uuid[40];
	uint8_t slots[384];
};
_Static_assert(sizeof(struct luks_disk_header) == 592, "header");

/* Spec: encryption */
struct luks_disk_slot {
	be32 active;
	be32 iterations;
	uint8_t salt[32];
	be32 material_sector;
	be32 stripes;
};
_Static_assert(sizeof(struct luks_disk_slot) == 48, "slot");

#endif
