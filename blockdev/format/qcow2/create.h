/* SPDX-License-Identifier: MIT */
/* Options of a new image, checked; shared by create and measure. */
#ifndef QCOW2_CREATE_H
#define QCOW2_CREATE_H

#include "blockdev/format/qcow2/qcow2.h"

struct qcow2_new {
	uint64_t size;            /* guest bytes, a multiple of 512 */
	uint32_t version;
	uint32_t cluster_size;
	uint32_t crypt_method;    /* 0 none, 1 AES, 2 LUKS */
	uint8_t *crypto;          /* the LUKS header with its slots; NULL: none */
	uint64_t crypto_len;      /* bytes of it */
	unsigned refcount_order;
	uint8_t compression_type;
	bool extended_l2, lazy_refcounts, data_file_raw, keep_data_file;
	/* texts: borrowed from the options; NULL: not given */
	const char *prealloc;     /* never NULL */
	const char *backing_file, *backing_fmt, *data_file;
	const char *key_secret;   /* encrypted images only */
};

/* Check @opts with QEMU's rules and messages. */
int qcow2_new_parse(const struct bd_opts *opts, struct qcow2_new *new, struct bd_error *err);

/*
 * The state that qcow2_header_encode() takes, for an image that does not exist yet; where its
 * tables lie is left open.
 */
int qcow2_new_state(const struct qcow2_new *new, struct qcow2 *q, struct bd_error *err);
int qcow2_stream(const struct bd_stream_args *args, struct bd_error *err);

#endif
