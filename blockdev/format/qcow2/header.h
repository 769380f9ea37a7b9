/* SPDX-License-Identifier: MIT */
/* Decoding the first cluster, and the helpers of opening.  No I/O but where said. */
#ifndef QCOW2_HEADER_H
#define QCOW2_HEADER_H

#include "blockdev/format/qcow2/layout.h"
#include "blockdev/format/qcow2/qcow2.h"

#define QCOW2_MAGIC 0x514649fbu

/* Magic, version and cluster size; sets q->version, cluster_bits, cluster_size.  Spec: header. */
int qcow2_header_start(struct qcow2 *q, const struct qcow2_disk_header *h, struct bd_error *err);
/*
 * All other fields, checked in the order QEMU checks them.  @area: the first cluster, with zeros
 * behind the end of the file.  @flags: BD_O_*.  *size: guest bytes.  Spec: header.
 */
int qcow2_header_decode(struct qcow2 *q, const uint8_t *area, unsigned flags, uint64_t *size,
			struct bd_error *err);
/* Known extensions into @q, others kept.  *format: the backing format, owned, or NULL. */
int qcow2_extensions_decode(struct qcow2 *q, const uint8_t *area, char **format,
			    struct bd_error *err);
/* Texts of the unknown bits of @mask from the feature table in @area, for people. */
void qcow2_feature_names(const struct qcow2 *q, const uint8_t *area, uint64_t mask, char *text,
			 size_t room);
/*
 * -EFBIG or -EINVAL with QEMU's text unless a table of @entries times @entry_len bytes at @off is
 * aligned and not larger than @max bytes.
 */
int qcow2_check_table(const struct qcow2 *q, uint64_t off, uint64_t entries, size_t entry_len,
		      uint64_t max, const char *name, struct bd_error *err);
/* Encode the first cluster into @area (zeroed, cluster_size bytes).  -ENOSPC: does not fit. */
int qcow2_header_encode(const struct qcow2 *q, uint64_t size, const char *backing_name,
			const char *backing_format, uint8_t *area);

/* options.c: take the run-time options out of node->opts.  Like: QEMU. */
int qcow2_options_take(struct qcow2 *q, struct bd_error *err);
/* cache_size.c: sizes of both caches and of a slice, with QEMU's arithmetic. */
int qcow2_cache_sizes(struct qcow2 *q, struct bd_opts *opts, struct bd_error *err);

/* snapshot.c: read the snapshot table into @q.  Spec: snapshots. */
int qcow2_snapshots_read(struct qcow2 *q, struct bd_error *err);
void qcow2_snapshots_free(struct qcow2 *q);

/* Read @len bytes of the image file; zeros behind its end.  Blocks. */
int qcow2_read_padded(struct qcow2 *q, uint64_t off, void *buf, size_t len);

#endif
