/* SPDX-License-Identifier: MIT */
/* ACPI's byte code. */
#include "vkvm/boot/aml.h"

#include <assert.h>
#include <string.h>

enum { LENGTH_BYTES = 3 }; /* of an object's length; any form is allowed, one is enough */

void aml_bytes(struct aml *aml, const void *data, size_t len)
{
	assert(len <= AML_ROOM - aml->len);
	memcpy(aml->data + aml->len, data, len);
	aml->len += len;
}

void aml_byte(struct aml *aml, uint8_t byte)
{
	aml_bytes(aml, &byte, 1);
}

void aml_path(struct aml *aml, const char *path)
{
	size_t segments;

	if (*path == '\\')
		aml_byte(aml, (uint8_t)*path++);
	segments = strlen(path) / 4;
	if (segments == 2) {
		aml_byte(aml, 0x2e);
	} else if (segments > 2) {
		aml_byte(aml, 0x2f);
		aml_byte(aml, (uint8_t)segments);
	}
	aml_bytes(aml, path, segments * 4);
}

void aml_integer(struct aml *aml, uint64_t value)
{
	if (value < 2) {
		aml_byte(aml, (uint8_t)value); /* ZeroOp, OneOp */
		return;
	}
	aml_byte(aml, value <= 0xff ? 0x0a : value <= 0xffffffff ? 0x0c : 0x0e);
	aml_bytes(aml, &value, value <= 0xff ? 1 : value <= 0xffffffff ? 4 : 8);
}

void aml_string(struct aml *aml, const char *text)
{
	aml_byte(aml, 0x0d);
	aml_bytes(aml, text, strlen(text) + 1);
}

static unsigned hex(char digit)
{
	return (unsigned)(digit <= '9' ? digit - '0' : digit - 'A' + 10);
}

void aml_eisa(struct aml *aml, const char *id)
{
	unsigned letters = ((unsigned)id[0] - 64) << 10 | ((unsigned)id[1] - 64) << 5 |
			   ((unsigned)id[2] - 64);
	uint8_t bytes[] = { (uint8_t)(letters >> 8), (uint8_t)letters,
			    (uint8_t)(hex(id[3]) << 4 | hex(id[4])),
			    (uint8_t)(hex(id[5]) << 4 | hex(id[6])) };

	aml_byte(aml, 0x0c);
	aml_bytes(aml, bytes, sizeof(bytes));
}

size_t aml_begin(struct aml *aml, unsigned op)
{
	static const uint8_t room[LENGTH_BYTES];
	size_t begin;

	if (op > 0xff)
		aml_byte(aml, (uint8_t)(op >> 8));
	aml_byte(aml, (uint8_t)op);
	begin = aml->len;
	aml_bytes(aml, room, sizeof(room));
	return begin;
}

void aml_end(struct aml *aml, size_t begin)
{
	size_t len = aml->len - begin;
	uint8_t *at = aml->data + begin;

	at[0] = (uint8_t)((LENGTH_BYTES - 1) << 6 | (len & 15));
	at[1] = (uint8_t)(len >> 4);
	at[2] = (uint8_t)(len >> 12);
}

void aml_name(struct aml *aml, const char *path)
{
	aml_byte(aml, 0x08);
	aml_path(aml, path);
}

size_t aml_device(struct aml *aml, const char *path, const char *hid, unsigned uid)
{
	size_t begin = aml_begin(aml, AML_DEVICE);

	aml_path(aml, path);
	aml_name(aml, "_HID");
	if (!strncmp(hid, "PNP", 3))
		aml_eisa(aml, hid);
	else
		aml_string(aml, hid);
	aml_name(aml, "_UID");
	aml_integer(aml, uid);
	return begin;
}

void aml_resources(struct aml *aml, const void *data, size_t len)
{
	static const uint8_t end_tag[] = { 0x79, 0 };
	size_t begin;

	aml_name(aml, "_CRS");
	begin = aml_begin(aml, AML_BUFFER);
	aml_integer(aml, len + sizeof(end_tag));
	aml_bytes(aml, data, len);
	aml_bytes(aml, end_tag, sizeof(end_tag));
	aml_end(aml, begin);
}
