/* SPDX-License-Identifier: MIT */
/*
 * An image from its first byte to its last, for a pipe: what is allocated is found out beforehand,
 * so that all tables can stand in front of the data.  Spec: header, refcounts, cluster-mapping.
 *
 *   header | refcount table | refcount blocks | L1 | L2 tables | data
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/base/cleanup.h"
#include "blockdev/base/zero.h"
#include "blockdev/format/qcow2/create.h"
#include "blockdev/format/qcow2/header.h"

enum { CHUNK = 2 << 20 };

/* Guest clusters with data are bits in memory: no more than these. */
static const uint64_t max_clusters = UINT64_C(1) << 28;

struct stream {
	const struct bd_stream_args *args;
	struct qcow2_new new;
	struct qcow2 q;
	uint64_t nr;              /* guest clusters */
	uint64_t *used;           /* bit per guest cluster: has data */
	uint64_t data, tables;    /* guest clusters with data; L2 tables that map them */
	uint64_t reftable, blocks, l1; /* clusters each takes */
	uint8_t *buf;             /* CHUNK bytes, and a cluster at least */
};

static bool has_data(const struct stream *s, uint64_t cluster)
{
	return s->used[cluster / 64] >> cluster % 64 & 1;
}

/* The first guest cluster behind what entry @idx of L1 maps. */
static uint64_t table_end(const struct stream *s, uint64_t idx)
{
	return min_u64((idx + 1) << s->q.l2_bits, s->nr);
}

static bool has_table(const struct stream *s, uint64_t idx)
{
	for (uint64_t c = idx << s->q.l2_bits; c < table_end(s, idx);) {
		if (c % 64 == 0 && !s->used[c / 64])
			c += 64;
		else if (has_data(s, c++) && c <= table_end(s, idx))
			return true;
	}
	return false;
}

/* Guest bytes [off, +len), whole clusters of the target; zeros behind the end of the source. */
static int read_source(struct stream *s, uint64_t off, size_t len, struct bd_error *err)
{
	struct bd_node *src = s->args->src;
	size_t part = off < src->size ? min_u64(len, src->size - off) : 0;
	int ret = part ? bd_pread(src, off, s->buf, part) : 0;

	memset(s->buf + part, 0, len - part);
	return ret < 0 ? bd_fail_errno(err, ret, "error while reading at byte %llu",
				       (unsigned long long)off) : 0;
}

/* Mark the clusters of a run of data that are not zero. */
static int mark_run(struct stream *s, uint64_t off, uint64_t end, struct bd_error *err)
{
	uint64_t cluster = s->q.cluster_size;

	off = round_down(off, cluster);
	while (off < end) {
		size_t len = min_u64(CHUNK, round_up(end - off, cluster));
		int ret = read_source(s, off, len, err);

		if (ret < 0)
			return ret;
		for (size_t at = 0; at < len; at += cluster, off += cluster) {
			uint64_t idx = off / cluster;

			if (!bd_is_zero(s->buf + at, cluster))
				s->used[idx / 64] |= UINT64_C(1) << idx % 64;
		}
	}
	return 0;
}

static int mark_all(struct stream *s, struct bd_error *err)
{
	struct bd_node *src = s->args->src;
	struct bd_extent ext;

	for (uint64_t off = 0; off < src->size; off = ext.guest_off + ext.len) {
		int ret = bd_map(src, off, src->size - off, &ext, 1);

		if (ret <= 0 || ext.flags & BD_EXTENT_CUT)
			return bd_fail_errno(err, ret < 0 ? ret : -EIO, "error while reading at "
					     "byte %llu", (unsigned long long)off);
		if (ext.kind <= BD_ZERO || ext.flags & BD_EXTENT_SPARSE)
			continue;
		ret = mark_run(s, ext.guest_off, ext.guest_off + ext.len, err);
		if (ret < 0)
			return ret;
	}
	for (uint64_t i = 0; i < div_up(s->nr, 64); i++)
		s->data += (uint64_t)__builtin_popcountll(s->used[i]);
	for (uint64_t i = 0; i < s->q.l1_size; i++)
		s->tables += has_table(s, i);
	return 0;
}

static uint64_t total(const struct stream *s)
{
	return 1 + s->reftable + s->blocks + s->l1 + s->tables + s->data;
}

/* How long each part is; refcount blocks count themselves, too. */
static int plan(struct stream *s, struct bd_error *err)
{
	uint64_t cluster = s->q.cluster_size, per_block = cluster * 8 >> s->q.refcount_order;

	s->l1 = div_up((uint64_t)s->q.l1_size * 8, cluster);
	s->reftable = s->blocks = 1;
	while (total(s) > s->blocks * per_block || s->blocks * 8 > s->reftable * cluster) {
		s->blocks = div_up(total(s), per_block);
		s->reftable = div_up(s->blocks * 8, cluster);
	}
	if (s->reftable * cluster > QCOW2_LIMIT_REFTABLE_BYTES)
		return bd_fail(err, -EFBIG, "Refcount table would become too large");
	s->q.reftable_off = cluster;
	s->q.reftable_clusters = (uint32_t)s->reftable;
	s->q.l1_off = s->q.l1_size ? (1 + s->reftable + s->blocks) * cluster : 0;
	return 0;
}

static int put(struct stream *s, size_t len)
{
	return s->args->write(s->buf, len, s->args->user);
}

