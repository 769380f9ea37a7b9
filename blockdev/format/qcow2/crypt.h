/* SPDX-License-Identifier: MIT */
/* Encryption of a qcow2 image: where the key comes from.  The core does the work. */
#ifndef QCOW2_CRYPT_H
#define QCOW2_CRYPT_H

#include <jansson.h>

#include "blockdev/format/qcow2/create.h"
#include "blockdev/format/qcow2/qcow2.h"

/* Take "encrypt.*" out of the node's options; find the key, unless guest data are not wanted. */
int qcow2_crypt_open(struct qcow2 *q, struct bd_error *err);
/* Wipe the key. */
void qcow2_crypt_close(struct qcow2 *q);
/* Bytes of the LUKS header with its key slots; 0: there is none. */
uint64_t qcow2_crypt_header_len(const struct qcow2 *q);
/* Add "encrypt" to the format's information @data. */
int qcow2_crypt_info(struct qcow2 *q, json_t *data, struct bd_error *err);
/* Is any of @opts about encryption? */
bool qcow2_crypt_options(const struct bd_opts *opts);
/* amend: has this image key slots?  -EINVAL, -ENOTSUP: no. */
int qcow2_crypt_can_amend(const struct qcow2 *q, struct bd_error *err);
/* Change the key slots that it has.  @opts: options of amend, with "encrypt.". */
int qcow2_crypt_amend(struct qcow2 *q, const struct bd_opts *opts, bool force,
		      struct bd_error *err);

/* create: what "encrypt.*" and "encryption" in @opts ask for; *method: 0 none, 1 AES, 2 LUKS. */
int qcow2_crypt_parse(const struct bd_opts *opts, uint32_t *method, struct bd_error *err);
/* Bytes of the LUKS header that @opts ask for; 0: none. */
int qcow2_crypt_area_len(const struct bd_opts *opts, uint64_t *len, struct bd_error *err);
/*
 * create: the whole LUKS header with its key slots; *area is the caller's to free.  With AES only
 * the pass phrase is looked for.
 */
int qcow2_crypt_make(const struct bd_opts *opts, uint8_t **area, uint64_t *len,
		     struct bd_error *err);

#endif
