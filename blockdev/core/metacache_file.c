/* SPDX-License-Identifier: MIT */
/*
 * Layout of the file: header (4 KiB), index (16 bytes a table: host offset + 1, checksum), tables.
 * The header is zero while the file is in use, and written last when it is sealed.
 */
#include "blockdev/core/metacache_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "blockdev/base/bits.h"
#include "blockdev/core/queue.h"
#include "blockdev/core/report.h"

enum { HEADER = 4096, WAYS = 16, STORES = 16 };

static const char magic[8] = "qimgL2c1";

/* What must be as it was for old contents to be believed. */
struct identity {
	uint64_t dev, ino, size, mtime_s, mtime_ns, ctime_s, ctime_ns;
};

struct header {
	char magic[8];
	uint64_t table_size, tables;
	struct identity image;
	uint64_t index_sum;
	uint64_t sum;                /* of all above */
};

struct entry {
	uint64_t key;                /* host offset + 1; 0: empty */
	uint64_t sum;
};

/* A table on its way to the file. */
struct store {
	struct metacache_file *file;
	struct io_op op;
	struct iovec iov;
	uint8_t *buf;
	uint64_t idx;
	struct entry entry;          /* key 0: forgotten meanwhile */
	bool busy;
};

struct metacache_file {
	struct metacache_file_args args;
	char *path;
	struct io_file *io;
	struct entry *index;
	uint64_t data_off;           /* bytes: where tables begin */
	bool off;                    /* after an error */
	unsigned busy;
	struct store stores[STORES];
};

/* FNV over words with a final mix: guards against torn and stale data, not against an enemy. */
static uint64_t checksum(uint64_t seed, const void *buf, size_t len)
{
	const uint8_t *at = buf;
	uint64_t sum = seed * UINT64_C(0x9e3779b97f4a7c15) + len, word;

	for (size_t i = 0; i + 8 <= len; i += 8) {
		memcpy(&word, at + i, 8);
		sum = (sum ^ word) * UINT64_C(0x100000001b3);
		sum ^= sum >> 29;
	}
	return sum ^ (sum >> 32);
}

static void disable(struct metacache_file *file, int err)
{
	if (file->off)
		return;
	file->off = true;
	bd_report("warning: L2 cache file '%s' is switched off: %s", file->path, strerror(-err));
}

void metacache_file_fail(struct metacache_file *file, int err)
{
	disable(file, err);
}

