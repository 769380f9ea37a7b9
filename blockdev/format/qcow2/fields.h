/* SPDX-License-Identifier: MIT */
/* The table behind layout.h, for programs that show what lies where. */
#ifndef QCOW2_FIELDS_H
#define QCOW2_FIELDS_H

#include <stdint.h>

enum qcow2_unit {
	QCOW2_UNIT_BYTE,       /* offset and size in bytes; integers are big endian */
	QCOW2_UNIT_BIT,        /* first bit and number of bits of an integer */
	QCOW2_UNIT_VALUE,      /* a named number; @off holds it */
};

/* One line of qcow2-spec/fields.txt. */
struct qcow2_field {
	const char *structure, *name;
	enum qcow2_unit unit;
	uint32_t off, size;
	const char *limits;    /* what is allowed, for people */
	const char *section;   /* of qcow2-spec */
	const char *meaning;
};

/* In the order of fields.txt; ends with structure == NULL.  Spec: header */
extern const struct qcow2_field qcow2_fields[];

#endif
