/* SPDX-License-Identifier: MIT */
/* "record": a log of all changes of a file, for tests of what a power cut leaves. */
#include "blockdev/io/filter/record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "blockdev/base/cleanup.h"
#include "blockdev/io/filter/filter.h"

struct record {
	struct io_file file;
	FILE *log;
	uint64_t nr;         /* entries so far */
	bool failed;         /* the log is incomplete: every later change fails */
};

static struct record *to_record(struct io_file *file)
{
	return container_of(file, struct record, file);
}

static void put(struct record *record, const struct io_record *entry, const struct io_op *data)
{
	record->nr++;
	if (fwrite(entry, sizeof(*entry), 1, record->log) != 1)
		record->failed = true;
	for (int i = 0; data && i < data->niov; i++) {
		const struct iovec *v = &data->iov[i];

		if (v->iov_len && fwrite(v->iov_base, v->iov_len, 1, record->log) != 1)
			record->failed = true;
	}
	/* A process that is killed must leave what it has done. */
	if (fflush(record->log))
		record->failed = true;
}

static void log_op(struct io_file *file, struct io_op *op)
{
	static const uint8_t kinds[] = {
		[IO_WRITE] = IO_RECORD_WRITE,
		[IO_ZERO] = IO_RECORD_ZERO,
		[IO_DISCARD] = IO_RECORD_DISCARD,
	};
	struct record *record = to_record(file);
	struct io_record entry = {
		.kind = be32_make(kinds[op->kind]),
		.flags = be32_make(op->flags & (IO_UNMAP | IO_FUA)),
		.off = be64_make(op->off),
		.len = be64_make(op->len),
	};

	if (op->res == 0)
		put(record, &entry, op->kind == IO_WRITE ? op : NULL);
	if (op->res == 0 && record->failed)
		op->res = -EIO;
}

/* How many entries a flush covers is fixed when it starts: op->progress is ours to keep it in. */
static void log_flush(struct io_file *file, struct io_op *op)
{
	struct record *record = to_record(file);
	struct io_record entry = {
		.kind = be32_make(IO_RECORD_FLUSH),
		.covers = be64_make(op->progress),
	};

	if (op->res == 0)
		put(record, &entry, NULL);
	if (op->res == 0 && record->failed)
		op->res = -EIO;
}

static void record_submit(struct io_file *file, struct io_op *op)
{
	switch (op->kind) {
	case IO_WRITE:
	case IO_ZERO:
	case IO_DISCARD:
		io_filter_forward(file, op, log_op);
		break;
	case IO_FLUSH:
		op->progress = to_record(file)->nr;
		io_filter_forward(file, op, log_flush);
		break;
	default:
		io_filter_forward(file, op, NULL);
	}
}

static int record_resize(struct io_file *file, uint64_t size, const char *prealloc,
			 struct bd_error *err)
{
	struct record *record = to_record(file);
	struct io_record entry = {
		.kind = be32_make(IO_RECORD_RESIZE),
		.len = be64_make(size),
	};
	int ret = io_resize(file->child, size, prealloc, err);

	if (ret < 0)
		return ret;
	put(record, &entry, NULL);
	return record->failed ? bd_fail_errno(err, -EIO, "Could not write the log") : 0;
}

static void record_close(struct io_file *file)
{
	struct record *record = to_record(file);

	if (record->log)
		fclose(record->log);
	free(record);
}

static int open_log(struct record *record, struct bd_opts *opts, struct bd_error *err)
{
	__cleanup(free) char *path = bd_opts_take(opts, "log");

	if (!path)
		return bd_fail(err, -EINVAL, "The 'record' driver requires a log file");
	record->log = fopen(path, "we");
	if (!record->log || fwrite(IO_RECORD_MAGIC, 8, 1, record->log) != 1 ||
	    fflush(record->log))
		return bd_fail_errno(err, errno ? -errno : -EIO, "Could not create '%s'", path);
	return 0;
}

static int record_open(struct io_ctx *ctx, struct bd_opts *opts, unsigned flags,
		       struct io_file **out, struct bd_error *err)
{
	struct record *record = calloc(1, sizeof(*record));
	struct io_file *child = NULL;
	int ret;

	if (!record)
		return bd_fail_errno(err, -ENOMEM, "Could not open driver 'record'");
	ret = io_filter_open_child(ctx, opts, "image", flags, &child, err);
	if (ret == 0)
		ret = io_filter_init(&record->file, &io_record_driver, child, err);
	if (ret == 0)
		ret = open_log(record, opts, err);
	if (ret < 0) {
		io_filter_abort(&record->file);
		record_close(&record->file);
		return ret;
	}
	*out = &record->file;
	return 0;
}

const struct io_file_ops io_record_driver = {
	.name = "record",
	.open = record_open,
	.close = record_close,
	.submit = record_submit,
	.length = io_filter_length,
	.resize = record_resize,
	.hole = io_filter_hole,
	.event = io_filter_event,
	.allocated = io_filter_allocated,
};
