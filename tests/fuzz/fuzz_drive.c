/* SPDX-License-Identifier: MIT */
/* Disks of vkvm's command line: -drive, -blockdev and -device, a line each. */
#include <stdlib.h>
#include <string.h>

#include "vkvm/block/drive.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct drives drives;
	struct bd_error err = {0};
	char *text = malloc(size + 1), *save = NULL, *line;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = 0;
	memset(&drives, 0, sizeof(drives));
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (line[0] == 'd')
			drives_add_device(&drives, line + 1, false, &err);
		else if (line[0] == 'b')
			drives_add_node(&drives, line + 1, &err);
		else
			drives_add(&drives, line, &err);
	}
	drives_finish(&drives, false, 1, &err);
	drives_clear(&drives);
	free(text);
	return 0;
}
