/* SPDX-License-Identifier: MIT */
/* Raw deflate by libdeflate, zstd by libzstd; one context of each kind per thread. */
#include "blockdev/format/qcow2/codec.h"

#include <errno.h>
#include <libdeflate.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

struct contexts {
	struct libdeflate_compressor *deflate;
	unsigned deflate_level;
	struct libdeflate_decompressor *inflate;
	ZSTD_CCtx *zstd;
	ZSTD_DCtx *unzstd;
};

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void contexts_free(void *ptr)
{
	struct contexts *ctx = ptr;

	libdeflate_free_compressor(ctx->deflate);
	libdeflate_free_decompressor(ctx->inflate);
	ZSTD_freeCCtx(ctx->zstd);
	ZSTD_freeDCtx(ctx->unzstd);
	free(ctx);
}

static void key_make(void)
{
	pthread_key_create(&key, contexts_free);
}

static struct contexts *contexts(void)
{
	struct contexts *ctx;

	pthread_once(&once, key_make);
	ctx = pthread_getspecific(key);
	if (!ctx) {
		ctx = calloc(1, sizeof(*ctx));
		if (ctx)
			pthread_setspecific(key, ctx);
	}
	return ctx;
}

/* A stream that is longer than the cluster is as good: QEMU stops at a full buffer. */
static int undeflate_long(struct contexts *ctx, const void *in, size_t in_len, void *out,
			  size_t out_len)
{
	enum libdeflate_result ret = LIBDEFLATE_INSUFFICIENT_SPACE;
	size_t room = out_len, got;

	for (unsigned tries = 0; tries < 4 && ret == LIBDEFLATE_INSUFFICIENT_SPACE; tries++) {
		uint8_t *tmp;

		room *= 4;
		tmp = malloc(room);
		if (!tmp)
			return -ENOMEM;
		ret = libdeflate_deflate_decompress(ctx->inflate, in, in_len, tmp, room, &got);
		if (ret == LIBDEFLATE_SUCCESS)
			memcpy(out, tmp, out_len);
		free(tmp);
	}
	return ret == LIBDEFLATE_SUCCESS ? (int)in_len : -EIO;
}

int qcow2_undeflate(const void *in, size_t in_len, void *out, size_t out_len)
{
	struct contexts *ctx = contexts();
	enum libdeflate_result ret;
	size_t got, used;

	if (!ctx)
		return -ENOMEM;
	if (!ctx->inflate)
		ctx->inflate = libdeflate_alloc_decompressor();
	if (!ctx->inflate)
		return -ENOMEM;
	ret = libdeflate_deflate_decompress_ex(ctx->inflate, in, in_len, out, out_len, &used,
					       &got);
	if (ret == LIBDEFLATE_INSUFFICIENT_SPACE)
		return undeflate_long(ctx, in, in_len, out, out_len);
	return ret == LIBDEFLATE_SUCCESS && got == out_len ? (int)used : -EIO;
}

/* Frames follow one another until the cluster is full; what lies behind is not ours. */
int qcow2_unzstd(const void *in, size_t in_len, void *out, size_t out_len)
{
	struct contexts *ctx = contexts();
	ZSTD_inBuffer from = {in, in_len, 0};
	ZSTD_outBuffer to = {out, out_len, 0};
	size_t left = 1;
	bool stuck = false;

	if (!ctx)
		return -ENOMEM;
	if (!ctx->unzstd)
		ctx->unzstd = ZSTD_createDCtx();
	if (!ctx->unzstd)
		return -ENOMEM;
	ZSTD_DCtx_reset(ctx->unzstd, ZSTD_reset_session_only);
	/* Behind the last byte of the cluster its frame may have an end to be read. */
	while (left && !(to.pos == to.size && stuck)) {
		size_t in_before = from.pos, out_before = to.pos;

		left = ZSTD_decompressStream(ctx->unzstd, &to, &from);
		if (ZSTD_isError(left))
			return to.pos == to.size ? (int)in_len : -EIO;
		stuck = from.pos == in_before && to.pos == out_before;
		if (stuck && to.pos < to.size)
			return -EIO;
		if (!left && to.pos < to.size)
			left = 1; /* another frame follows */
	}
	return (int)from.pos;
}

size_t qcow2_deflate_raw(const void *in, size_t len, void *out, size_t room, unsigned level)
{
	struct contexts *ctx = contexts();

	if (!ctx)
		return 0;
	if (!level)
		level = 1;
	if (ctx->deflate && ctx->deflate_level != level) {
		libdeflate_free_compressor(ctx->deflate);
		ctx->deflate = NULL;
	}
	if (!ctx->deflate)
		ctx->deflate = libdeflate_alloc_compressor((int)level);
	ctx->deflate_level = level;
	return ctx->deflate ? libdeflate_deflate_compress(ctx->deflate, in, len, out, room) : 0;
}

size_t qcow2_zstd(const void *in, size_t len, void *out, size_t room, unsigned level)
{
	struct contexts *ctx = contexts();
	size_t ret;

	if (!ctx)
		return 0;
	if (!ctx->zstd)
		ctx->zstd = ZSTD_createCCtx();
	if (!ctx->zstd)
		return 0;
	ret = ZSTD_compressCCtx(ctx->zstd, out, room, in, len,
				level ? (int)level : ZSTD_CLEVEL_DEFAULT);
	return ZSTD_isError(ret) ? 0 : ret;
}
