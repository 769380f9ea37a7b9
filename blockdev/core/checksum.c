/* SPDX-License-Identifier: MIT */
/*
 * The digest of a disk: blocks are read ahead, hashed on worker threads, and entered into the tree
 * in order.  A run of zero blocks is entered as a few subtrees that are known in advance.
 */
#include "blockdev/include/checksum.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/base/digest.h"
#include "blockdev/base/list.h"
#include "blockdev/base/zero.h"

enum { SLOTS = 32, BATCH = 64, LEVELS = 64, SECTOR = 512, LEAF = 0, INNER = 1 };

/* The tree so far: complete subtrees, each lower than the one before it. */
struct tree {
	const struct bd_digest *digest;
	uint64_t leaves;
	unsigned nr, nr_zero;
	struct { unsigned level; uint8_t hash[BD_DIGEST_MAX]; } sub[LEVELS];
	uint8_t zero[LEVELS][BD_DIGEST_MAX]; /* subtrees of zero blocks, by level */
};

/* A block on its way, or a run of zero blocks. */
struct slot {
	struct job *job;
	uint64_t off, len;    /* bytes */
	bool zeros, ready;
	int res;
	struct bd_work work;
	uint8_t *buf;
	uint8_t hash[BD_DIGEST_MAX];
};

struct job {
	const struct bd_checksum_args *args;
	struct tree tree;
	uint64_t size, next;  /* bytes of the disk; the next one without a slot */
	uint64_t start, used; /* slots: the oldest, how many are in use; a ring */
	struct slot slots[SLOTS];
	struct bd_extent batch[BATCH];
	int nr_batch;
};

static void combine(const struct tree *tree, const uint8_t *left, const uint8_t *right,
		    uint8_t *out)
{
	size_t size = tree->digest->size;
	uint8_t both[BD_DIGEST_MAX];

	tree->digest->hash(INNER, left, size, right, size, both);
	memcpy(out, both, size);
}

/* Append a complete subtree of 2^level leaves. */
static void add_subtree(struct tree *tree, unsigned level, const uint8_t *hash)
{
	tree->leaves += UINT64_C(1) << level;
	memcpy(tree->sub[tree->nr].hash, hash, tree->digest->size);
	tree->sub[tree->nr++].level = level;
	while (tree->nr > 1 && tree->sub[tree->nr - 2].level == tree->sub[tree->nr - 1].level) {
		tree->nr--;
		combine(tree, tree->sub[tree->nr - 1].hash, tree->sub[tree->nr].hash,
			tree->sub[tree->nr - 1].hash);
		tree->sub[tree->nr - 1].level++;
	}
}

static const uint8_t *zero_subtree(struct tree *tree, unsigned level)
{
	for (; tree->nr_zero <= level; tree->nr_zero++)
		combine(tree, tree->zero[tree->nr_zero - 1], tree->zero[tree->nr_zero - 1],
			tree->zero[tree->nr_zero]);
	return tree->zero[level];
}

static void add_zeros(struct tree *tree, uint64_t leaves)
{
	while (leaves) {
		unsigned level = log2_floor(leaves);

		/* A subtree starts at a multiple of its size. */
		if (tree->leaves)
			level = min_u64(level, (unsigned)__builtin_ctzll(tree->leaves));
		add_subtree(tree, level, zero_subtree(tree, level));
		leaves -= UINT64_C(1) << level;
	}
}

/* The root; there is at least one leaf. */
static void finish(struct tree *tree, uint8_t *out)
{
	memcpy(out, tree->sub[--tree->nr].hash, tree->digest->size);
	while (tree->nr)
		combine(tree, tree->sub[--tree->nr].hash, out, out);
}

static int init_tree(struct tree *tree, const char *algorithm, struct bd_error *err)
{
	uint8_t *block;

	tree->digest = bd_digest_find(algorithm);
	if (!tree->digest)
		return bd_fail(err, -EINVAL, "Unknown algorithm '%s'", algorithm);
	block = calloc(1, BD_CHECKSUM_BLOCK);
	if (!block)
		return bd_fail_errno(err, -ENOMEM, "Could not compute the checksum");
	tree->digest->hash(LEAF, block, BD_CHECKSUM_BLOCK, NULL, 0, tree->zero[0]);
	tree->nr_zero = 1;
	free(block);
	return 0;
}

static void hash_slot(struct bd_work *work)
{
	struct slot *slot = container_of(work, struct slot, work);
	const struct tree *tree = &slot->job->tree;

	if (slot->len == BD_CHECKSUM_BLOCK && bd_is_zero(slot->buf, slot->len))
		memcpy(slot->hash, tree->zero[0], tree->digest->size);
	else
		tree->digest->hash(LEAF, slot->buf, slot->len, NULL, 0, slot->hash);
}

static void hash_done(struct bd_work *work)
{
	container_of(work, struct slot, work)->ready = true;
}

static void read_done(struct bd_request *req)
{
	struct bd_queue *queue = bd_node_queue(req->node);
	struct slot *slot = req->user;

	slot->res = req->res;
	bd_request_put(req);
	slot->work = (struct bd_work){ .run = hash_slot, .done = hash_done };
	if (slot->res < 0)
		slot->ready = true;
	else
		bd_work_submit(queue, &slot->work);
}

