/* SPDX-License-Identifier: MIT */
/* qimg dd: copy a part of an image, block by block, as dd(1) would. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blockdev/include/create.h"
#include "qimg/command.h"
#include "qimg/image.h"
#include "qimg/report.h"
#include "qimg/stream.h"

enum { BUFFER = 2 << 20, SPARSE = 4096 };

struct dd_values {
	struct image_values image;
	const char *target;
};

static const struct opt dd_opts[] = {
	OPT_COMMON_OBJECT,
	OPT_COMMON_IMAGE_OPTS(struct dd_values),
	OPT_COMMON_SHARE(struct dd_values),
	OPT_COMMON_FORMAT(struct dd_values),
	{ "O", "output-format", NULL, OPT_TEXT, offsetof(struct dd_values, target), "FMT",
	  "format of the output (default: raw)" },
	{ 0 },
};

/* The operands name=value. */
struct words {
	const char *in, *out;
	uint64_t bs, count, skip, seek;
	bool has_count, has_skip, notrunc, sparse, fsync;
};

struct dd {
	const struct words *words;
	struct bd_node *src, *dst;
	uint64_t pos, end;         /* of the source */
	uint64_t start;            /* where the first byte goes in the target */
	uint8_t *buf;
};

/* conv=WORD[,WORD...] */
static int parse_conv(char *value, struct words *words)
{
	char *save = NULL;

	for (char *word = strtok_r(value, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		if (!strcmp(word, "notrunc")) {
			words->notrunc = true;
		} else if (!strcmp(word, "sparse")) {
			words->sparse = true;
		} else if (!strcmp(word, "fsync")) {
			words->fsync = true;
		} else {
			report_error("unrecognized operand conv");
			return 1;
		}
	}
	return 0;
}

static int parse_word(char *word, struct words *words)
{
	char *value = strchr(word, '=');

	if (value)
		*value++ = 0;
	if (value && !strcmp(word, "if")) {
		words->in = value;
	} else if (value && !strcmp(word, "of")) {
		words->out = value;
	} else if (value && !strcmp(word, "bs")) {
		return opts_size("bs", value, 1, INT_MAX, &words->bs);
	} else if (value && !strcmp(word, "count")) {
		words->has_count = true;
		return opts_size("count", value, 0, INT64_MAX, &words->count);
	} else if (value && !strcmp(word, "skip")) {
		words->has_skip = true;
		return opts_size("skip", value, 0, INT64_MAX, &words->skip);
	} else if (value && !strcmp(word, "seek")) {
		return opts_size("seek", value, 0, INT64_MAX, &words->seek);
	} else if (value && !strcmp(word, "conv")) {
		return parse_conv(value, words);
	} else {
		report_error("unrecognized operand %s", word);
		return 1;
	}
	return 0;
}

/* count= counts from the start of the input, also with skip=: as qemu-img dd does. */
static void find_range(struct dd *dd)
{
	const struct words *words = dd->words;
	uint64_t len;

	dd->pos = 0;
	dd->end = bd_size(dd->src);
	if (words->has_count && !__builtin_mul_overflow(words->count, words->bs, &len) &&
	    len < dd->end)
		dd->end = len;
	if (!words->has_skip)
		return;
	if (!__builtin_mul_overflow(words->skip, words->bs, &len) && len <= dd->end) {
		dd->pos = len;
		return;
	}
	report_error("%s: cannot skip to specified offset", words->in);
	dd->pos = dd->end;
}

/* Write a piece; with conv=sparse what is zero becomes a hole, block by block. */
static int put(struct dd *dd, uint64_t off, const uint8_t *buf, size_t len)
{
	size_t step = dd->words->sparse ? SPARSE : len;
	int ret = 0;

	for (size_t at = 0; at < len && ret == 0; at += step) {
		size_t part = len - at < step ? len - at : step;
		bool zero = dd->words->sparse && !buf[at] &&
			    !memcmp(buf + at, buf + at + 1, part - 1);

		if (!zero)
			ret = bd_pwrite(dd->dst, off + at, buf + at, part);
		else if (dd->words->notrunc || !bd_zero_init(dd->dst))
			ret = bd_pwrite_zeroes(dd->dst, off + at, part, BD_REQ_UNMAP);
	}
	return ret;
}

static int copy(struct dd *dd)
{
	uint64_t first = dd->pos;
	int ret;

	while (dd->pos < dd->end) {
		size_t len = dd->end - dd->pos < BUFFER ? dd->end - dd->pos : BUFFER;

		ret = bd_pread(dd->src, dd->pos, dd->buf, len);
		if (ret < 0) {
			report_error("error while reading from input image file: %s",
				     strerror(-ret));
			return 1;
		}
		ret = put(dd, dd->start + (dd->pos - first), dd->buf, len);
		if (ret < 0)
			break;
		dd->pos += len;
	}
	ret = dd->pos < dd->end ? ret : dd->words->fsync ? bd_sync(dd->dst) : 0;
	if (ret < 0) {
		report_error("error while writing to output image file: %s", strerror(-ret));
		return 1;
	}
	return 0;
}

static int create_target(struct bd_queue *queue, const char *name, const char *format,
			 uint64_t bytes)
{
	struct bd_create_args args = {
		.filename = name,
		.format = format,
		.opts = bd_opts_new(),
		.warn = report_warn_line,
	};
	struct bd_error err = { 0 };
	char size[32];
	int ret = -ENOMEM;

	snprintf(size, sizeof(size), "%" PRIu64, bytes);
	if (args.opts)
		ret = bd_opts_set(args.opts, "size", size);
	if (ret < 0)
		bd_fail_errno(&err, ret, "Could not set the size");
	signals_remove(name);
	if (ret == 0)
		ret = bd_create(queue, &args, &err);
	bd_opts_free(args.opts);
	if (ret < 0)
		report_failure(&err, "%s: error while creating output image: ", name);
	return ret < 0;
}

/* conv=notrunc: the target exists; it grows if it must. */
static int make_room(struct dd *dd, uint64_t bytes)
{
	struct bd_error err = { 0 };

	if (bytes <= bd_size(dd->dst) || bd_resize(dd->dst, bytes, "off", false, &err) == 0)
		return 0;
	report_failure(&err, "%s: ", dd->words->out);
	return 1;
}

static int to_image(struct bd_queue *queue, struct dd *dd, const char *format)
{
	const struct words *words = dd->words;
	struct image_values image = { .format = format };
	uint64_t bytes;
	int status = 1;

	if (__builtin_mul_overflow(words->seek, words->bs, &dd->start) ||
	    __builtin_add_overflow(dd->start, dd->end - dd->pos, &bytes) || bytes > INT64_MAX) {
		report_error("%s: cannot seek to specified offset", words->out);
		return 1;
	}
	if (words->notrunc || !create_target(queue, words->out, format, bytes)) {
		dd->dst = image_open(queue, words->out, &image,
				     BD_O_RDWR | (words->notrunc ? BD_O_RESIZE : 0), "cache");
		if (dd->dst && (!words->notrunc || !make_room(dd, bytes)))
			status = copy(dd);
		if (image_close(dd->dst))
			status = 1;
	}
	if (status)
		signals_remove_now();
	signals_keep();
	return status;
}

static bool can_create(const char *format)
{
	bool create = false;

	if (!bd_format_known(format, &create))
		report_error("Unknown file format");
	else if (!create)
		report_error("Format driver '%s' does not support image creation", format);
	return create;
}

static int run_dd(const struct words *words, const struct dd_values *values, const char *format)
{
	struct bd_queue *queue = image_queue(64);
	struct dd dd = { .words = words };
	int status = 1;

	if (!queue)
		return 1;
	if (posix_memalign((void **)&dd.buf, 4096, BUFFER)) {
		report_error("%s", strerror(ENOMEM));
		goto out;
	}
	dd.src = image_open(queue, words->in, &values->image, 0, "source cache");
	if (!dd.src)
		goto out;
	find_range(&dd);
	if (!can_create(format) || image_check_cut(dd.src, dd.pos, dd.end))
		status = 1;
	else if (words->out)
		status = to_image(queue, &dd, format);
	else
		status = stream_range(dd.src, dd.pos, dd.end, STDOUT_FILENO);
	bd_close(dd.src);
out:
	free(dd.buf);
	bd_queue_free(queue);
	return status;
}

static int run(struct invocation *inv)
{
	const struct dd_values *values = inv->values;
	const char *format = values->target ? values->target : "raw";
	struct words words = { .bs = 512 };

	for (int i = 0; i < inv->nr_operands; i++) {
		if (parse_word(inv->operands[i], &words))
			return 1;
	}
	/* Without of= a raw output goes to standard output, which must not be a terminal. */
	if (!words.in || (!words.out && (strcmp(format, "raw") || isatty(STDOUT_FILENO)))) {
		report_error("Must specify both input and output files");
		return 1;
	}
	if (!words.out && (words.seek || words.notrunc || words.sparse || words.fsync)) {
		report_error("seek= and conv= need of=");
		return 1;
	}
	if (image_conflict(&values->image))
		return 1;
	return run_dd(&words, values, format);
}

const struct command cmd_dd = {
	.name = "dd",
	.operands = "[bs=SIZE] [count=N] [skip=N] [seek=N] [conv=WORDS] if=FILE [of=FILE]",
	.summary = "Copy blocks of an image into a new one, or to standard output",
	.opts = dd_opts,
	.values_size = sizeof(struct dd_values),
	.run = run,
};
