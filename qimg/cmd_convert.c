/* SPDX-License-Identifier: MIT */
/* qimg convert: copy images into a new one of any format. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/include/bitmap.h"
#include "blockdev/include/copy.h"
#include "qimg/command.h"
#include "qimg/convert.h"
#include "qimg/image.h"
#include "qimg/report.h"

enum { MAX_SPARSE = 16 << 20, DEFAULT_SPARSE = 4096, MAX_PARALLEL = 16 };

#define FIELD(name) offsetof(struct convert_values, name)

static const struct opt convert_opts[] = {
	OPT_COMMON_OBJECT,
	OPT_COMMON_IMAGE_OPTS(struct convert_values),
	{ NULL, "target-image-opts", NULL, OPT_FLAG, FIELD(target_image_opts), NULL,
	  "the target is named by options; needs -n" },
	{ NULL, "target-is-zero", NULL, OPT_FLAG, FIELD(target_is_zero), NULL,
	  "the target reads as zeros already; needs -n" },
	{ NULL, "bitmaps", NULL, OPT_FLAG, FIELD(bitmaps), NULL,
	  "copy persistent bitmaps, too" },
	{ NULL, "skip-broken-bitmaps", NULL, OPT_FLAG, FIELD(skip_broken), NULL,
	  "leave out bitmaps that are inconsistent" },
	OPT_COMMON_SHARE(struct convert_values),
	{ "C", "copy-range-offloading", NULL, OPT_FLAG, FIELD(offload), NULL,
	  "let the file system copy where it can" },
	{ "c", "compress", NULL, OPT_FLAG, FIELD(compress), NULL, "compress the target" },
	OPT_COMMON_PROGRESS(struct convert_values),
	OPT_COMMON_QUIET(struct convert_values),
	{ "n", "no-create", NULL, OPT_FLAG, FIELD(no_create), NULL,
	  "the target exists already" },
	{ "f", "source-format", NULL, OPT_TEXT, FIELD(image.format), "FMT",
	  "format of the sources; guessed if not given" },
	{ "t", "target-cache", NULL, OPT_TEXT, FIELD(target_cache), "CACHE",
	  "cache mode of the target (default: unsafe)" },
	{ "T", "source-cache", NULL, OPT_TEXT, FIELD(image.cache), "CACHE",
	  "cache mode of the sources" },
	{ "O", "target-format", NULL, OPT_TEXT, FIELD(target_format), "FMT",
	  "format of the target (default: raw)" },
	{ "Bb", "backing", NULL, OPT_TEXT, FIELD(backing), "FILE",
	  "backing file of the target: copy only what differs from the sources' one" },
	{ "F", "backing-format", NULL, OPT_TEXT, FIELD(backing_format), "FMT",
	  "format of the backing file" },
	{ "o", "target-format-options", "options", OPT_JOIN, FIELD(options), "OPTIONS",
	  "options of the target's format, name=value,...; help lists them" },
	{ "l", "snapshot", NULL, OPT_TEXT, FIELD(snapshot), "SNAPSHOT",
	  "copy an internal snapshot of the source" },
	{ "S", "sparse-size", NULL, OPT_TEXT, FIELD(sparse), "SIZE",
	  "bytes of zeros that become a hole (default: 4k); 0: no holes" },
	{ "r", "rate-limit", NULL, OPT_TEXT, FIELD(rate), "RATE",
	  "bytes to write per second at most" },
	{ "m", "parallel", NULL, OPT_TEXT, FIELD(parallel), "N",
	  "buffers in flight, 1 to 16 (default: 8)" },
	{ "W", "oob-writes", NULL, OPT_FLAG, FIELD(out_of_order), NULL,
	  "write in any order" },
	{ NULL, "compression-level", NULL, OPT_TEXT, FIELD(level), "N",
	  "-c: 1 (fast) to 12 for zlib, to 22 for zstd" },
	{ NULL, "compression-window", NULL, OPT_TEXT, FIELD(window), "SIZE",
	  "-c: zlib looks back 4k or 32k at most (default: 32k)" },
	{ NULL, "no-verify", NULL, OPT_FLAG, FIELD(no_verify), NULL,
	  "-c: take compressed clusters over without a look into them" },
	{ NULL, "verify", NULL, OPT_FLAG, FIELD(verify), NULL,
	  "compare the target with the source when it is complete" },
	{ NULL, "salvage", NULL, OPT_FLAG, FIELD(salvage), NULL,
	  "replace what cannot be read by zeros, with a warning" },
	{ 0 },
};

static int parse_sparse(const char *text, uint64_t *size)
{
	*size = DEFAULT_SPARSE;
	if (!text)
		return 0;
	if (opts_size("buffer size for sparse output", text, 0, INT64_MAX, size))
		return 1;
	if (*size % CONVERT_SECTOR == 0 && *size <= MAX_SPARSE)
		return 0;
	report_error("Invalid buffer size for sparse output specified. Valid sizes are multiples "
		     "of %d up to %d. Select 0 to disable sparse detection (fully allocates "
		     "output).", CONVERT_SECTOR, MAX_SPARSE);
	return 1;
}

static int parse_parallel(const char *text, unsigned *parallel)
{
	uint64_t value = 8;

	if (text && (bd_parse_u64(text, &value) < 0 || value < 1 || value > MAX_PARALLEL)) {
		report_error("Invalid number of coroutines. Allowed number of coroutines is "
			     "between 1 and %d", MAX_PARALLEL);
		return 1;
	}
	*parallel = (unsigned)value;
	return 0;
}

static int parse_values(struct convert *convert)
{
	const struct convert_values *values = convert->values;

	if (parse_sparse(values->sparse, &convert->sparse_size) ||
	    parse_parallel(values->parallel, &convert->parallel))
		return 1;
	return values->rate && opts_size("rate limit", values->rate, 0, INT64_MAX,
					 &convert->rate);
}

/* Options that exclude or need each other. */
static const char *contradiction(const struct convert_values *values)
{
	if (values->skip_broken && !values->bitmaps)
		return "Use of --skip-broken-bitmaps requires --bitmaps";
	if (values->target_image_opts && !values->no_create)
		return "--target-image-opts requires use of -n flag";
	if (values->no_create && values->options)
		return "-o has no effect when skipping image creation";
	if (values->target_is_zero && !values->no_create)
		return "--target-is-zero requires use of -n flag";
	if (values->compress && values->offload)
		return "Cannot enable copy offloading when -c is used";
	if (values->sparse && values->offload)
		return "Cannot enable copy offloading when -S is used";
	if (values->salvage && values->offload)
		return "Cannot use copy offloading in salvaging mode";
	if (values->salvage && values->verify)
		return "What was salvaged cannot be verified";
	return NULL;
}

