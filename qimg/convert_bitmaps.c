/* SPDX-License-Identifier: MIT */
/* The bitmaps of convert's source: checked first, copied last. */
#include <string.h>

#include "blockdev/include/bitmap.h"
#include "qimg/convert.h"
#include "qimg/report.h"

int convert_check_bitmaps(struct convert *convert)
{
	struct bd_bitmap_info *list;
	struct bd_error err = { 0 };
	const char *broken = NULL;
	size_t nr;

	if (convert->nr_src > 1 || !bd_can_bitmaps(convert->src[0])) {
		report_error(convert->nr_src > 1 ? "Copying bitmaps only possible with single "
						   "source" : "Source lacks bitmap support");
		return 1;
	}
	if (bd_bitmaps_get(convert->src[0], &list, &nr, &err) < 0) {
		report_failure(&err, "%s", "");
		return 1;
	}
	for (size_t i = 0; i < nr; i++) {
		if (list[i].inconsistent)
			broken = list[i].name;
	}
	if (broken && !convert->values->skip_broken) {
		bd_fail(&err, -1, "Cannot copy inconsistent bitmap '%s'", broken);
		bd_hint(&err, "Try --skip-broken-bitmaps, or use 'qemu-img bitmap --remove' to "
			      "delete it");
		report_failure(&err, "%s", "");
	}
	bd_bitmaps_free(list, nr);
	return broken && !convert->values->skip_broken;
}

static int copy_one(struct convert *convert, const struct bd_bitmap_info *bitmap)
{
	struct bd_error err = { 0 };

	if (bitmap->inconsistent) {
		report_warning("Skipping inconsistent bitmap '%s'", bitmap->name);
		return 0;
	}
	if (bd_bitmap_add(convert->dst, bitmap->name, bitmap->granularity, bitmap->enabled,
			  &err) < 0) {
		report_failure(&err, "Failed to create bitmap %s: ", bitmap->name);
		return 1;
	}
	if (bd_bitmap_merge(convert->dst, bitmap->name, convert->src[0], bitmap->name, &err) < 0) {
		report_failure(&err, "Failed to populate bitmap %s: ", bitmap->name);
		return 1;
	}
	return 0;
}

/* A name that is taken already: the last one is reported, as QEMU does. */
static int check_names(struct convert *convert, const struct bd_bitmap_info *list, size_t nr)
{
	struct bd_bitmap_info *have;
	struct bd_error err = { 0 };
	const char *taken = NULL;
	size_t nr_have;

	if (bd_bitmaps_get(convert->dst, &have, &nr_have, &err) < 0) {
		report_failure(&err, "%s", "");
		return 1;
	}
	for (size_t i = 0; i < nr; i++) {
		for (size_t j = 0; j < nr_have; j++) {
			if (!list[i].inconsistent && !strcmp(list[i].name, have[j].name))
				taken = list[i].name;
		}
	}
	bd_bitmaps_free(have, nr_have);
	if (taken)
		report_error("Failed to create bitmap %s: Bitmap already exists: %s", taken, taken);
	return taken != NULL;
}

int convert_copy_bitmaps(struct convert *convert)
{
	struct bd_bitmap_info *list;
	struct bd_error err = { 0 };
	int status = 0;
	size_t nr;

	if (bd_bitmaps_get(convert->src[0], &list, &nr, &err) < 0) {
		report_failure(&err, "%s", "");
		return 1;
	}
	status = check_names(convert, list, nr);
	for (size_t i = 0; i < nr && !status; i++)
		status = copy_one(convert, &list[i]);
	bd_bitmaps_free(list, nr);
	return status;
}
