/* SPDX-License-Identifier: MIT */
/* Building the description: structures, fields, problems.  Spec: header */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/format/qcow2/inspect.h"

enum { SHOWN_MAX = 64, SHOWN_MAX_ONE = 4096, PROBLEMS_MAX = 1000, TEXT_MAX = 1024 };

json_t *qcow2_inspect_number(uint64_t value)
{
	char text[24];

	if (value <= INT64_MAX)
		return json_integer((json_int_t)value);
	snprintf(text, sizeof(text), "%#llx", (unsigned long long)value);
	return json_string(text);
}

json_t *qcow2_inspect_text(const void *bytes, size_t len)
{
	const unsigned char *in = bytes;
	char text[TEXT_MAX * 4 + 4];
	size_t used = 0;

	for (size_t i = 0; i < len && i < TEXT_MAX; i++) {
		if (in[i] >= 0x20 && in[i] < 0x7f && in[i] != '\\')
			text[used++] = (char)in[i];
		else
			used += (size_t)snprintf(text + used, sizeof(text) - used, "\\x%02x",
						 in[i]);
	}
	if (len > TEXT_MAX)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "...");
	return json_stringn(text, used);
}

/* Bytes of no number: text if they are text with zeros behind it, else in hexadecimal. */
static json_t *bytes_value(const uint8_t *bytes, size_t len)
{
	size_t text = strnlen((const char *)bytes, len);
	char hex[2 * 32 + 4];
	size_t used = 0;
	bool plain = text > 1;

	for (size_t i = 0; i < len; i++)
		if (i < text ? bytes[i] < 0x20 || bytes[i] > 0x7e : bytes[i] != 0)
			plain = false;
	if (plain)
		return qcow2_inspect_text(bytes, text);
	for (size_t i = 0; i < len && i < 32; i++)
		used += (size_t)snprintf(hex + used, sizeof(hex) - used, "%02x", bytes[i]);
	if (len > 32)
		used += (size_t)snprintf(hex + used, sizeof(hex) - used, "...");
	return json_stringn(hex, used);
}

static bool wanted(const struct inspect *in, const char *name)
{
	return !in->args->structure || !strcmp(in->args->structure, name);
}

struct inspect_part qcow2_inspect_begin(struct inspect *in, const char *name, const char *section,
					uint64_t off, uint64_t len)
{
	struct inspect_part part = { .in = in, .name = name, .off = off };

	if (!wanted(in, name))
		return part;
	part.json = json_object();
	json_object_set_new(part.json, "structure", json_string(name));
	json_object_set_new(part.json, "section", json_string(section));
	json_object_set_new(part.json, "offset", qcow2_inspect_number(off));
	json_object_set_new(part.json, "length", qcow2_inspect_number(len));
	part.fields = json_array();
	json_object_set_new(part.json, "fields", part.fields);
	json_array_append_new(in->structures, part.json);
	return part;
}

struct inspect_part qcow2_inspect_begin_some(struct inspect *in, const char *name,
					     const char *section, uint64_t off, uint64_t len)
{
	struct inspect_part part = { .in = in, .name = name, .off = off };
	unsigned max = in->args->structure ? SHOWN_MAX_ONE : SHOWN_MAX;

	if (!wanted(in, name) || in->nr_shown >= max)
		return part;
	in->nr_shown++;
	return qcow2_inspect_begin(in, name, section, off, len);
}

static void add_problem(struct inspect_part *part, const char *text)
{
	struct inspect *in = part->in;
	json_t *one, *value = json_string(text);

	in->nr_problems++;
	if (part->json) {
		json_t *list = json_object_get(part->json, "problems");

		if (!list) {
			list = json_array();
			json_object_set_new(part->json, "problems", list);
		}
		json_array_append(list, value);
	}
	if (json_array_size(in->problems) < PROBLEMS_MAX) {
		one = json_object();
		json_object_set_new(one, "structure", json_string(part->name));
		json_object_set_new(one, "offset", qcow2_inspect_number(part->off));
		json_object_set(one, "text", value);
		json_array_append_new(in->problems, one);
	}
	json_decref(value);
}

