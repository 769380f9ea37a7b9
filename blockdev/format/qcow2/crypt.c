/* SPDX-License-Identifier: MIT */
/* Keys of encrypted images: from the LUKS header inside the image, or, for AES, the password. */
#include "blockdev/format/qcow2/crypt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/cleanup.h"
#include "blockdev/core/open.h"
#include "blockdev/crypto/luks_info.h"
#include "blockdev/crypto/luks_opts.h"

enum { METHOD_AES = 1, METHOD_LUKS = 2, AES_KEY = 16 };

/* What an encrypted image has more. */
struct qcow2_crypt {
	char *secret;             /* id given to open; NULL: none */
	struct luks luks;         /* method LUKS */
	struct bd_sectors *sectors; /* NULL: opened without a key */
};

static const char *method_name(uint32_t method)
{
	return method == METHOD_AES ? "aes" : "luks";
}

/* The LUKS header's bytes: nothing outside the area that the image names. */
static bool inside(const struct qcow2 *q, uint64_t off, size_t len)
{
	return off <= q->crypto_len && len <= q->crypto_len - off;
}

static int area_read(void *user, uint64_t off, void *buf, size_t len)
{
	struct qcow2 *q = user;

	return inside(q, off, len) ? io_pread(q->node->file, q->crypto_off + off, buf, len) : -EIO;
}

static int area_write(void *user, uint64_t off, const void *buf, size_t len)
{
	struct qcow2 *q = user;

	return inside(q, off, len) ? io_pwrite(q->node->file, q->crypto_off + off, buf, len) : -EIO;
}

static int area_flush(void *user)
{
	struct qcow2 *q = user;

	return io_pflush(q->node->file);
}

static struct luks_store store_of(struct qcow2 *q)
{
	return (struct luks_store){ area_read, area_write, area_flush, q };
}

static int check_opts(const struct qcow2 *q, const struct bd_opts *opts, struct bd_error *err)
{
	const char *format = bd_opts_get(opts, "format");

	if (!q->crypt_method && format)
		return bd_fail(err, -EINVAL, "No encryption in image header, but options "
					     "specified format '%s'", format);
	if (!q->crypt_method)
		return 0;
	if (format && strcmp(format, method_name(q->crypt_method)))
		return bd_fail(err, -EINVAL, "Header reported '%s' encryption format but options "
					     "specify '%s'", method_name(q->crypt_method), format);
	for (size_t i = 0; i < bd_opts_count(opts); i++) {
		const char *key = bd_opts_key(opts, i);

		if (strcmp(key, "format") && strcmp(key, "key-secret"))
			return bd_fail(err, -EINVAL, "Parameter '%s' is unexpected", key);
	}
	return 0;
}

/* The legacy method: the password's first bytes are the key. */
static int open_aes(struct qcow2 *q, struct bd_bytes password, struct bd_error *err)
{
	const struct bd_sector_spec spec = {
		.alg = bd_cipher_alg_find("aes-128"), .mode = BD_MODE_CBC, .ivgen = BD_IV_PLAIN64,
	};
	uint8_t key[AES_KEY] = { 0 };
	int ret;

	memcpy(key, password.data, password.len < AES_KEY ? password.len : AES_KEY);
	ret = bd_sectors_new(&spec, key, sizeof(key), &q->crypt->sectors, err);
	bd_wipe(key, sizeof(key));
	q->node->iv_by_guest = true;
	return ret;
}

static int open_luks(struct qcow2 *q, struct bd_bytes password, struct bd_error *err)
{
	const struct luks_store store = store_of(q);
	struct qcow2_crypt *crypt = q->crypt;
	uint8_t key[BD_CIPHER_KEY_MAX];
	int ret = luks_unlock(&crypt->luks, &store, password, key, err);

	if (ret >= 0)
		ret = bd_sectors_new(&crypt->luks.spec, key, crypt->luks.key_len, &crypt->sectors,
				     err);
	bd_wipe(key, sizeof(key));
	return ret;
}

static int find_key(struct qcow2 *q, struct bd_error *err)
{
	struct bd_bytes password;
	int ret;

	if (!q->crypt->secret)
		return bd_fail(err, -EINVAL,
			       "Parameter 'encrypt.key-secret' is required for cipher");
	ret = bd_secret_password(q->crypt->secret, &password, err);
	if (ret < 0)
		return ret;
	if (q->crypt_method == METHOD_AES)
		ret = open_aes(q, password, err);
	else
		ret = open_luks(q, password, err);
	q->node->cipher = q->crypt->sectors;
	return ret;
}