static int open_sources(struct convert *convert, char **names)
{
	const struct convert_values *values = convert->values;

	convert->src = calloc(convert->nr_src, sizeof(*convert->src));
	if (!convert->src) {
		report_error("%s", strerror(ENOMEM));
		return 1;
	}
	for (unsigned i = 0; i < convert->nr_src; i++) {
		uint64_t size;

		convert->src[i] = image_open(convert->queue, names[i], &values->image,
					     BD_O_SHARE_NO_WRITE, "source cache");
		if (!convert->src[i])
			return 1;
		size = bd_size(convert->src[i]);
		size += (CONVERT_SECTOR - size % CONVERT_SECTOR) % CONVERT_SECTOR;
		if (__builtin_add_overflow(convert->total, size, &convert->total) ||
		    convert->total > INT64_MAX) {
			report_error("The sources are too large together");
			return 1;
		}
	}
	if (values->verify && convert->nr_src > 1) {
		report_error("Only one source can be verified");
		return 1;
	}
	if (values->snapshot && convert->nr_src > 1 && strncmp(values->snapshot, "snapshot.", 9)) {
		report_error("No support for concatenating multiple snapshot");
		return 1;
	}
	return values->snapshot && image_load_snapshot(convert->src[0], values->snapshot);
}

static void warn_line(const char *line, void *user)
{
	(void)user;
	report_warning("%s", line);
}

