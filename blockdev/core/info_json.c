/* SPDX-License-Identifier: MIT */
/* Facts about an image as JSON, in QEMU's words. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/include/info.h"

/* Bytes of the UTF-8 character at @s, 0: it is none. */
static unsigned utf8_len(const unsigned char *s)
{
	unsigned len = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 :
		       s[0] < 0xf5 ? 4 : 0;

	for (unsigned i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	}
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return len;
}

json_t *bd_json_text(const char *text)
{
	const unsigned char *in = (const unsigned char *)text;
	char *clean = malloc(3 * strlen(text) + 1), *out = clean;
	json_t *json;

	if (!clean)
		return NULL;
	while (*in) {
		unsigned len = utf8_len(in);

		if (len) {
			memcpy(out, in, len);
			out += len;
			in += len;
		} else {
			memcpy(out, "\xef\xbf\xbd", 3);
			out += 3;
			in++;
		}
	}
	*out = 0;
	json = json_string(clean);
	free(clean);
	return json;
}

/* Keys stand in the order QEMU prints them in, for those who read the text line by line. */
static json_t *snapshot_to_json(const struct bd_snapshot_info *sn)
{
	json_t *json = json_object();

	if (sn->icount != UINT64_MAX)
		json_object_set_new(json, "icount", json_integer((json_int_t)sn->icount));
	json_object_set_new(json, "vm-clock-nsec",
			    json_integer((json_int_t)(sn->vm_clock_ns % 1000000000)));
	json_object_set_new(json, "name", bd_json_text(sn->name));
	json_object_set_new(json, "date-sec", json_integer(sn->date_sec));
	json_object_set_new(json, "date-nsec", json_integer(sn->date_nsec));
	json_object_set_new(json, "vm-clock-sec",
			    json_integer((json_int_t)(sn->vm_clock_ns / 1000000000)));
	json_object_set_new(json, "id", bd_json_text(sn->id));
	json_object_set_new(json, "vm-state-size", json_integer((json_int_t)sn->vm_state_size));
	return json;
}

static void add_text(json_t *json, const char *key, const char *text)
{
	if (text)
		json_object_set_new(json, key, bd_json_text(text));
}

json_t *bd_info_json(struct bd_node *node, const struct bd_info *info)
{
	json_t *json = json_object();

	if (info->nr_snapshots) {
		json_t *list = json_array();

		for (size_t i = 0; i < info->nr_snapshots; i++)
			json_array_append_new(list, snapshot_to_json(&info->snapshots[i]));
		json_object_set_new(json, "snapshots", list);
	}
	if (info->backing_name)
		add_text(json, "backing-filename-format", info->backing_format);
	json_object_set_new(json, "virtual-size", json_integer((json_int_t)info->virtual_size));
	add_text(json, "filename", bd_filename(node));
	if (info->cluster_size)
		json_object_set_new(json, "cluster-size", json_integer(info->cluster_size));
	add_text(json, "format", bd_format_name(node));
	if (info->actual_size >= 0)
		json_object_set_new(json, "actual-size", json_integer(info->actual_size));
	if (info->encrypted)
		json_object_set_new(json, "encrypted", json_true());
	if (info->specific)
		json_object_set(json, "format-specific", info->specific);
	add_text(json, "full-backing-filename", info->backing_full);
	add_text(json, "backing-filename", info->backing_name);
	json_object_set_new(json, "dirty-flag", json_boolean(info->dirty));
	return json;
}