static int load_header(struct qcow2 *q, struct bd_error *err)
{
	const struct luks_store store = store_of(q);

	if (q->crypt_method != METHOD_LUKS)
		return 0;
	if (!q->crypto_off)
		return bd_fail(err, -EINVAL, "Missing CRYPTO header for crypt method %u",
			       q->crypt_method);
	return luks_load(&q->crypt->luks, &store, err);
}

/* The name says which key was asked for, so that it can be used to open again.  Like: QEMU. */
static int set_name(struct bd_node *node, const char *secret)
{
	__cleanup(opts) struct bd_opts *opts = bd_opts_new();

	if (!opts || bd_opts_set(opts, "encrypt.key-secret", secret) < 0 ||
	    bd_opts_set(opts, "driver", "qcow2") < 0)
		return -ENOMEM;
	return bd_node_set_name(node, opts, NULL, NULL);
}

int qcow2_crypt_open(struct qcow2 *q, struct bd_error *err)
{
	__cleanup(opts) struct bd_opts *opts = bd_opts_new();
	int ret;

	if (!opts)
		return bd_fail(err, -ENOMEM, "Out of memory");
	bd_opts_take_prefix(q->node->opts, "encrypt.", opts);
	ret = check_opts(q, opts, err);
	if (ret < 0 || !q->crypt_method)
		return ret;
	q->node->encrypted = true;
	q->crypt = calloc(1, sizeof(*q->crypt));
	if (!q->crypt)
		return bd_fail(err, -ENOMEM, "Out of memory");
	q->crypt->secret = bd_opts_take(opts, "key-secret");
	if (q->crypt->secret && set_name(q->node, q->crypt->secret) < 0)
		return bd_fail(err, -ENOMEM, "Out of memory");
	ret = load_header(q, err);
	if (ret < 0 || q->node->flags & BD_O_NO_IO)
		return ret;
	return find_key(q, err);
}

void qcow2_crypt_close(struct qcow2 *q)
{
	q->node->cipher = NULL;
	if (!q->crypt)
		return;
	bd_sectors_free(q->crypt->sectors);
	free(q->crypt->secret);
	free(q->crypt);
	q->crypt = NULL;
}

uint64_t qcow2_crypt_header_len(const struct qcow2 *q)
{
	if (!q->crypt || q->crypt_method != METHOD_LUKS)
		return 0;
	return q->crypto_len < q->crypt->luks.payload_off ? q->crypto_len :
							    q->crypt->luks.payload_off;
}

int qcow2_crypt_info(struct qcow2 *q, json_t *data, struct bd_error *err)
{
	json_t *crypt;

	if (!q->crypt)
		return 0;
	crypt = json_object();
	if (!crypt || json_object_set_new(data, "encrypt", crypt) < 0)
		return bd_fail(err, -ENOMEM, "Out of memory");
	if (q->crypt_method == METHOD_LUKS)
		luks_describe(&q->crypt->luks, "luks", crypt);
	else
		json_object_set_new(crypt, "format", json_string("aes"));
	return 0;
}

bool qcow2_crypt_options(const struct bd_opts *opts)
{
	for (size_t i = 0; i < bd_opts_count(opts); i++) {
		if (!strncmp(bd_opts_key(opts, i), "encrypt.", 8))
			return true;
	}
	return false;
}

int qcow2_crypt_can_amend(const struct qcow2 *q, struct bd_error *err)
{
	if (!q->crypt)
		return bd_fail(err, -EINVAL,
			       "Can't amend encryption options - encryption not present");
	if (q->crypt_method != METHOD_LUKS)
		return bd_fail(err, -ENOTSUP, "Only LUKS encryption options can be amended");
	return 0;
}

int qcow2_crypt_amend(struct qcow2 *q, const struct bd_opts *opts, bool force,
		      struct bd_error *err)
{
	__cleanup(opts) struct bd_opts *all = bd_opts_copy(opts), *own = bd_opts_new();
	const struct luks_store store = store_of(q);

	if (!all || !own)
		return bd_fail(err, -ENOMEM, "Out of memory");
	bd_opts_take_prefix(all, "encrypt.", own);
	return luks_amend(&q->crypt->luks, &store, own, q->crypt->secret, force, err);
}