static int copy(struct convert *convert)
{
	const struct convert_values *values = convert->values;
	bool fresh = !values->no_create && !convert->has_backing && convert->sparse_size;
	struct bd_error err = { 0 };
	struct bd_copy_args args = {
		.src = convert->src,
		.nr_src = convert->nr_src,
		.dst = convert->dst,
		.sparse_size = convert->sparse_size,
		.rate = convert->rate,
		.parallel = convert->parallel,
		.dst_is_zero = values->target_is_zero || (fresh && bd_zero_init(convert->dst)),
		.dst_is_new = !values->no_create,
		.keep_backing = convert->has_backing,
		.compress = values->compress,
		.pass_packed = !values->level && !values->window,
		.verify_packed = !values->no_verify,
		.out_of_order = values->out_of_order,
		.salvage = values->salvage,
		.offload = values->offload,
		.count_first = convert->progress.on,
		.progress = progress_update,
		.warn = values->quiet ? NULL : warn_line,
		.user = &convert->progress,
	};
	int ret = bd_copy(&args, &err);

	progress_end(&convert->progress);
	if (ret < 0)
		report_failure(&err, "%s", "");
	return ret < 0;
}

/* Read everything back.  A target that is larger than its source ends with what it had. */
static int verify(struct convert *convert)
{
	struct bd_compare_args args = { .a = convert->src[0], .b = convert->dst };
	struct bd_error err = { 0 };
	int ret = bd_compare(&args, &err);

	if (ret < 0) {
		report_failure(&err, "%s", "");
		return 1;
	}
	if (ret == BD_SAME || args.offset >= convert->total)
		return 0;
	report_error("Verification failed: the target differs from the source at offset %llu",
		     (unsigned long long)args.offset);
	return 1;
}

int convert_finish(struct convert *convert, int status)
{
	if (image_close(convert->dst))
		status = 1;
	if (status)
		signals_remove_now();
	signals_keep();
	return status;
}

int convert_to_image(struct convert *convert)
{
	int status = convert_open_target(convert);

	if (!status && convert->values->bitmaps && !bd_can_bitmaps(convert->dst)) {
		report_error("Format driver '%s' does not support bitmaps",
			     bd_format_name(convert->dst));
		status = 1;
	}
	if (!status)
		status = copy(convert);
	if (!status && convert->values->verify)
		status = verify(convert);
	if (!status && convert->values->bitmaps)
		status = convert_copy_bitmaps(convert);
	return convert_finish(convert, status);
}

static void close_all(struct convert *convert)
{
	for (unsigned i = 0; convert->src && i < convert->nr_src; i++) {
		if (convert->src[i])
			bd_close(convert->src[i]);
	}
	free(convert->src);
	bd_opts_free(convert->opts);
	bd_queue_free(convert->queue);
}

static int convert_images(struct convert *convert, char **names)
{
	const struct convert_values *values = convert->values;
	int status = 1;

	convert->queue = image_queue(256);
	if (!convert->queue)
		return 1;
	progress_begin(&convert->progress, values->progress && !values->quiet &&
					   !convert_to_pipe(convert), 1);
	progress_update(0, 1, &convert->progress);
	if (convert_from_pipe(convert, names)) {
		status = convert_to_pipe(convert) ? convert_send(convert, names[0]) :
						    convert_receive(convert, names[0]);
	} else if (!image_conflict(&values->image) && !open_sources(convert, names) &&
		   !convert_check_target(convert) &&
		   !(values->bitmaps && convert_check_bitmaps(convert))) {
		if (convert_to_pipe(convert))
			status = convert_send(convert, NULL);
		else
			status = convert_to_image(convert);
	}
	progress_end(&convert->progress);
	close_all(convert);
	return status;
}

static int run(struct invocation *inv)
{
	const struct convert_values *values = inv->values;
	int nr = inv->nr_operands;
	struct convert convert = {
		.values = values,
		.nr_src = nr > 1 ? (unsigned)nr - 1 : 0,
		.name = nr > 1 ? inv->operands[nr - 1] : NULL,
		.format = values->target_format ? values->target_format : "raw",
	};
	const char *text = contradiction(values);

	if (parse_values(&convert))
		return 1;
	if (image_asks_help(values->options))
		return image_option_help(convert.format, convert.name);
	if (!text && !convert.nr_src)
		text = "Must specify image file name";
	if (text) {
		report_error("%s", text);
		return 1;
	}
	return convert_images(&convert, inv->operands);
}

const struct command cmd_convert = {
	.name = "convert",
	.operands = "FILE [FILE2...] TARGET",
	.summary = "Copy one image, or several behind each other, into a new image",
	.opts = convert_opts,
	.values_size = sizeof(struct convert_values),
	.run = run,
};
