/* SPDX-License-Identifier: MIT */
/* Any text as options, as JSON, as a size and as a number. */
#include <stdlib.h>
#include <string.h>

#include "blockdev/include/options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Keys and values are texts, and can be written as JSON as far as they are UTF-8. */
static void look(const struct bd_opts *opts)
{
	char *json = bd_opts_to_json(opts);

	if (json && json[0] != '{')
		abort();
	for (size_t i = 0; i < bd_opts_count(opts); i++) {
		if (bd_opts_get(opts, bd_opts_key(opts, i)) != bd_opts_value(opts, i))
			abort();
	}
	free(json);
}

static void split(struct bd_opts *opts)
{
	struct bd_opts *sub = bd_opts_new(), *copy = bd_opts_copy(opts);

	if (sub && copy && bd_opts_count(opts) != bd_opts_count(copy))
		abort();
	if (sub) {
		bd_opts_take_prefix(opts, "file.", sub);
		look(sub);
	}
	free(bd_opts_take(opts, "driver"));
	bd_opts_free(sub);
	bd_opts_free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	uint64_t number = 0;
	bool flag;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	for (int kind = 0; kind < 3; kind++) {
		struct bd_opts *opts = bd_opts_new();
		struct bd_error err = { 0 };
		int ret;

		if (!opts)
			break;
		ret = kind == 2 ? bd_opts_parse_json(opts, text, &err)
				: bd_opts_parse(opts, text, kind ? "filename" : NULL, &err);
		if (ret < 0 && !err.msg[0])
			abort(); /* a failure without a text */
		if (ret == 0) {
			look(opts);
			split(opts);
		}
		bd_opts_free(opts);
	}
	if (bd_parse_size(text, &number) == 0 && number > INT64_MAX)
		abort();
	bd_parse_u64(text, &number);
	bd_parse_bool(text, &flag);
	free(text);
	return 0;
}
