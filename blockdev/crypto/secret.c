/* SPDX-License-Identifier: MIT */
/* The secrets of the process. */
#include "blockdev/crypto/secret.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "blockdev/base/cleanup.h"
#include "blockdev/crypto/cipher.h"

enum { FILE_MAX = 1 << 20, KEY_MAX = 1 << 16, KEY_LEN = 32, BLOCK = 16 };

/* Bytes that are wiped when they go. */
struct buffer {
	uint8_t *data;
	size_t len;
};

struct secret {
	struct secret *next;
	char *id;
	struct buffer bytes;
};

/* Process-wide on purpose: an image names its secret by an id that any part of it may use. */
static struct secret *secrets;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void drop(struct buffer *buf)
{
	bd_wipe(buf->data, buf->len);
	free(buf->data);
	*buf = (struct buffer){ 0 };
}

/* Room for @len bytes and a NUL; -ENOMEM. */
static int make(struct buffer *buf, size_t len, struct bd_error *err)
{
	buf->data = calloc(1, len + 1);
	buf->len = len;
	return buf->data ? 0 : bd_fail(err, -ENOMEM, "Out of memory");
}

/* What reads wrong is told as glib tells it, because QEMU does. */
static int read_file(const char *name, struct buffer *buf, struct bd_error *err)
{
	__cleanup(close) int fd = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t got = 1;
	int ret;

	if (fd < 0)
		return bd_fail_errno(err, -errno, "Unable to read %s: Failed to open file “%s”",
				     name, name);
	ret = make(buf, FILE_MAX, err);
	for (buf->len = 0; ret == 0 && got && buf->len < FILE_MAX;) {
		got = read(fd, buf->data + buf->len, FILE_MAX - buf->len);
		if (got > 0)
			buf->len += (size_t)got;
		else if (got < 0 && errno != EINTR)
			ret = bd_fail_errno(err, -errno,
					    "Unable to read %s: Error reading file “%s”", name,
					    name);
	}
	if (ret == 0 && buf->len == FILE_MAX)
		ret = bd_fail(err, -EFBIG, "Unable to read %s: The file is too large", name);
	return ret;
}

/* A key of the kernel's key ring.  keyctl(2) has no wrapper in the C library. */
static int read_key(const char *serial, struct buffer *buf, struct bd_error *err)
{
	uint64_t number;
	long len;
	int ret;

	if (!serial)
		return bd_fail(err, -EINVAL, "Parameter 'serial' is missing");
	if (bd_parse_u64(serial, &number) < 0 || number > INT32_MAX)
		return bd_fail(err, -EINVAL, "Parameter 'serial' expects integer");
	ret = make(buf, KEY_MAX, err);
	if (ret < 0)
		return ret;
	len = syscall(SYS_keyctl, KEYCTL_READ, number, buf->data, buf->len);
	if (len < 0)
		return bd_fail_errno(err, -errno, "Unable to read serial key %08x",
				     (unsigned)number);
	if ((size_t)len > buf->len)
		return bd_fail(err, -EFBIG, "Unable to read serial key %08x: it is too long",
			       (unsigned)number);
	buf->len = (size_t)len;
	return 0;
}

static int value_of(char c)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(letters, c) : NULL;

	return at ? (int)(at - letters) : -1;
}

/* What is too short for a byte at the end is left out.  Like: glib. */
static int decode_base64(const struct buffer *text, struct buffer *out, struct bd_error *err)
{
	uint32_t bits = 0;
	unsigned nr = 0;
	size_t at = 0;
	int ret;

	if (memchr(text->data, 0, text->len))
		return bd_fail(err, -EINVAL, "Base64 data contains embedded NUL characters");
	for (size_t i = 0; i < text->len; i++) {
		char c = (char)text->data[i];

		if (value_of(c) < 0 && c != '=' && c != '\n')
			return bd_fail(err, -EINVAL, "Base64 data contains invalid characters");
	}
	ret = make(out, text->len / 4 * 3 + 3, err);
	for (size_t i = 0; i < text->len && ret == 0; i++) {
		int value = value_of((char)text->data[i]);

		if (value < 0)
			continue;
		bits = bits << 6 | (uint32_t)value;
		if (++nr < 4)
			continue;
		out->data[at++] = (uint8_t)(bits >> 16);
		out->data[at++] = (uint8_t)(bits >> 8);
		out->data[at++] = (uint8_t)bits;
		nr = 0;
		bits = 0;
	}
	/* Padding stands for what is missing; without it a short group does not count. */
	if (ret == 0 && nr >= 2 && memchr(text->data, '=', text->len)) {
		bits <<= 6 * (4 - nr);
		out->data[at++] = (uint8_t)(bits >> 16);
		if (nr == 3)
			out->data[at++] = (uint8_t)(bits >> 8);
	}
	out->len = at;
	return ret;
}