static int identify(const struct io_file *image, struct identity *id)
{
	struct stat st;

	memset(id, 0, sizeof(*id));
	if (image->fd < 0 || fstat(image->fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -ENOTSUP;
	*id = (struct identity){st.st_dev, st.st_ino, (uint64_t)st.st_size,
				(uint64_t)st.st_mtim.tv_sec, (uint64_t)st.st_mtim.tv_nsec,
				(uint64_t)st.st_ctim.tv_sec, (uint64_t)st.st_ctim.tv_nsec};
	return 0;
}

static size_t index_bytes(const struct metacache_file *file)
{
	return file->args.tables * sizeof(struct entry);
}

/* Believe old contents only if every field says they are of this image as it is now. */
static void load_index(struct metacache_file *file)
{
	struct header head;
	struct identity now;

	if (!file->args.trust || identify(file->args.image, &now) < 0)
		return;
	if (io_length(file->io) < (int64_t)file->data_off ||
	    io_pread(file->io, 0, &head, sizeof(head)) < 0)
		return;
	if (memcmp(head.magic, magic, sizeof(magic)) ||
	    head.table_size != file->args.table_size || head.tables != file->args.tables ||
	    memcmp(&head.image, &now, sizeof(now)) ||
	    head.sum != checksum(1, &head, offsetof(struct header, sum)))
		return;
	if (io_pread(file->io, HEADER, file->index, index_bytes(file)) < 0 ||
	    checksum(2, file->index, index_bytes(file)) != head.index_sum)
		memset(file->index, 0, index_bytes(file));
}

static int open_io(struct metacache_file *file, struct bd_error *err)
{
	struct io_ctx *ctx = bd_queue_ctx(file->args.queue);
	struct bd_opts *opts = bd_opts_new();
	int ret = opts ? 0 : -ENOMEM;

	if (ret == 0 && access(file->path, F_OK) < 0)
		ret = io_create(ctx, file->path, 0, "off", NULL, err);
	if (ret == 0)
		ret = bd_opts_set(opts, "driver", "file");
	if (ret == 0)
		ret = bd_opts_set(opts, "filename", file->path);
	if (ret == 0)
		ret = io_open(ctx, opts, BD_O_RDWR | BD_O_RESIZE | BD_O_SHARE_NO_WRITE, &file->io,
			      err);
	bd_opts_free(opts);
	return ret;
}

static int prepare(struct metacache_file *file, struct bd_error *err)
{
	uint64_t end = file->data_off + file->args.tables * file->args.table_size;
	int ret = open_io(file, err);

	for (unsigned i = 0; ret == 0 && i < STORES; i++) {
		file->stores[i].file = file;
		if (posix_memalign((void **)&file->stores[i].buf, 4096, file->args.table_size))
			ret = -ENOMEM;
	}
	if (ret < 0)
		return ret;
	load_index(file);
	/* Room is reserved now: a full disk shows here, not under a guest. */
	if (io_length(file->io) != (int64_t)end)
		ret = io_resize(file->io, end, "falloc", err);
	return ret;
}

int metacache_file_open(const struct metacache_file_args *args, struct metacache_file **out,
			struct bd_error *err)
{
	struct metacache_file *file = calloc(1, sizeof(*file));
	int ret = -ENOMEM;

	*out = NULL;
	if (!file)
		return ret;
	file->args = *args;
	/* With room for half as many again nearly every table finds a place among its 16. */
	file->args.tables = round_up(max_u64(args->tables + args->tables / 2, WAYS), 256);
	file->path = strdup(args->path);
	file->index = calloc(file->args.tables, sizeof(struct entry));
	file->data_off = HEADER + round_up(index_bytes(file), 4096);
	if (file->path && file->index)
		ret = prepare(file, err);
	if (ret < 0) {
		metacache_file_close(file, false);
		return ret;
	}
	*out = file;
	return 0;
}

/* The image's times must be old enough that a later change would show in them. */
static bool settled(const struct identity *id)
{
	struct timespec now, pause = {0, 2000000};

	for (unsigned i = 0; i < 20; i++) {
		int64_t age;

		clock_gettime(CLOCK_REALTIME_COARSE, &now);
		age = (now.tv_sec - (int64_t)id->ctime_s) * 1000000000 + now.tv_nsec -
		      (int64_t)id->ctime_ns;
		if (age > 20000000)
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

static void seal(struct metacache_file *file)
{
	struct header head = {.table_size = file->args.table_size, .tables = file->args.tables};
	struct identity again;

	memcpy(head.magic, magic, sizeof(magic));
	if (identify(file->args.image, &head.image) < 0 || !settled(&head.image))
		return;
	head.index_sum = checksum(2, file->index, index_bytes(file));
	head.sum = checksum(1, &head, offsetof(struct header, sum));
	if (io_pwrite(file->io, HEADER, file->index, index_bytes(file)) < 0 ||
	    io_pflush(file->io) < 0 || identify(file->args.image, &again) < 0 ||
	    memcmp(&again, &head.image, sizeof(again)))
		return;
	if (io_pwrite(file->io, 0, &head, sizeof(head)) == 0)
		io_pflush(file->io);
}

void metacache_file_close(struct metacache_file *file, bool keep)
{
	if (!file)
		return;
	if (keep && !file->off)
		seal(file);
	io_close(file->io);
	for (unsigned i = 0; i < STORES; i++)
		free(file->stores[i].buf);
	free(file->index);
	free(file->path);
	free(file);
}

void metacache_file_invalidate(struct metacache_file *file)
{
	static const uint8_t nothing[sizeof(struct header)];
	int ret = io_pwrite(file->io, 0, nothing, sizeof(nothing));

	if (ret == 0)
		ret = io_pflush(file->io);
	if (ret < 0) {
		unlink(file->path);
		disable(file, ret);
	}
}

/* First of the places a table may have. */
static uint64_t home(const struct metacache_file *file, uint64_t off)
{
	uint64_t key = off / file->args.table_size * UINT64_C(0x9e3779b97f4a7c15);

	return (key >> 20) % (file->args.tables / WAYS) * WAYS;
}

static struct entry *lookup(struct metacache_file *file, uint64_t off)
{
	struct entry *at = &file->index[home(file, off)];

	for (unsigned i = 0; i < WAYS; i++) {
		if (at[i].key == off + 1)
			return &at[i];
	}
	return NULL;
}

bool metacache_file_find(struct metacache_file *file, uint64_t off, uint64_t *pos)
{
	struct entry *entry = file->off ? NULL : lookup(file, off);

	if (entry)
		*pos = file->data_off + (uint64_t)(entry - file->index) * file->args.table_size;
	return entry != NULL;
}

bool metacache_file_verify(struct metacache_file *file, uint64_t off, const void *buf)
{
	struct entry *entry = lookup(file, off);

	if (entry && entry->sum == checksum(off, buf, file->args.table_size))
		return true;
	metacache_file_forget(file, off);
	return false;
}

void metacache_file_forget(struct metacache_file *file, uint64_t off)
{
	struct entry *entry = lookup(file, off);

	if (entry)
		*entry = (struct entry){0};
	for (unsigned i = 0; file->busy && i < STORES; i++) {
		if (file->stores[i].busy && file->stores[i].entry.key == off + 1)
			file->stores[i].entry.key = 0;
	}
}

static void stored(struct io_op *op)
{
	struct store *store = op->user;
	struct metacache_file *file = store->file;

	store->busy = false;
	file->busy--;
	if (op->res < 0)
		disable(file, op->res);
	else if (store->entry.key)
		file->index[store->idx] = store->entry;
}

/* An empty place of the set, or one chosen by the key: the old table there is given up. */
static uint64_t choose(struct metacache_file *file, uint64_t off)
{
	uint64_t first = home(file, off);

	for (unsigned i = 0; i < WAYS; i++) {
		if (!file->index[first + i].key)
			return first + i;
	}
	return first + off / file->args.table_size % WAYS;
}

void metacache_file_store(struct metacache_file *file, uint64_t off, const void *buf)
{
	struct store *store = NULL;

	if (file->off || lookup(file, off))
		return;
	for (unsigned i = 0; i < STORES && !store; i++)
		store = file->stores[i].busy ? NULL : &file->stores[i];
	if (!store)
		return;
	memcpy(store->buf, buf, file->args.table_size);
	store->idx = choose(file, off);
	store->entry = (struct entry){off + 1, checksum(off, buf, file->args.table_size)};
	file->index[store->idx] = (struct entry){0};
	store->iov = (struct iovec){store->buf, file->args.table_size};
	store->op = (struct io_op){
		.kind = IO_WRITE, .file = file->io, .len = file->args.table_size,
		.off = file->data_off + store->idx * file->args.table_size,
		.iov = &store->iov, .niov = 1, .done = stored, .user = store,
	};
	store->busy = true;
	file->busy++;
	io_op_submit(&store->op);
}

struct io_file *metacache_file_io(struct metacache_file *file)
{
	return file->io;
}

unsigned metacache_file_busy(const struct metacache_file *file)
{
	return file->busy;
}
