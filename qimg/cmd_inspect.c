/* SPDX-License-Identifier: MIT */
/* qimg inspect: what lies where in an image file, field by field. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "blockdev/include/inspect.h"
#include "qimg/command.h"
#include "qimg/image.h"
#include "qimg/info_print.h"
#include "qimg/report.h"

enum { EXIT_PROBLEMS = 2 };

struct inspect_values {
	struct image_values image;
	const char *output, *structure, *guest;
};

static const struct opt inspect_opts[] = {
	OPT_COMMON_IMAGE_OPTS(struct inspect_values),
	OPT_COMMON_OUTPUT(struct inspect_values),
	{ NULL, "structure", NULL, OPT_TEXT, offsetof(struct inspect_values, structure), "NAME",
	  "show structures of this name only, but more of them" },
	{ NULL, "guest", NULL, OPT_TEXT, offsetof(struct inspect_values, guest), "OFFSET",
	  "show the way from this byte of the disk to its place in the file" },
	OPT_COMMON_SHARE(struct inspect_values),
	{ 0 },
};

static const char *const structures[] = {
	"header", "extension", "backing", "refcount-table", "refcount-block", "snapshot",
	"snapshot-l1", "bitmap", "bitmap-table", "luks", "luks-slot", "l1", "l2", NULL,
};

static const char *text_of(const json_t *obj, const char *key)
{
	const char *text = json_string_value(json_object_get(obj, key));

	return text ? text : "";
}

/* A number as people and debuggers write it; text as it is. */
static void number_text(const json_t *value, char *text, size_t room)
{
	json_int_t number = json_integer_value(value);

	if (json_is_string(value))
		snprintf(text, room, "%s", json_string_value(value));
	else if (json_is_true(value))
		snprintf(text, room, "set");
	else if (number < 10)
		snprintf(text, room, "%" JSON_INTEGER_FORMAT, number);
	else
		snprintf(text, room, "%" JSON_INTEGER_FORMAT " (0x%llx)", number,
			 (unsigned long long)number);
}

static void print_field(const json_t *field)
{
	char value[8192], off[48];
	json_t *at = json_object_get(field, "offset");

	number_text(json_object_get(field, "value"), value, sizeof(value));
	snprintf(off, sizeof(off), "0x%llx", (unsigned long long)json_integer_value(at));
	printf("  %-10s %-18s %-22s %s\n", off, text_of(field, "name"), value,
	       text_of(field, "meaning"));
	if (json_object_get(field, "problem"))
		printf("  !!! %s: %s\n", text_of(field, "name"), text_of(field, "problem"));
}

/* Problems of the structure itself; those of fields stand below the fields. */
static void print_problems(const json_t *structure)
{
	json_t *fields = json_object_get(structure, "fields");
	size_t i, k;
	json_t *problem, *field;

	json_array_foreach(json_object_get(structure, "problems"), i, problem) {
		bool of_field = false;

		json_array_foreach(fields, k, field) {
			const char *name = text_of(field, "name");
			size_t len = strlen(name);

			if (json_object_get(field, "problem") &&
			    !strncmp(json_string_value(problem), name, len) &&
			    json_string_value(problem)[len] == ':')
				of_field = true;
		}
		if (!of_field)
			printf("  !!! %s\n", json_string_value(problem));
	}
}

static void print_structure(const json_t *structure)
{
	json_t *summary = json_object_get(structure, "summary"), *field, *value;
	const char *key;
	char off[48];
	size_t i;

	number_text(json_object_get(structure, "offset"), off, sizeof(off));
	printf("%s at %s", text_of(structure, "structure"), off);
	if (json_integer_value(json_object_get(structure, "length")))
		printf(", %" JSON_INTEGER_FORMAT " bytes",
		       json_integer_value(json_object_get(structure, "length")));
	printf(" [%s]\n", text_of(structure, "section"));
	json_array_foreach(json_object_get(structure, "fields"), i, field)
		print_field(field);
	json_object_foreach(summary, key, value) {
		number_text(value, off, sizeof(off));
		printf("  %s: %s\n", key, off);
	}
	print_problems(structure);
	printf("\n");
}

static void print_human(const json_t *result)
{
	json_int_t nr = json_integer_value(json_object_get(result, "nr-problems"));
	json_t *structure, *problem;
	size_t i;

	json_array_foreach(json_object_get(result, "structures"), i, structure)
		print_structure(structure);
	if (!nr) {
		printf("No problems were found.\n");
		return;
	}
	printf("Problems: %" JSON_INTEGER_FORMAT "\n", nr);
	json_array_foreach(json_object_get(result, "problems"), i, problem) {
		char off[48];

		number_text(json_object_get(problem, "offset"), off, sizeof(off));
		printf("  %s at %s: %s\n", text_of(problem, "structure"), off,
		       text_of(problem, "text"));
	}
}

static int inspect(struct bd_node *node, const char *name, const struct inspect_values *values,
		   bool json)
{
	struct bd_inspect_args args = { .node = node, .structure = values->structure,
					.path = values->guest != NULL };
	struct bd_error err = { 0 };
	json_t *result;
	int status;

	if (values->guest && opts_size("guest offset", values->guest, 0, INT64_MAX, &args.guest))
		return 1;
	if (bd_inspect(&args, &result, &err) < 0) {
		report_failure(&err, "Could not inspect '%s': ", name);
		return 1;
	}
	status = json_integer_value(json_object_get(result, "nr-problems")) ? EXIT_PROBLEMS : 0;
	if (json) {
		json_object_set_new(result, "filename", bd_json_text(name));
		return json_print(result) ? 1 : status;
	}
	print_human(result);
	json_decref(result);
	return status;
}

static bool known_structure(const char *name)
{
	for (const char *const *known = structures; *known; known++)
		if (!strcmp(*known, name))
			return true;
	return false;
}

static int run(struct invocation *inv)
{
	struct inspect_values *values = inv->values;
	struct bd_queue *queue;
	struct bd_node *node;
	int status = 1;
	bool json;

	if (opts_output(values->output, &json))
		return 1;
	if (inv->nr_operands != 1)
		return report_usage("Expecting one image file name");
	if (values->structure && !known_structure(values->structure)) {
		report_error("Unknown structure '%s'", values->structure);
		return 1;
	}
	queue = image_queue(4);
	if (!queue)
		return 1;
	/* As raw: the bytes are looked at, whatever they are. */
	values->image.format = values->image.image_opts ? NULL : "raw";
	node = image_open(queue, inv->operands[0], &values->image,
			  BD_O_NO_FOLLOW | BD_O_NO_BACKING, "cache");
	if (node) {
		status = inspect(node, inv->operands[0], values, json);
		bd_close(node);
	}
	bd_queue_free(queue);
	return status;
}

const struct command cmd_inspect = {
	.name = "inspect",
	.operands = "FILE",
	.summary = "Show the structures of a qcow2 image, also of a damaged one",
	.opts = inspect_opts,
	.values_size = sizeof(struct inspect_values),
	.run = run,
};
