/* SPDX-License-Identifier: MIT */
/* A LUKS header as information for people and programs. */
#include "blockdev/crypto/luks_info.h"

#include <stdio.h>
#include <string.h>

static json_t *slot_info(const struct luks *luks, unsigned idx)
{
	const struct luks_disk_slot *slot = &luks->slot[idx];
	bool active = luks_slot_active(luks, idx);
	json_t *one = json_object();

	json_object_set_new(one, "active", json_boolean(active));
	if (active)
		json_object_set_new(one, "iters", json_integer(be32_get(slot->iterations)));
	json_object_set_new(one, "key-offset",
			    json_integer((json_int_t)be32_get(slot->material_sector) * 512));
	if (active)
		json_object_set_new(one, "stripes", json_integer(be32_get(slot->stripes)));
	return one;
}

/* The header's text may be anything; a name is letters, digits and dashes. */
static json_t *uuid_info(const struct luks *luks)
{
	char text[sizeof(luks->disk.uuid) + 1] = { 0 };

	memcpy(text, luks->disk.uuid, sizeof(luks->disk.uuid));
	for (char *at = text; *at; at++) {
		if (*at < ' ' || *at > '~')
			*at = '?';
	}
	return json_string(text);
}

void luks_describe(const struct luks *luks, const char *format, json_t *data)
{
	const struct bd_sector_spec *spec = &luks->spec;
	json_t *slots = json_array();

	json_object_set_new(data, "ivgen-alg", json_string(bd_ivgen_name(spec->ivgen)));
	json_object_set_new(data, "hash-alg", json_string(bd_hash_name(luks->hash)));
	json_object_set_new(data, "cipher-alg", json_string(spec->alg->name));
	json_object_set_new(data, "uuid", uuid_info(luks));
	if (spec->ivgen == BD_IV_ESSIV)
		json_object_set_new(data, "ivgen-hash-alg",
				    json_string(bd_hash_name(spec->iv_hash)));
	if (format)
		json_object_set_new(data, "format", json_string(format));
	json_object_set_new(data, "cipher-mode", json_string(bd_cipher_mode_name(spec->mode)));
	for (unsigned i = 0; i < LUKS_SLOTS; i++)
		json_array_append_new(slots, slot_info(luks, i));
	json_object_set_new(data, "slots", slots);
	json_object_set_new(data, "payload-offset", json_integer((json_int_t)luks->payload_off));
	json_object_set_new(data, "master-key-iters",
			    json_integer(be32_get(luks->disk.digest_iterations)));
}
