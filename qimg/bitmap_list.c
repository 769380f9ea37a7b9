/* SPDX-License-Identifier: MIT */
/* The bitmaps of an image as a table or as JSON, with the words of info. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "blockdev/include/bitmap.h"
#include "qimg/bitmap_list.h"
#include "qimg/info_print.h"
#include "qimg/report.h"

static json_t *to_json(const struct bd_bitmap_info *bitmap)
{
	json_t *json = json_object(), *flags = json_array();

	if (bitmap->inconsistent)
		json_array_append_new(flags, json_string("in-use"));
	if (bitmap->enabled)
		json_array_append_new(flags, json_string("auto"));
	json_object_set_new(json, "name", bd_json_text(bitmap->name));
	json_object_set_new(json, "granularity", json_integer(bitmap->granularity));
	json_object_set_new(json, "flags", flags);
	return json;
}

int bitmap_list(struct bd_node *node, bool json)
{
	struct bd_bitmap_info *list = NULL;
	json_t *array = json ? json_array() : NULL;
	struct bd_error err = { 0 };
	size_t nr = 0;

	if (bd_bitmaps_get(node, &list, &nr, &err) < 0) {
		report_failure(&err, "%s", "");
		json_decref(array);
		return 1;
	}
	if (nr && !json)
		printf("%-24s %12s  %s\n", "BITMAP", "GRANULARITY", "FLAGS");
	for (size_t i = 0; i < nr; i++) {
		const char *inconsistent = list[i].inconsistent ? "in-use" : "";
		const char *enabled = list[i].enabled ? "auto" : "";

		if (json)
			json_array_append_new(array, to_json(&list[i]));
		else
			printf("%-24s %12" PRIu32 "  %s%s%s\n", list[i].name, list[i].granularity,
			       inconsistent, *inconsistent && *enabled ? "," : "", enabled);
	}
	bd_bitmaps_free(list, nr);
	return json ? json_print(array) : 0;
}