/* Entries of 8 bytes, as a row of whole clusters. */
struct row {
	struct stream *s;
	size_t at;
};

static int put_entry(struct row *row, uint64_t value)
{
	be64 entry = be64_make(value);

	if (row->at == 0)
		memset(row->s->buf, 0, row->s->q.cluster_size);
	memcpy(row->s->buf + row->at, &entry, sizeof(entry));
	row->at += sizeof(entry);
	if (row->at < row->s->q.cluster_size)
		return 0;
	row->at = 0;
	return put(row->s, row->s->q.cluster_size);
}

static int end_row(struct row *row)
{
	int ret = row->at ? put(row->s, row->s->q.cluster_size) : 0;

	row->at = 0;
	return ret;
}

static int put_refcounts(struct stream *s)
{
	uint64_t cluster = s->q.cluster_size, per_block = cluster * 8 >> s->q.refcount_order;
	struct row row = { .s = s };
	int ret = 0;

	for (uint64_t i = 0; i < s->blocks && ret == 0; i++)
		ret = put_entry(&row, (1 + s->reftable + i) * cluster);
	if (ret == 0)
		ret = end_row(&row);
	for (uint64_t i = 0; i < s->blocks && ret == 0; i++) {
		uint64_t nr = min_u64(total(s) - i * per_block, per_block);

		memset(s->buf, 0, cluster);
		for (uint64_t c = 0; c < nr; c++)
			qcow2_refcount_set(s->buf, c, s->q.refcount_order, 1);
		ret = put(s, cluster);
	}
	return ret;
}

static int put_tables(struct stream *s)
{
	uint64_t cluster = s->q.cluster_size;
	uint64_t table = (1 + s->reftable + s->blocks + s->l1) * cluster;
	uint64_t host = table + s->tables * cluster;
	struct row row = { .s = s };
	int ret = 0;

	for (uint64_t i = 0; i < s->q.l1_size && ret == 0; i++) {
		bool there = has_table(s, i);

		ret = put_entry(&row, there ? table | QCOW2_OFLAG_COPIED : 0);
		table += there ? cluster : 0;
	}
	if (ret == 0)
		ret = end_row(&row);
	for (uint64_t i = 0; i < s->q.l1_size && ret == 0; i++) {
		if (!has_table(s, i))
			continue;
		for (uint64_t c = i << s->q.l2_bits; c < table_end(s, i) && ret == 0; c++) {
			bool there = has_data(s, c);

			ret = put_entry(&row, there ? host | QCOW2_OFLAG_COPIED : 0);
			if (ret == 0 && s->q.extended_l2)
				ret = put_entry(&row, there ? QCOW2_L2_BITMAP_ALLOCATED : 0);
			host += there ? cluster : 0;
		}
		if (ret == 0)
			ret = end_row(&row);
	}
	return ret;
}

static int put_data(struct stream *s, struct bd_error *err)
{
	uint64_t cluster = s->q.cluster_size, c = 0;

	while (c < s->nr) {
		uint64_t run = 0;
		int ret;

		if (c % 64 == 0 && !s->used[c / 64]) {
			c += 64;
			continue;
		}
		while (c + run < s->nr && has_data(s, c + run) && (run + 1) * cluster <= CHUNK)
			run++;
		ret = run ? read_source(s, c * cluster, run * cluster, err) : 0;
		if (ret == 0 && run)
			ret = put(s, run * cluster);
		if (ret < 0)
			return ret;
		c += run ? run : 1;
	}
	return 0;
}

static int put_all(struct stream *s, struct bd_error *err)
{
	int ret;

	memset(s->buf, 0, s->q.cluster_size);
	ret = qcow2_header_encode(&s->q, s->new.size, NULL, NULL, s->buf);
	if (ret < 0)
		return bd_fail_errno(err, ret, "Could not encode the header");
	ret = put(s, s->q.cluster_size);
	if (ret == 0)
		ret = put_refcounts(s);
	if (ret == 0)
		ret = put_tables(s);
	if (ret == 0)
		ret = put_data(s, err);
	return ret;
}

/* Does it take a file that can be written in any order? */
static bool needs_file(const struct qcow2_new *new)
{
	return new->backing_file || new->data_file || new->crypt_method ||
	       strcmp(new->prealloc, "off");
}

int qcow2_stream(const struct bd_stream_args *args, struct bd_error *err)
{
	struct stream s = { .args = args };
	int ret = qcow2_new_parse(args->opts, &s.new, err);

	if (ret < 0)
		return ret;
	if (needs_file(&s.new) || div_up(s.new.size, s.new.cluster_size) > max_clusters)
		return bd_fail(err, -ENOTSUP, "Such an image cannot be written in one go");
	ret = qcow2_new_state(&s.new, &s.q, err);
	if (ret < 0)
		return ret;
	s.nr = div_up(s.new.size, s.q.cluster_size);
	s.used = calloc(s.nr / 64 + 1, sizeof(*s.used));
	if (!s.used || posix_memalign((void **)&s.buf, 4096, CHUNK)) {
		s.buf = NULL;
		ret = bd_fail_errno(err, -ENOMEM, "Could not allocate buffers");
	}
	if (ret == 0)
		ret = mark_all(&s, err);
	if (ret == 0)
		ret = plan(&s, err);
	if (ret == 0)
		ret = put_all(&s, err);
	free(s.used);
	free(s.buf);
	return ret;
}