/* Bytes from @off on that read as zeros without a look at them; -errno. */
static int64_t zero_run(struct job *job, uint64_t off, struct bd_error *err)
{
	struct bd_node *node = job->args->node;
	uint64_t len = 0, disk = bd_size(node);

	while (off + len < disk) {
		const struct bd_extent *ext = job->batch, *end = ext + job->nr_batch;

		while (ext < end && (off + len < ext->guest_off ||
				     off + len - ext->guest_off >= ext->len))
			ext++;
		if (ext == end) {
			int nr = bd_map(node, off + len, disk - off - len, job->batch, BATCH);

			if (nr <= 0)
				return bd_fail_errno(err, nr ? nr : -EIO, "error while reading "
						     "block status at offset %" PRIu64, off + len);
			job->nr_batch = nr;
			continue;
		}
		if (ext->flags & BD_EXTENT_CUT)
			return bd_fail_errno(err, -EIO, "error while reading at byte %" PRIu64,
					     ext->guest_off);
		if (ext->kind > BD_ZERO && !(ext->flags & BD_EXTENT_SPARSE))
			return (int64_t)len;
		len = ext->guest_off + ext->len - off;
	}
	return (int64_t)(job->size - off);
}

/* Start on the next slot.  1: done, 0: no free request. */
static int start_slot(struct job *job, struct bd_error *err)
{
	struct slot *slot = &job->slots[(job->start + job->used) % SLOTS];
	struct bd_node *node = job->args->node;
	int64_t zeros = zero_run(job, job->next, err);
	struct bd_request *req;
	uint64_t len;

	if (zeros < 0)
		return (int)zeros;
	slot->off = job->next;
	slot->zeros = slot->ready = zeros >= BD_CHECKSUM_BLOCK;
	slot->res = 0;
	slot->len = slot->zeros ? round_down((uint64_t)zeros, BD_CHECKSUM_BLOCK) :
				  min_u64(BD_CHECKSUM_BLOCK, job->size - job->next);
	if (!slot->zeros) {
		len = min_u64(slot->len, bd_size(node) - slot->off);
		memset(slot->buf + len, 0, slot->len - len);
		req = bd_request_get(bd_node_queue(node));
		if (!req)
			return 0;
		*req = (struct bd_request){
			.node = node,
			.off = slot->off,
			.len = len,
			.done = read_done,
			.user = slot,
			.one = { slot->buf, len },
			.niov = 1,
		};
		req->iov = &req->one;
		bd_read(req);
	}
	job->next += slot->len;
	job->used++;
	return 1;
}

/* Enter what is ready into the tree, in order. */
static int take_ready(struct job *job, struct bd_error *err)
{
	while (job->used) {
		struct slot *slot = &job->slots[job->start % SLOTS];

		if (!slot->ready)
			return 0;
		if (slot->res < 0)
			return bd_fail_errno(err, slot->res, "error while reading at byte %" PRIu64,
					     slot->off);
		if (slot->zeros)
			add_zeros(&job->tree, slot->len / BD_CHECKSUM_BLOCK);
		else
			add_subtree(&job->tree, 0, slot->hash);
		job->start++;
		job->used--;
		if (job->args->progress)
			job->args->progress(slot->off + slot->len, job->size, job->args->user);
	}
	return 0;
}

static int run(struct job *job, struct bd_error *err)
{
	struct bd_queue *queue = bd_node_queue(job->args->node);
	int ret = 0;

	while (ret >= 0 && (job->next < job->size || job->used)) {
		ret = 1;
		while (ret > 0 && job->next < job->size && job->used < SLOTS)
			ret = start_slot(job, err);
		if (ret == 0 && !job->used)
			ret = bd_fail(err, -EBUSY, "No request is free");
		if (ret >= 0)
			ret = take_ready(job, err);
		if (ret >= 0 && job->used) {
			ret = bd_queue_poll(queue, true);
			if (ret < 0)
				bd_fail_errno(err, ret, "Could not wait for I/O");
		}
	}
	return ret < 0 ? ret : 0;
}

/* Wait for what still uses the buffers. */
static void clear(struct job *job)
{
	for (; job->used; job->start++, job->used--) {
		while (!job->slots[job->start % SLOTS].ready) {
			if (bd_queue_poll(bd_node_queue(job->args->node), true) < 0)
				return; /* the engine is broken: better lost than reused */
		}
	}
	for (int i = 0; i < SLOTS; i++)
		free(job->slots[i].buf);
	free(job);
}

static int init_job(struct job *job, struct bd_error *err)
{
	for (int i = 0; i < SLOTS; i++) {
		job->slots[i].job = job;
		if (posix_memalign((void **)&job->slots[i].buf, 4096, BD_CHECKSUM_BLOCK)) {
			job->slots[i].buf = NULL;
			return bd_fail_errno(err, -ENOMEM, "Could not compute the checksum");
		}
	}
	return init_tree(&job->tree, job->args->algorithm, err);
}

const char *const *bd_checksum_algorithms(void)
{
	return bd_digest_names();
}

int bd_checksum(const struct bd_checksum_args *args, uint8_t out[BD_CHECKSUM_MAX], size_t *len,
		struct bd_error *err)
{
	struct job *job = calloc(1, sizeof(*job));
	int ret;

	if (!job)
		return bd_fail_errno(err, -ENOMEM, "Could not compute the checksum");
	job->args = args;
	job->size = round_up(bd_size(args->node), SECTOR);
	ret = init_job(job, err);
	if (ret == 0)
		ret = run(job, err);
	if (ret == 0) {
		*len = job->tree.digest->size;
		if (job->tree.nr)
			finish(&job->tree, out);
		else
			job->tree.digest->hash(LEAF, NULL, 0, NULL, 0, out);
	}
	clear(job);
	return ret;
}
