/* SPDX-License-Identifier: MIT */
/* Secrets: pass phrases and keys that images refer to by a name. */
#ifndef BD_SECRET_H
#define BD_SECRET_H

#include "blockdev/include/options.h"

/*
 * Define a secret, for all images of this process, before one that needs it is opened.
 * @opts: id=, and data= or file=; format=raw|base64; keyid= (another secret: a key of 32 bytes,
 * in which this one is encrypted) and iv=.  With qom-type=secret_keyring serial= names a key of the
 * kernel, instead of data= and file=.  The content is taken now, copied and checked.
 * -EINVAL, or the errno of reading file or key.
 * Like: qemu-img --object secret, secret_keyring.
 */
int bd_secret_add(const struct bd_opts *opts, struct bd_error *err);
/* Wipe and forget all secrets.  Images that are open keep working. */
void bd_secrets_clear(void);

#endif
