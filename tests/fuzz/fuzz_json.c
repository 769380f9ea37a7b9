/* SPDX-License-Identifier: MIT */
/* Any text behind "json:" as the name of an image; no '/', so that it leads to no other folder. */
#include <stdlib.h>
#include <string.h>

#include "blockdev/include/blockdev.h"
#include "tests/fuzz/fuzz_queue.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bd_open_args args = { .flags = BD_O_NO_FOLLOW | BD_O_NO_BACKING };
	struct bd_queue *queue = the_queue();
	struct bd_error err = { 0 };
	struct bd_node *node = NULL;
	char *name = malloc(size + 6);
	int ret;

	if (!name)
		return 0;
	memcpy(name, "json:", 5);
	memcpy(name + 5, data, size);
	name[size + 5] = '\0';
	if (strchr(name, '/') || strcasestr(name, "u002f")) {
		free(name);
		return 0;
	}
	args.filename = name;
	ret = bd_open(queue, &args, &node, &err);
	/* A failure has a text, and no node. */
	if ((ret < 0) != (node == NULL) || (ret < 0 && !err.msg[0]))
		abort();
	bd_close(node);
	free(name);
	return 0;
}
