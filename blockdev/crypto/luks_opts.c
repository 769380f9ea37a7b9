/* SPDX-License-Identifier: MIT */
/* The options of a new LUKS header. */
#include "blockdev/crypto/luks_opts.h"

#include <errno.h>
#include <string.h>

static int bad_value(const char *key, const char *text, struct bd_error *err)
{
	return bd_fail(err, -EINVAL, "Parameter '%s' does not accept value '%s'", key, text);
}

static const char *value_of(const struct bd_opts *opts, const char *key, const char *def)
{
	const char *text = bd_opts_get(opts, key);

	return text ? text : def;
}

static int parse_hash(const char *key, const char *text, const struct bd_hash **hash,
		      struct bd_error *err)
{
	*hash = bd_hash_find(text);
	return *hash ? 0 : bad_value(key, text, err);
}

static int parse_iter_time(const struct bd_opts *opts, uint64_t *time, struct bd_error *err)
{
	const char *text = bd_opts_get(opts, "iter-time");

	*time = LUKS_ITER_TIME;
	if (text && (bd_parse_u64(text, time) < 0 || *time > INT64_MAX))
		return bd_fail(err, -EINVAL, "Parameter 'iter-time' expects integer");
	return 0;
}

int luks_new_parse(const struct bd_opts *opts, struct luks_new *how, struct bd_error *err)
{
	const char *alg = value_of(opts, "cipher-alg", "aes-256");
	const char *mode = value_of(opts, "cipher-mode", "xts");
	const char *ivgen = value_of(opts, "ivgen-alg", "plain64");
	const char *iv_hash = bd_opts_get(opts, "ivgen-hash-alg");
	int ret;

	memset(how, 0, sizeof(*how));
	how->spec.alg = bd_cipher_alg_find(alg);
	if (!how->spec.alg)
		return bad_value("cipher-alg", alg, err);
	if (bd_cipher_mode_parse(mode, &how->spec.mode) < 0)
		return bad_value("cipher-mode", mode, err);
	if (bd_ivgen_parse(ivgen, &how->spec.ivgen) < 0)
		return bad_value("ivgen-alg", ivgen, err);
	if (!iv_hash && how->spec.ivgen == BD_IV_ESSIV)
		iv_hash = "sha256";
	if (iv_hash && (ret = parse_hash("ivgen-hash-alg", iv_hash, &how->spec.iv_hash, err)) < 0)
		return ret;
	ret = parse_hash("hash-alg", value_of(opts, "hash-alg", "sha256"), &how->hash, err);
	return ret < 0 ? ret : parse_iter_time(opts, &how->iter_time, err);
}
