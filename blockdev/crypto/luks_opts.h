/* SPDX-License-Identifier: MIT */
/* LUKS options as text: what a new header shall be, and what shall become of key slots. */
#ifndef LUKS_OPTS_H
#define LUKS_OPTS_H

#include "blockdev/crypto/luks1.h"
#include "blockdev/crypto/secret.h"

/*
 * Options of a new header: cipher-alg, cipher-mode, ivgen-alg, ivgen-hash-alg, hash-alg,
 * iter-time, with their defaults; names without a prefix.  -EINVAL: a value nobody knows;
 * -ENOTSUP: one that this build has not.
 */
int luks_new_parse(const struct bd_opts *opts, struct luks_new *how, struct bd_error *err);

/*
 * Change key slots: state, keyslot, old-secret, new-secret, iter-time; names without a prefix.
 * @secret: id of the secret that the image was opened with.  @force: what may lose the data too.
 * Like: qemu-img amend.
 */
int luks_amend(struct luks *luks, const struct luks_store *store, const struct bd_opts *opts,
	       const char *secret, bool force, struct bd_error *err);

#endif
