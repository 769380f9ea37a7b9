/* SPDX-License-Identifier: MIT */
/* The target of convert: options, creation, opening, size. */
#include "qimg/convert.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "qimg/image.h"
#include "qimg/report.h"

static int no_memory(void)
{
	report_error("%s", strerror(ENOMEM));
	return 1;
}

/* -B and -F are another way to say -o backing_file and -o backing_fmt. */
static int old_style_options(struct convert *convert)
{
	const struct bd_option *table = bd_create_options(convert->format);
	const struct convert_values *values = convert->values;

	if (values->backing && !image_has_option(table, "backing_file")) {
		report_error("Backing file not supported for file format '%s'", convert->format);
		return 1;
	}
	if (values->backing_format && !image_has_option(table, "backing_fmt")) {
		report_error("Backing file format not supported for file format '%s'",
			     convert->format);
		return 1;
	}
	if ((values->backing &&
	     bd_opts_set(convert->opts, "backing_file", values->backing) < 0) ||
	    (values->backing_format &&
	     bd_opts_set(convert->opts, "backing_fmt", values->backing_format) < 0))
		return no_memory();
	return 0;
}

static int make_options(struct convert *convert)
{
	struct bd_error err = { 0 };
	char size[32];

	convert->opts = bd_opts_new();
	if (!convert->opts)
		return no_memory();
	if (convert->values->options &&
	    bd_opts_parse(convert->opts, convert->values->options, NULL, &err) < 0) {
		report_failure(&err, "%s", "");
		return 1;
	}
	if (image_wrong_option(convert->opts, convert->format, convert->name))
		return 1;
	/* The size is the sources', whatever -o says. */
	snprintf(size, sizeof(size), "%" PRIu64, convert->total);
	if (bd_opts_set(convert->opts, "size", size) < 0)
		return no_memory();
	return old_style_options(convert);
}

static int check_format(const struct convert *convert)
{
	bool create = false;

	if (!bd_format_known(convert->format, &create)) {
		report_error("Unknown file format '%s'", convert->format);
		return 1;
	}
	if (!create || !bd_create_options(convert->format)) {
		report_error("Format driver '%s' does not support image creation",
			     convert->format);
		return 1;
	}
	return 0;
}

static int check_backing(struct convert *convert)
{
	const struct convert_values *values = convert->values;
	const char *name = values->backing, *format = values->backing_format;

	if (convert->opts) {
		name = bd_opts_get(convert->opts, "backing_file");
		format = bd_opts_get(convert->opts, "backing_fmt");
	}
	convert->has_backing = name && *name;
	if (!convert->has_backing)
		return 0;
	if (values->target_is_zero) {
		report_error("Cannot use --target-is-zero when the destination image has a "
			     "backing file");
		return 1;
	}
	if (convert->nr_src > 1) {
		report_error("Having a backing file for the target makes no sense when "
			     "concatenating multiple input images");
		return 1;
	}
	if (convert->opts && !format) {
		report_error("Use of backing file requires explicit backing format");
		return 1;
	}
	return 0;
}

/* Formats whose clusters can be compressed say so by their options. */
static int check_compression(const struct convert *convert)
{
	const struct bd_option *table = bd_create_options(convert->format);
	const char *encryption, *prealloc;

	if (!convert->opts)
		return 0; /* an existing target is asked once it is open */
	if (!image_has_option(table, "compression_type")) {
		report_error("Compression not supported for this file format");
		return 1;
	}
	encryption = bd_opts_get(convert->opts, "encryption");
	prealloc = bd_opts_get(convert->opts, "preallocation");
	if (bd_opts_get(convert->opts, "encrypt.format") ||
	    (encryption && strcmp(encryption, "off"))) {
		report_error("Compression and encryption not supported at the same time");
		return 1;
	}
	if (prealloc && strcmp(prealloc, "off")) {
		report_error("Compression and preallocation not supported at the same time");
		return 1;
	}
	return 0;
}

/* A lone "-" is a file of that name, as it always was; who pipes us may mean the pipe. */
static void warn_dash(const char *name)
{
	struct stat info;

	if (strcmp(name, "-") || fstat(STDOUT_FILENO, &info) < 0 || !S_ISFIFO(info.st_mode))
		return;
	report_warning("'-' is a file name; standard output is /dev/stdout");
}

