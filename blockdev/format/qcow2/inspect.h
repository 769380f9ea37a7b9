/* SPDX-License-Identifier: MIT */
/*
 * An annotated dump.  Unlike opening, it takes nothing for granted: each structure is looked at
 * if its place in the file can be worked out, and what is wrong is said where it stands.
 */
#ifndef QCOW2_INSPECT_H
#define QCOW2_INSPECT_H

#include <jansson.h>
#include <string.h>

#include "blockdev/format/qcow2/fields.h"
#include "blockdev/format/qcow2/layout.h"
#include "blockdev/format/qcow2/qcow2.h"

/* Where a structure lies. */
struct inspect_range {
	uint64_t off, len;
	const char *name;
	unsigned owner;               /* tables of different owners may be the same */
};

/* A table that an entry of another one names. */
struct inspect_ref {
	uint64_t idx, off;
};

struct inspect {
	const struct bd_inspect_args *args;
	struct io_file *file;
	uint64_t file_size;
	uint64_t budget;              /* bytes of tables still to be read */
	uint8_t *area;                /* the first cluster; zeros behind the end of the file */
	/* Host byte order; as stored, however wrong. */
	uint32_t version, header_length, l1_size, reftable_clusters, nb_snapshots, crypt_method;
	uint64_t size, l1_off, reftable_off, snapshots_off, backing_off, incompatible, autoclear;
	uint32_t backing_len, refcount_order;
	/* Geometry; cluster_bits is 9..21, or 0: unknown, and there is nothing but the header. */
	unsigned cluster_bits, entry_size;
	uint64_t cluster_size;
	struct qcow2_bitmap_ext bitmaps;
	uint64_t crypto_off, crypto_len;

	json_t *structures, *problems;
	uint64_t nr_problems;
	unsigned nr_shown;
	struct inspect_range *ranges; /* sorted once all are known */
	size_t nr_ranges, room_ranges;
	struct inspect_ref *refs;     /* the last list of tables met */
	size_t nr_refs, room_refs;
};

/* A structure while it is described. */
struct inspect_part {
	struct inspect *in;
	const char *name;
	uint64_t off;
	json_t *json, *fields;        /* borrowed; NULL: not shown */
};

/* What one entry of a table is. */
struct inspect_verdict {
	const char *kind;             /* a word to count by; static */
	char text[128];
	const char *problem;          /* static; NULL: none */
};

/* Walking a table. */
struct inspect_walk {
	struct inspect_part *part;
	uint64_t nr;                  /* entries */
	unsigned entry_size;          /* bytes */
	uint64_t guest;               /* L2: guest offset of the first entry */
	void (*entry)(struct inspect_walk *walk, uint64_t idx, const uint8_t *bytes,
		      struct inspect_verdict *verdict);
	const char *kinds[8];         /* out: kinds met, and how often */
	uint64_t counts[8];
	unsigned listed, listed_bad;
	uint64_t unlisted;
};

int qcow2_inspect(const struct bd_inspect_args *args, struct json_t **out, struct bd_error *err);

/* --- inspect_part.c ------------------------------------------------------------------------ */

/* Begin a structure of @len bytes (0: not known) at @off. */
struct inspect_part qcow2_inspect_begin(struct inspect *in, const char *name, const char *section,
					uint64_t off, uint64_t len);
/* The same, described only as long as there are not too many; its problems are noted anyway. */
struct inspect_part qcow2_inspect_begin_some(struct inspect *in, const char *name,
					     const char *section, uint64_t off, uint64_t len);
/* Something is wrong with @part, or with its field @name (NULL: none). */
void qcow2_inspect_problem(struct inspect_part *part, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* A field; @value is used up. */
struct inspect_value {
	const char *name;
	uint64_t off, size;           /* bytes */
	json_t *value;                /* used up */
	const char *meaning;
	const char *problem;          /* NULL: none */
};
void qcow2_inspect_field(struct inspect_part *part, const struct inspect_value *value);
/*
 * All fields of @structure that lie in the @len bytes at @bytes, which are at @off in the file.
 * @wrong: is this value not allowed?  NULL: all are.
 */
struct inspect_bytes {
	const void *bytes;
	size_t len;
	uint64_t off;
};
void qcow2_inspect_fields(struct inspect_part *part, const char *structure,
			  const struct inspect_bytes *bytes,
			  bool (*wrong)(const struct inspect *in, const char *name,
					uint64_t value));
/* A number of @part beside its fields. */
void qcow2_inspect_note(struct inspect_part *part, const char *key, uint64_t value);
json_t *qcow2_inspect_number(uint64_t value);
/* Bytes that may be anything as readable text. */
json_t *qcow2_inspect_text(const void *bytes, size_t len);
/* Part of the table of fields: the first of @structure called @name; NULL: none. */
const struct qcow2_field *qcow2_inspect_find(const char *structure, const char *name);

/* Read; zeros behind the end of the file.  How many bytes are of the file, 0 also on errors. */
size_t qcow2_inspect_read(struct inspect *in, uint64_t off, void *buf, size_t len);
void qcow2_inspect_range(struct inspect *in, const char *name, uint64_t off, uint64_t len,
			 unsigned owner);
/* The structure that lies in [off, off + len), once ranges are sorted; NULL: none. */
const struct inspect_range *qcow2_inspect_ranges_find(const struct inspect *in, uint64_t off,
						      uint64_t len);
void qcow2_inspect_ranges_sort(struct inspect *in);
/* Entry @idx of a table names one at @off, which is to be described. */
void qcow2_inspect_ref(struct inspect *in, uint64_t idx, uint64_t off);
/* Walk, list what is not empty, count kinds.  Entries behind the end of the file are left out. */
void qcow2_inspect_table(struct inspect_walk *walk);

/* --- the structures ------------------------------------------------------------------------ */

void qcow2_inspect_header(struct inspect *in);
void qcow2_inspect_extensions(struct inspect *in);
void qcow2_inspect_refcounts(struct inspect *in);
void qcow2_inspect_snapshots(struct inspect *in);
void qcow2_inspect_bitmaps(struct inspect *in);
void qcow2_inspect_luks(struct inspect *in);
/* A field of @len bytes of text at @off. */
void qcow2_inspect_name(struct inspect_part *part, const char *name, uint64_t off, uint16_t len);
/* L1; notes L2 tables and their ranges. */
void qcow2_inspect_l1(struct inspect *in);
/* All L2 tables; ranges are sorted. */
void qcow2_inspect_l2_tables(struct inspect *in);
void qcow2_inspect_guest(struct inspect *in);
/* Verdict on an L1 entry of any L1 table. */
void qcow2_inspect_l1_entry(struct inspect_walk *walk, uint64_t idx, const uint8_t *bytes,
			    struct inspect_verdict *verdict);

static inline uint64_t inspect_be64(const uint8_t *bytes)
{
	be64 value;

	memcpy(&value, bytes, sizeof(value));
	return be64_get(value);
}

#endif