void qcow2_inspect_problem(struct inspect_part *part, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	add_problem(part, text);
}

void qcow2_inspect_field(struct inspect_part *part, const struct inspect_value *value)
{
	json_t *json;

	if (value->problem) {
		char text[256];

		snprintf(text, sizeof(text), "%s: %s", value->name, value->problem);
		add_problem(part, text);
	}
	if (!part->json) {
		json_decref(value->value);
		return;
	}
	json = json_object();
	json_object_set_new(json, "name", json_string(value->name));
	json_object_set_new(json, "offset", qcow2_inspect_number(value->off));
	json_object_set_new(json, "size", qcow2_inspect_number(value->size));
	json_object_set_new(json, "value", value->value);
	json_object_set_new(json, "meaning", json_string(value->meaning));
	if (value->problem)
		json_object_set_new(json, "problem", json_string(value->problem));
	json_array_append_new(part->fields, json);
}

static uint64_t big_endian(const uint8_t *bytes, size_t len)
{
	uint64_t value = 0;

	for (size_t i = 0; i < len; i++)
		value = value << 8 | bytes[i];
	return value;
}

static void add_field(struct inspect_part *part, const struct qcow2_field *field,
		      const struct inspect_bytes *bytes,
		      bool (*wrong)(const struct inspect *in, const char *name, uint64_t value))
{
	const uint8_t *at = (const uint8_t *)bytes->bytes + field->off;
	bool number = field->size <= 8 && field->size != 7 && field->size != 6;
	struct inspect_value out = { field->name, bytes->off + field->off, field->size, NULL,
				     field->meaning, NULL };
	char problem[128];

	if (number) {
		uint64_t value = big_endian(at, field->size);

		out.value = qcow2_inspect_number(value);
		if (wrong && wrong(part->in, field->name, value)) {
			bool behind = strstr(field->name, "off") && value >= part->in->file_size;

			snprintf(problem, sizeof(problem), "%s%s",
				 behind ? "behind the end of the file" : "must be: ",
				 behind ? "" : field->limits);
			out.problem = problem;
		}
	} else {
		out.value = bytes_value(at, field->size);
	}
	qcow2_inspect_field(part, &out);
}

void qcow2_inspect_fields(struct inspect_part *part, const char *structure,
			  const struct inspect_bytes *bytes,
			  bool (*wrong)(const struct inspect *in, const char *name, uint64_t value))
{
	for (const struct qcow2_field *field = qcow2_fields; field->structure; field++) {
		if (strcmp(field->structure, structure) || field->unit != QCOW2_UNIT_BYTE)
			continue;
		if (field->off + field->size <= bytes->len)
			add_field(part, field, bytes, wrong);
	}
}

void qcow2_inspect_note(struct inspect_part *part, const char *key, uint64_t value)
{
	json_t *notes;

	if (!part->json)
		return;
	notes = json_object_get(part->json, "summary");
	if (!notes) {
		notes = json_object();
		json_object_set_new(part->json, "summary", notes);
	}
	json_object_set_new(notes, key, qcow2_inspect_number(value));
}

const struct qcow2_field *qcow2_inspect_find(const char *structure, const char *name)
{
	for (const struct qcow2_field *field = qcow2_fields; field->structure; field++)
		if (!strcmp(field->structure, structure) && !strcmp(field->name, name))
			return field;
	return NULL;
}

size_t qcow2_inspect_read(struct inspect *in, uint64_t off, void *buf, size_t len)
{
	size_t there = off >= in->file_size ? 0 : (size_t)min_u64(len, in->file_size - off);

	memset(buf, 0, len);
	if (!there || io_pread(in->file, off, buf, there) < 0)
		return 0;
	return there;
}