int convert_check_target(struct convert *convert)
{
	unsigned flags = 0;

	if (!convert->values->no_create) {
		if (check_format(convert) || make_options(convert))
			return 1;
		warn_dash(convert->name);
	}
	if (check_backing(convert))
		return 1;
	if (convert->values->compress && check_compression(convert))
		return 1;
	return image_cache(convert->values->target_cache, "cache", &flags);
}

static int create(struct convert *convert)
{
	struct bd_create_args args = {
		.filename = convert->name,
		.format = convert->format,
		.opts = convert->opts,
		.backing_unsafe = true, /* opening the target looks at it */
		.warn = report_warn_line,
	};
	struct bd_error err = { 0 };

	signals_remove(convert->name);
	signals_remove(bd_opts_get(convert->opts, "data_file"));
	if (bd_create(convert->queue, &args, &err) == 0)
		return 0;
	report_failure(&err, "%s: error while converting %s: ", convert->name, convert->format);
	return 1;
}

/* --compression-level and --compression-window: of the opened target. */
static int set_compression(struct convert *convert)
{
	const struct convert_values *values = convert->values;
	uint64_t level = 0, window = 32768;
	struct bd_error err = {0};

	if (!values->level && !values->window)
		return 0;
	if (!values->compress) {
		report_error("A compression level or window needs -c");
		return 1;
	}
	if (values->level && (bd_parse_u64(values->level, &level) < 0 || !level || level > 22)) {
		report_error("Invalid compression level specified");
		return 1;
	}
	if (values->window && (bd_parse_size(values->window, &window) < 0 ||
			       (window != 4096 && window != 32768))) {
		report_error("Invalid compression window specified: 4k and 32k are there");
		return 1;
	}
	if (bd_set_compression(convert->dst, (unsigned)level, window == 4096, &err) == 0)
		return 0;
	report_failure(&err, "%s", "");
	return 1;
}

static int check_opened(struct convert *convert)
{
	uint64_t size = bd_size(convert->dst);

	if (convert->values->compress && !bd_can_compress(convert->dst)) {
		report_error("Compression not supported for this file format");
		return 1;
	}
	if (convert->values->compress && bd_encrypted(convert->dst)) {
		report_error("Compression and encryption not supported at the same time");
		return 1;
	}
	/* Where nothing was written there is noise, once it is decrypted. */
	if (convert->values->target_is_zero && bd_encrypted(convert->dst) &&
	    !bd_zero_init(convert->dst)) {
		report_error("Cannot use --target-is-zero when the destination image is "
			     "encrypted and has data");
		return 1;
	}
	if (set_compression(convert))
		return 1;
	if (!convert->values->no_create || size >= convert->total)
		return 0;
	report_error("output file is smaller than input file");
	return 1;
}

/* What names a key when the target is made does it when it is opened. */
static int key_options(const struct convert *convert, struct bd_opts **out)
{
	*out = bd_opts_new();
	if (!*out)
		return no_memory();
	for (size_t i = 0; convert->opts && i < bd_opts_count(convert->opts); i++) {
		const char *key = bd_opts_key(convert->opts, i);

		if (!strcmp(key, "key-secret") || !strcmp(key, "encrypt.key-secret")) {
			if (bd_opts_set(*out, key, bd_opts_value(convert->opts, i)) < 0)
				return no_memory();
		}
	}
	return 0;
}

int convert_open_target(struct convert *convert)
{
	const struct convert_values *values = convert->values;
	struct bd_opts *keys = NULL;
	struct image_values image = {
		.format = values->target_image_opts ? NULL : convert->format,
		.cache = values->target_cache ? values->target_cache : "unsafe",
		.image_opts = values->target_image_opts,
	};
	unsigned flags = BD_O_RDWR, cache = 0;

	if (values->target_image_opts && values->target_format) {
		report_error("--image-opts and --format are mutually exclusive");
		return 1;
	}
	if (key_options(convert, &keys) || (!values->no_create && create(convert))) {
		bd_opts_free(keys);
		return 1;
	}
	image.more = keys;
	if (convert->sparse_size)
		flags |= BD_O_UNMAP;
	/* With O_DIRECT the end of the file may have to move to a whole block. */
	if (convert->grows || (bd_cache_mode(image.cache, &cache) == 0 && (cache & BD_O_DIRECT)))
		flags |= BD_O_RESIZE;
	convert->dst = image_open(convert->queue, convert->name, &image, flags, "cache");
	bd_opts_free(keys);
	return !convert->dst || check_opened(convert);
}
