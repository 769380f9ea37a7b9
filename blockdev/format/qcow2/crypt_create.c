/* SPDX-License-Identifier: MIT */
/* Encryption of a new image: options, and the LUKS header that goes into it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/cleanup.h"
#include "blockdev/crypto/luks_opts.h"
#include "blockdev/format/qcow2/crypt.h"

enum { NONE, AES, LUKS };

/* "encrypt.*" without the prefix and without what is not LUKS's; NULL: out of memory. */
static struct bd_opts *own_options(const struct bd_opts *opts)
{
	__cleanup(opts) struct bd_opts *all = bd_opts_copy(opts);
	struct bd_opts *own = bd_opts_new();

	if (!all || !own) {
		bd_opts_free(own);
		return NULL;
	}
	bd_opts_take_prefix(all, "encrypt.", own);
	return own;
}

static int check_aes(const struct bd_opts *opts, struct bd_error *err)
{
	const struct bd_cipher_alg *alg = bd_cipher_alg_find("aes-128");

	if (!alg->impl)
		return bd_fail(err, -ENOTSUP, "Algorithm '%s' not supported", alg->name);
	for (size_t i = 0; i < bd_opts_count(opts); i++) {
		const char *key = bd_opts_key(opts, i);

		if (!strncmp(key, "encrypt.", 8) && strcmp(key, "encrypt.format") &&
		    strcmp(key, "encrypt.key-secret"))
			return bd_fail(err, -EINVAL, "Parameter '%s' is unexpected", key);
	}
	return 0;
}

int qcow2_crypt_parse(const struct bd_opts *opts, uint32_t *method, struct bd_error *err)
{
	const char *format = bd_opts_get(opts, "encrypt.format");
	const char *old = bd_opts_get(opts, "encryption");
	bool on = false;

	*method = NONE;
	if (old)
		bd_parse_bool(old, &on);
	if (on && format)
		return bd_fail(err, -EINVAL, "'encrypt.format' and its alias 'encryption' can't "
					     "be used at the same time");
	if (on)
		format = "aes";
	if (!format && qcow2_crypt_options(opts))
		return bd_fail(err, -EINVAL, "Parameter 'encrypt.format' is missing");
	if (!format)
		return 0;
	*method = !strcmp(format, "aes") ? AES : !strcmp(format, "luks") ? LUKS : NONE;
	if (!*method)
		return bd_fail(err, -EINVAL, "Parameter 'format' does not accept value '%s'",
			       format);
	return *method == AES ? check_aes(opts, err) : 0;
}

static int get_password(const struct bd_opts *own, struct bd_bytes *password, struct bd_error *err)
{
	const char *secret = bd_opts_get(own, "key-secret");

	if (!secret)
		return bd_fail(err, -EINVAL,
			       "Parameter 'encrypt.key-secret' is required for cipher");
	return bd_secret_password(secret, password, err);
}

int qcow2_crypt_area_len(const struct bd_opts *opts, uint64_t *len, struct bd_error *err)
{
	__cleanup(opts) struct bd_opts *own = own_options(opts);
	struct bd_bytes password;
	struct luks_new how;
	uint32_t method;
	int ret = own ? qcow2_crypt_parse(opts, &method, err) : -ENOMEM;

	*len = 0;
	if (ret < 0 || method != LUKS)
		return ret;
	ret = luks_new_parse(own, &how, err);
	if (ret == 0)
		ret = get_password(own, &password, err);
	if (ret == 0)
		*len = luks_area_len(&how.spec);
	return ret;
}

/* The area while it is being made, in memory. */
struct memory {
	uint8_t *bytes;
	uint64_t len;
};

static int memory_read(void *user, uint64_t off, void *buf, size_t len)
{
	const struct memory *memory = user;

	if (off > memory->len || len > memory->len - off)
		return -EIO;
	memcpy(buf, memory->bytes + off, len);
	return 0;
}

static int memory_write(void *user, uint64_t off, const void *buf, size_t len)
{
	struct memory *memory = user;

	if (off > memory->len || len > memory->len - off)
		return -EIO;
	memcpy(memory->bytes + off, buf, len);
	return 0;
}

static int memory_flush(void *user)
{
	(void)user;
	return 0;
}

static int make_luks(const struct bd_opts *own, struct bd_bytes password, struct memory *memory,
		     struct bd_error *err)
{
	const struct luks_store store = { memory_read, memory_write, memory_flush, memory };
	uint8_t key[BD_CIPHER_KEY_MAX];
	struct luks_new how;
	struct luks luks;
	int ret = luks_new_parse(own, &how, err);

	if (ret < 0)
		return ret;
	memory->len = luks_area_len(&how.spec);
	memory->bytes = calloc(1, memory->len);
	if (!memory->bytes)
		return bd_fail(err, -ENOMEM, "Out of memory");
	ret = luks_make(&luks, &how, &store, password, key, err);
	bd_wipe(key, sizeof(key));
	if (ret < 0) {
		free(memory->bytes);
		memory->bytes = NULL;
	}
	return ret;
}

int qcow2_crypt_make(const struct bd_opts *opts, uint8_t **area, uint64_t *len,
		     struct bd_error *err)
{
	__cleanup(opts) struct bd_opts *own = own_options(opts);
	struct memory memory = { 0 };
	struct bd_bytes password;
	uint32_t method;
	int ret;

	*area = NULL;
	*len = 0;
	if (!own)
		return bd_fail(err, -ENOMEM, "Out of memory");
	ret = qcow2_crypt_parse(opts, &method, err);
	if (ret < 0 || method == NONE)
		return ret;
	ret = get_password(own, &password, err);
	if (ret == 0 && method == LUKS)
		ret = make_luks(own, password, &memory, err);
	*area = memory.bytes;
	*len = memory.len;
	return ret;
}
