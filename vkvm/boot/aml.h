/* SPDX-License-Identifier: MIT */
/* Writing ACPI's byte code: only what the machine's description needs. */
#ifndef VKVM_AML_H
#define VKVM_AML_H

#include <stddef.h>
#include <stdint.h>

enum { AML_ROOM = 8192 };

struct aml {
	uint8_t data[AML_ROOM];
	size_t len;                  /* bytes */
};

void aml_bytes(struct aml *aml, const void *data, size_t len);
void aml_byte(struct aml *aml, uint8_t byte);
/* Four-letter segments, "\\_SB_PCI0" or "_CRS". */
void aml_path(struct aml *aml, const char *path);
void aml_integer(struct aml *aml, uint64_t value);
void aml_string(struct aml *aml, const char *text);
/* An EISA identifier such as "PNP0A03", as a number. */
void aml_eisa(struct aml *aml, const char *id);
/* The beginning of an object with a length: @op of one or two bytes.  Returns where, for aml_end(). */
size_t aml_begin(struct aml *aml, unsigned op);
void aml_end(struct aml *aml, size_t begin);
/* "Name (@path,": the value follows. */
void aml_name(struct aml *aml, const char *path);
/* A device with a name and an identifier ("PNP...." or a string).  End it with aml_end(). */
size_t aml_device(struct aml *aml, const char *path, const char *hid, unsigned uid);
/* A resource template of @len bytes as _CRS. */
void aml_resources(struct aml *aml, const void *data, size_t len);

enum {
	AML_SCOPE = 0x10, AML_BUFFER = 0x11, AML_PACKAGE = 0x12, AML_METHOD = 0x14,
	AML_DEVICE = 0x5b82, AML_FIELD = 0x5b81, AML_IF = 0xa0,
};

#endif