static int text_base64(const char *text, struct buffer *out, struct bd_error *err)
{
	const struct buffer raw = { (uint8_t *)(uintptr_t)text, strlen(text) };

	return decode_base64(&raw, out, err);
}

/* AES-256-CBC in place, and the padding (PKCS #7) off. */
static int unwrap(struct buffer *buf, const uint8_t *key, const uint8_t *iv, struct bd_error *err)
{
	const struct bd_cipher_alg *aes = bd_cipher_alg_find("aes-256");
	struct bd_cipher *cipher;
	uint8_t pad;
	int ret;

	if (buf->len % BLOCK)
		return bd_fail(err, -EINVAL, "Length %zu must be a multiple of block size %d",
			       buf->len, BLOCK);
	ret = bd_cipher_new(aes, BD_MODE_CBC, key, KEY_LEN, &cipher, err);
	if (ret < 0)
		return ret;
	bd_cipher_decrypt(cipher, iv, buf->data, buf->len);
	bd_cipher_free(cipher);
	pad = buf->len ? buf->data[buf->len - 1] : 0;
	if (pad > BLOCK || pad > buf->len)
		return bd_fail(err, -EINVAL,
			       "Incorrect number of padding bytes (%d) found on decrypted data",
			       pad);
	buf->len -= pad;
	buf->data[buf->len] = 0;
	return 0;
}

static int decrypt(struct buffer *buf, const struct bd_opts *opts, struct bd_error *err)
{
	const char *iv_text = bd_opts_get(opts, "iv");
	struct buffer iv = { 0 };
	struct bd_bytes key;
	int ret = bd_secret_get(bd_opts_get(opts, "keyid"), &key, err);

	if (ret == 0 && key.len != KEY_LEN)
		ret = bd_fail(err, -EINVAL, "Key should be %d bytes in length", KEY_LEN);
	if (ret == 0 && !iv_text)
		ret = bd_fail(err, -EINVAL, "IV is required to decrypt secret");
	if (ret == 0)
		ret = text_base64(iv_text, &iv, err);
	if (ret == 0 && iv.len != BLOCK)
		ret = bd_fail(err, -EINVAL, "IV should be %d bytes in length not %zu", BLOCK,
			      iv.len);
	if (ret == 0)
		ret = unwrap(buf, key.data, iv.data, err);
	drop(&iv);
	return ret;
}

/* The content as it stands in the definition or the file. */
static int load(const struct bd_opts *opts, struct buffer *raw, struct bd_error *err)
{
	const char *data = bd_opts_get(opts, "data"), *file = bd_opts_get(opts, "file");
	const char *type = bd_opts_get(opts, "qom-type");
	int ret;

	if (type && !strcmp(type, "secret_keyring"))
		return read_key(bd_opts_get(opts, "serial"), raw, err);
	if (file && data)
		return bd_fail(err, -EINVAL, "'file' and 'data' are mutually exclusive");
	if (file)
		return read_file(file, raw, err);
	if (!data)
		return bd_fail(err, -EINVAL, "Either 'file' or 'data' must be provided");
	ret = make(raw, strlen(data), err);
	if (ret == 0)
		memcpy(raw->data, data, raw->len);
	return ret;
}

