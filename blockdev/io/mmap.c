/* SPDX-License-Identifier: MIT */
/*
 * Transfers through a mapping of the file: no system call for what is in the page cache.  What
 * cannot be mapped, or lies behind the mapping, is done with plain calls.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "blockdev/base/bits.h"
#include "blockdev/io/engines.h"
#include "blockdev/io/file.h"
#include "blockdev/io/op.h"

/* Files mapped at once; one beyond is done with plain calls. */
#define MAX_MAPS 64
/* A mapping is address space: more than this of one file is not mapped. */
#define MAX_MAP_LEN (1ull << 40)

struct map {
	const struct io_file *file;
	char *base;        /* NULL: this file cannot be mapped */
	uint64_t len;      /* bytes mapped */
};

struct io_engine {
	struct link queued;
	struct map maps[MAX_MAPS];
	unsigned nr;
	struct sigaction old;
	uint64_t syscalls;
};

/*
 * A file that shrinks under its mapping raises SIGBUS at the access.  The handler has no other
 * way to learn whose access it was.
 */
static __thread sigjmp_buf *guard;

static void on_sigbus(int sig)
{
	if (guard)
		siglongjmp(*guard, 1);
	/* Not ours: let it happen again without a handler. */
	signal(sig, SIG_DFL);
	raise(sig);
}

static int mmap_open(unsigned depth, struct io_engine **out, struct bd_error *err)
{
	struct sigaction act = { .sa_handler = on_sigbus, .sa_flags = SA_NODEFER };

	(void)depth;
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return bd_fail_errno(err, -ENOMEM, "Could not set up I/O");
	list_init(&(*out)->queued);
	sigaction(SIGBUS, &act, &(*out)->old);
	return 0;
}

static void unmap(struct map *map)
{
	if (map->base)
		munmap(map->base, map->len);
	map->base = NULL;
	map->len = 0;
}

static void mmap_close(struct io_engine *engine)
{
	for (unsigned i = 0; i < engine->nr; i++)
		unmap(&engine->maps[i]);
	sigaction(SIGBUS, &engine->old, NULL);
	free(engine);
}

static void mmap_forget(struct io_engine *engine, struct io_file *file)
{
	for (unsigned i = 0; i < engine->nr; i++) {
		if (engine->maps[i].file != file)
			continue;
		unmap(&engine->maps[i]);
		engine->maps[i] = engine->maps[--engine->nr];
		return;
	}
}

/* Map the file as long as it is now. */
static void remap(struct io_engine *engine, struct map *map)
{
	const struct io_file *file = map->file;
	int prot = PROT_READ | (file->flags & BD_O_RDWR ? PROT_WRITE : 0);
	struct stat st;
	void *base;

	unmap(map);
	engine->syscalls += 2;
	if (fstat(file->fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= 0 ||
	    (uint64_t)st.st_size > MAX_MAP_LEN)
		return;
	base = mmap(NULL, (size_t)st.st_size, prot, MAP_SHARED, file->fd, 0);
	if (base == MAP_FAILED)
		return;
	map->base = base;
	map->len = (uint64_t)st.st_size;
}

/* The mapping that holds [.., end) of @file; NULL: plain calls. */
static struct map *find_map(struct io_engine *engine, const struct io_file *file, uint64_t end)
{
	struct stat st;
	unsigned i;

	if (file->flags & BD_O_DIRECT)
		return NULL;
	for (i = 0; i < engine->nr && engine->maps[i].file != file; i++)
		;
	if (i == MAX_MAPS)
		return NULL;
	if (i == engine->nr) {
		engine->maps[engine->nr++] = (struct map){ .file = file };
		remap(engine, &engine->maps[i]);
	}
	if (engine->maps[i].len >= end)
		return &engine->maps[i];
	/* It may have grown since. */
	engine->syscalls++;
	if (fstat(file->fd, &st) == 0 && (uint64_t)st.st_size >= end)
		remap(engine, &engine->maps[i]);
	return engine->maps[i].len >= end ? &engine->maps[i] : NULL;
}

static int64_t copy(const struct io_step *step, char *at)
{
	sigjmp_buf env;
	volatile int64_t res = -EIO;
	uint64_t done = 0;

	/* Saving the mask would cost a system call; with SA_NODEFER it does not change. */
	if (sigsetjmp(env, 0) == 0) {
		guard = &env;
		for (int i = 0; i < step->niov && done < step->len; i++) {
			size_t len = step->iov[i].iov_len;

			if (step->verb == IO_STEP_READ)
				memcpy(step->iov[i].iov_base, at + done, len);
			else
				memcpy(at + done, step->iov[i].iov_base, len);
			done += len;
		}
		res = (int64_t)done;
	}
	guard = NULL;
	return res;
}

static int64_t run(struct io_engine *engine, struct io_op *op)
{
	bool transfer;
	struct io_step step;
	struct map *map;
	uint64_t end;

	io_op_step(op, &step);
	transfer = step.verb == IO_STEP_READ || step.verb == IO_STEP_WRITE;
	if (transfer && checked_add(step.off, step.len, &end)) {
		map = find_map(engine, op->file, end);
		if (map)
			return copy(&step, map->base + step.off);
	}
	engine->syscalls++;
	return io_step_run(&step);
}

static int mmap_queue(struct io_engine *engine, struct io_op *op)
{
	list_add_tail(&engine->queued, &op->link);
	return 0;
}

static int mmap_reap(struct io_engine *engine, unsigned wait_min, uint64_t timeout_ns,
		     struct link *done)
{
	struct link *item;
	int nr = 0;

	(void)wait_min;
	(void)timeout_ns;
	while ((item = list_pop(&engine->queued))) {
		struct io_op *op = container_of(item, struct io_op, link);

		op->raw = run(engine, op);
		list_add_tail(done, &op->link);
		nr++;
	}
	return nr;
}

static uint64_t mmap_syscalls(const struct io_engine *engine)
{
	return engine->syscalls;
}

const struct io_engine_ops io_mmap_engine = {
	.name = "mmap",
	.caps = IO_CAP_ZERO,
	.open = mmap_open,
	.close = mmap_close,
	.queue = mmap_queue,
	.reap = mmap_reap,
	.forget = mmap_forget,
	.syscalls = mmap_syscalls,
};
