/* SPDX-License-Identifier: MIT */
/* Looking secrets up. */
#ifndef BD_CRYPTO_SECRET_H
#define BD_CRYPTO_SECRET_H

#include "blockdev/crypto/hash.h"
#include "blockdev/include/secret.h"

/* The bytes of secret @id, borrowed until bd_secrets_clear().  -EINVAL: there is none. */
int bd_secret_get(const char *id, struct bd_bytes *out, struct bd_error *err);
/* The same as a pass phrase: -EINVAL also if it is not UTF-8 or has a NUL in it. */
int bd_secret_password(const char *id, struct bd_bytes *out, struct bd_error *err);

#endif