static int make_content(const struct bd_opts *opts, struct buffer *out, struct bd_error *err)
{
	const char *format = bd_opts_get(opts, "format");
	bool base64 = format && !strcmp(format, "base64");
	struct buffer raw = { 0 };
	int ret;

	if (format && !base64 && strcmp(format, "raw"))
		return bd_fail(err, -EINVAL, "Parameter 'format' does not accept value '%s'",
			       format);
	ret = load(opts, &raw, err);
	if (ret == 0 && base64) {
		ret = decode_base64(&raw, out, err);
		drop(&raw);
	} else {
		*out = raw;
	}
	if (ret == 0 && bd_opts_get(opts, "keyid"))
		ret = decrypt(out, opts, err);
	return ret;
}

static int check_id(const char *id, struct bd_error *err)
{
	const char *at = id;

	if (!id)
		return bd_fail(err, -EINVAL, "Parameter 'id' is missing");
	while (*at && (isalnum((unsigned char)*at) || strchr("-._", *at)))
		at++;
	if (*at || !isalpha((unsigned char)*id)) {
		bd_fail(err, -EINVAL, "Parameter 'id' expects an identifier");
		bd_hint(err, "Identifiers consist of letters, digits, '-', '.', '_', "
			     "starting with a letter.");
		return -EINVAL;
	}
	return 0;
}

static struct secret *find(const char *id)
{
	struct secret *secret = secrets;

	while (secret && strcmp(secret->id, id))
		secret = secret->next;
	return secret;
}

int bd_secret_add(const struct bd_opts *opts, struct bd_error *err)
{
	const char *id = bd_opts_get(opts, "id");
	struct secret *secret;
	int ret = check_id(id, err);

	if (ret < 0)
		return ret;
	secret = calloc(1, sizeof(*secret));
	if (secret)
		secret->id = strdup(id);
	if (!secret || !secret->id)
		ret = bd_fail(err, -ENOMEM, "Out of memory");
	if (ret == 0)
		ret = make_content(opts, &secret->bytes, err);
	pthread_mutex_lock(&lock);
	if (ret == 0 && find(id))
		ret = bd_fail(err, -EEXIST, "attempt to add duplicate property '%s' to object "
					    "(type 'container')", id);
	if (ret == 0) {
		secret->next = secrets;
		secrets = secret;
	}
	pthread_mutex_unlock(&lock);
	if (ret < 0 && secret) {
		drop(&secret->bytes);
		free(secret->id);
		free(secret);
	}
	return ret;
}

int bd_secret_get(const char *id, struct bd_bytes *out, struct bd_error *err)
{
	const struct secret *secret;

	pthread_mutex_lock(&lock);
	secret = find(id);
	if (secret)
		*out = (struct bd_bytes){ secret->bytes.data, secret->bytes.len };
	pthread_mutex_unlock(&lock);
	return secret ? 0 : bd_fail(err, -EINVAL, "No secret with id '%s'", id);
}

/* Bytes of the UTF-8 character at @at of @len; 0: it is none. */
static size_t utf8_len(const uint8_t *at, size_t len)
{
	size_t need = *at < 0x80 ? 1 : *at >= 0xc2 && *at < 0xe0 ? 2 : *at >= 0xe0 && *at < 0xf0 ?
		      3 : *at >= 0xf0 && *at < 0xf5 ? 4 : 0;

	if (!need || need > len || !*at)
		return 0;
	for (size_t i = 1; i < need; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	}
	/* overlong forms, surrogates, and what lies behind the last character */
	if ((*at == 0xe0 && at[1] < 0xa0) || (*at == 0xed && at[1] > 0x9f) ||
	    (*at == 0xf0 && at[1] < 0x90) || (*at == 0xf4 && at[1] > 0x8f))
		return 0;
	return need;
}

int bd_secret_password(const char *id, struct bd_bytes *out, struct bd_error *err)
{
	int ret = bd_secret_get(id, out, err);

	for (size_t at = 0, n; ret == 0 && at < out->len; at += n) {
		n = utf8_len(out->data + at, out->len - at);
		if (!n)
			ret = bd_fail(err, -EINVAL, "Data from secret %s is not valid UTF-8", id);
	}
	return ret;
}

void bd_secrets_clear(void)
{
	pthread_mutex_lock(&lock);
	while (secrets) {
		struct secret *next = secrets->next;

		drop(&secrets->bytes);
		free(secrets->id);
		free(secrets);
		secrets = next;
	}
	pthread_mutex_unlock(&lock);
}
