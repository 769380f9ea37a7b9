/* SPDX-License-Identifier: MIT */
/* Facts about an image, for people and as JSON. */
#include "qimg/info_print.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qimg/human.h"
#include "qimg/report.h"

/* As QEMU: what is empty is closed on a line of its own. */
static void put_json(const char *text)
{
	bool quoted = false, leading = true;
	int indent = 0;

	for (; *text; text++) {
		putchar(*text);
		if (*text == '"')
			quoted = !quoted;
		if (quoted && *text == '\\' && text[1])
			putchar(*++text);
		if (*text == '\n')
			indent = 0;
		leading = *text == '\n' || (leading && *text == ' ');
		indent += leading && *text == ' ';
		if (!quoted && ((text[0] == '[' && text[1] == ']') ||
				(text[0] == '{' && text[1] == '}')))
			printf("\n%*s", indent, "");
	}
	putchar('\n');
}

int json_print(json_t *json)
{
	char *text = json ? json_dumps(json, JSON_INDENT(4) | JSON_PRESERVE_ORDER) : NULL;

	json_decref(json);
	if (!text) {
		report_error("%s", strerror(ENOMEM));
		return 1;
	}
	/* A full disk shows when standard output is closed. */
	put_json(text);
	free(text);
	return 0;
}

/* The limits by name; those that are not set are left out. */
static size_t list_limits(const struct bd_limits *limits, const char **names, uint32_t *values)
{
	const struct { const char *name; uint32_t value; } all[] = {
		{ "request-alignment", limits->request_align },
		{ "discard-alignment", limits->discard_align },
		{ "write-zeroes-alignment", limits->zero_align },
		{ "max-transfer", limits->max_transfer },
		{ "max-iov", limits->max_iov },
		{ "min-mem-alignment", limits->mem_align },
		{ "opt-mem-alignment", limits->mem_align },
	};
	size_t nr = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (!all[i].value)
			continue;
		names[nr] = all[i].name;
		values[nr++] = all[i].value;
	}
	return nr;
}

void info_print_limits(FILE *out, const struct bd_limits *limits)
{
	const char *names[8];
	uint32_t values[8];
	size_t nr = list_limits(limits, names, values);

	fprintf(out, "Block limits:\n");
	for (size_t i = 0; i < nr; i++) {
		fputs("    ", out);
		for (const char *c = names[i]; *c; c++)
			fputc(*c == '-' ? ' ' : *c, out);
		fprintf(out, ": %" PRIu32 "\n", values[i]);
	}
}

json_t *info_limits_to_json(const struct bd_limits *limits)
{
	json_t *json = json_object();
	const char *names[8];
	uint32_t values[8];
	size_t nr = list_limits(limits, names, values);

	for (size_t i = 0; i < nr; i++)
		json_object_set_new(json, names[i], json_integer(values[i]));
	return json;
}

void info_print_snapshots(FILE *out, const struct bd_snapshot_info *snapshots, size_t nr)
{
	fprintf(out, "Snapshot list:\n%-10s%-17s%8s%20s%13s%11s\n", "ID", "TAG", "VM SIZE", "DATE",
	       "VM CLOCK", "ICOUNT");
	for (size_t i = 0; i < nr; i++) {
		const struct bd_snapshot_info *sn = &snapshots[i];
		char size[32], date[32], clock[32], icount[32] = "";

		human_size(size, sizeof(size), sn->vm_state_size);
		human_date(date, sizeof(date), sn->date_sec);
		human_clock(clock, sizeof(clock), sn->vm_clock_ns);
		if (sn->icount != UINT64_MAX)
			snprintf(icount, sizeof(icount), "%" PRIu64, sn->icount);
		fprintf(out, "%-9s %-16s %8s%20s%13s%11s\n", sn->id, sn->name, size, date, clock,
		       icount);
	}
}

static void print_value(FILE *out, const json_t *value, int depth);

/* "    key:" and its value: on the same line if it is a plain one. */
static void print_member(FILE *out, const char *key, const json_t *value, int depth)
{
	bool plain = !json_is_object(value) && !json_is_array(value);

	fprintf(out, "%*s%s:%c", depth * 4, "", key, plain ? ' ' : '\n');
	print_value(out, value, depth + 1);
	if (plain)
		fputc('\n', out);
}

static void print_value(FILE *out, const json_t *value, int depth)
{
	const char *key;
	json_t *member;
	size_t i;

	switch (json_typeof(value)) {
	case JSON_OBJECT:
		json_object_foreach((json_t *)value, key, member) {
			char name[80];

			snprintf(name, sizeof(name), "%s", key);
			for (char *c = name; *c; c++)
				*c = *c == '-' ? ' ' : *c;
			print_member(out, name, member, depth);
		}
		break;
	case JSON_ARRAY:
		json_array_foreach(value, i, member) {
			char name[24];

			snprintf(name, sizeof(name), "[%zu]", i);
			print_member(out, name, member, depth);
		}
		break;
	case JSON_STRING:
		fprintf(out, "%s", json_string_value(value));
		break;
	case JSON_INTEGER:
		fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		fprintf(out, "%s", json_is_true(value) ? "true" : "false");
		break;
	default:
		break;
	}
}

static void print_backing(FILE *out, const struct bd_info *info)
{
	if (!info->backing_name)
		return;
	fprintf(out, "backing file: %s", info->backing_name);
	if (!info->backing_full)
		fprintf(out, " (cannot determine actual path)");
	else if (strcmp(info->backing_name, info->backing_full))
		fprintf(out, " (actual path: %s)", info->backing_full);
	fputc('\n', out);
	if (info->backing_format)
		fprintf(out, "backing file format: %s\n", info->backing_format);
}

void info_print_specific(FILE *out, const struct bd_info *info)
{
	if (!info->specific)
		return;
	fprintf(out, "Format specific information:\n");
	print_value(out, json_object_get(info->specific, "data"), 1);
}

void info_print_human(FILE *out, struct bd_node *node, const struct bd_info *info)
{
	char virtual_size[32], actual[32] = "unavailable";

	human_size(virtual_size, sizeof(virtual_size), info->virtual_size);
	if (info->actual_size >= 0)
		human_size(actual, sizeof(actual), (uint64_t)info->actual_size);
	fprintf(out, "image: %s\nfile format: %s\nvirtual size: %s (%" PRIu64 " bytes)\n"
	       "disk size: %s\n",
	       bd_filename(node), bd_format_name(node), virtual_size, info->virtual_size, actual);
	if (info->encrypted)
		fprintf(out, "encrypted: yes\n");
	if (info->cluster_size)
		fprintf(out, "cluster_size: %" PRIu32 "\n", info->cluster_size);
	if (info->dirty)
		fprintf(out, "cleanly shut down: no\n");
	print_backing(out, info);
	if (info->nr_snapshots)
		info_print_snapshots(out, info->snapshots, info->nr_snapshots);
	info_print_specific(out, info);
}
