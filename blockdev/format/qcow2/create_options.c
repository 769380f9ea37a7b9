/* SPDX-License-Identifier: MIT */
/* What may be asked of a new image: the option table, and the rules that join options. */
#include <errno.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/format/qcow2/create.h"
#include "blockdev/format/qcow2/crypt.h"

enum { CREATE = BD_OPTION_CREATE, BOTH = BD_OPTION_CREATE | BD_OPTION_AMEND };

/* In the order of the "Formatting" line. */
const struct bd_option qcow2_create_options[] = {
	{ "encryption", BD_OPT_BOOL,
	  "Encrypt the image with format 'aes'. (Deprecated in favor of encrypt.format=aes)", NULL,
	  CREATE },
	{ "encrypt.format", BD_OPT_STRING, "Encrypt the image, format choices: 'aes', 'luks'", NULL,
	  CREATE },
	{ "encrypt.key-secret", BD_OPT_STRING,
	  "ID of secret providing qcow AES key or LUKS passphrase", NULL, CREATE },
	{ "encrypt.cipher-alg", BD_OPT_STRING, "Name of encryption cipher algorithm", NULL,
	  CREATE },
	{ "encrypt.cipher-mode", BD_OPT_STRING, "Name of encryption cipher mode", NULL, CREATE },
	{ "encrypt.ivgen-alg", BD_OPT_STRING, "Name of IV generator algorithm", NULL, CREATE },
	{ "encrypt.ivgen-hash-alg", BD_OPT_STRING, "Name of IV generator hash algorithm", NULL,
	  CREATE },
	{ "encrypt.hash-alg", BD_OPT_STRING, "Name of encryption hash algorithm", NULL, CREATE },
	{ "encrypt.iter-time", BD_OPT_NUMBER, "Time to spend in PBKDF in milliseconds", NULL,
	  BOTH },
	{ "cluster_size", BD_OPT_SIZE, "qcow2 cluster size", "65536", CREATE },
	{ "extended_l2", BD_OPT_BOOL, "Extended L2 tables", "off", CREATE },
	{ "preallocation", BD_OPT_STRING,
	  "Preallocation mode (allowed values: off, metadata, falloc, full)", NULL, CREATE },
	{ "compression_type", BD_OPT_STRING,
	  "Compression method used for image cluster compression", "zlib", CREATE },
	{ "size", BD_OPT_SIZE, "Virtual disk size", NULL, BOTH },
	{ "compat", BD_OPT_STRING, "Compatibility level (v2 [0.10] or v3 [1.1])", NULL, BOTH },
	{ "backing_file", BD_OPT_STRING, "File name of a base image", NULL, BOTH },
	{ "backing_fmt", BD_OPT_STRING, "Image format of the base image", NULL, BOTH },
	{ "data_file", BD_OPT_STRING, "File name of an external data file", NULL, BOTH },
	{ "data_file_raw", BD_OPT_BOOL, "The external data file must stay valid as a raw image",
	  NULL, BOTH },
	{ "keep_data_file", BD_OPT_BOOL, "Use an existing data file as it is", NULL,
	  CREATE | BD_OPTION_NEWER },
	{ "lazy_refcounts", BD_OPT_BOOL, "Postpone refcount updates", "off", BOTH },
	{ "refcount_bits", BD_OPT_NUMBER, "Width of a reference count entry in bits", "16", BOTH },
	{0},
};

#define NEWER " compatibility level 1.1 %s (use version=v3 or greater)"

static bool get_bool(const struct bd_opts *opts, const char *key)
{
	const char *text = bd_opts_get(opts, key);
	bool value = false;

	return text && bd_parse_bool(text, &value) == 0 && value;
}

static int parse_version(const struct bd_opts *opts, struct qcow2_new *new, struct bd_error *err)
{
	const char *compat = bd_opts_get(opts, "compat");

	new->version = 3;
	if (!compat || !strcmp(compat, "1.1") || !strcmp(compat, "v3"))
		return 0;
	new->version = 2;
	if (!strcmp(compat, "0.10") || !strcmp(compat, "v2"))
		return 0;
	return bd_fail(err, -EINVAL, "Parameter 'version' does not accept value '%s'", compat);
}

static int parse_words(const struct bd_opts *opts, struct qcow2_new *new, struct bd_error *err)
{
	static const char *const modes[] = { "off", "metadata", "falloc", "full" };
	const char *type = bd_opts_get(opts, "compression_type");
	const char *prealloc = bd_opts_get(opts, "preallocation");

	for (size_t i = 0; i < 4; i++)
		if (!strcmp(prealloc ? prealloc : "off", modes[i]))
			new->prealloc = modes[i];
	if (!new->prealloc)
		return bd_fail(err, -EINVAL, "Parameter 'preallocation' does not accept value "
			       "'%s'", prealloc);
	if (type && !strcmp(type, "zstd"))
		new->compression_type = 1;
	else if (type && strcmp(type, "zlib"))
		return bd_fail(err, -EINVAL, "Parameter 'compression-type' does not accept value "
			       "'%s'", type);
	return 0;
}

static int parse_cluster(const struct bd_opts *opts, struct qcow2_new *new, struct bd_error *err)
{
	const char *text = bd_opts_get(opts, "cluster_size");
	uint64_t size = 65536;

	if (text && bd_parse_size(text, &size) < 0)
		size = 0;
	if (size < 512 || size > 2 << 20 || !is_pow2(size))
		return bd_fail(err, -EINVAL,
			       "Cluster size must be a power of two between 512 and 2048k");
	new->cluster_size = (uint32_t)size;
	new->extended_l2 = get_bool(opts, "extended_l2");
	if (new->extended_l2 && new->version < 3)
		return bd_fail(err, -EINVAL, "Extended L2 entries are only supported with"
			       NEWER, "and above");
	if (new->extended_l2 && size < 16384)
		return bd_fail(err, -EINVAL, "Extended L2 entries are only supported with cluster "
					     "sizes of at least 16384 bytes");
	return 0;
}

static int parse_backing(const struct bd_opts *opts, struct qcow2_new *new, struct bd_error *err)
{
	new->backing_file = bd_opts_get(opts, "backing_file");
	new->backing_fmt = bd_opts_get(opts, "backing_fmt");
	if (new->backing_file && strcmp(new->prealloc, "off") && !new->extended_l2)
		return bd_fail(err, -EINVAL, "Backing file and preallocation can only be used at "
					     "the same time if extended_l2 is on");
	if (new->backing_fmt && !new->backing_file)
		return bd_fail(err, -EINVAL, "Backing format cannot be used without backing file");
	return 0;
}

static int parse_refcounts(const struct bd_opts *opts, struct qcow2_new *new,
			   struct bd_error *err)
{
	const char *text = bd_opts_get(opts, "refcount_bits");
	uint64_t bits = 16;

	new->lazy_refcounts = get_bool(opts, "lazy_refcounts");
	if (new->lazy_refcounts && new->version < 3)
		return bd_fail(err, -EINVAL, "Lazy refcounts only supported with"
			       NEWER, "and above");
	if (text && bd_parse_u64(text, &bits) < 0)
		bits = 0;
	if (bits > 64 || !is_pow2(bits))
		return bd_fail(err, -EINVAL, "Refcount width must be a power of two and may not "
					     "exceed 64 bits");
	if (bits != 16 && new->version < 3)
		return bd_fail(err, -EINVAL, "Different refcount widths than 16 bits require"
			       NEWER, "or above");
	new->refcount_order = log2_floor(bits);
	return 0;
}

static int parse_data_file(const struct bd_opts *opts, struct qcow2_new *new,
			   struct bd_error *err)
{
	new->data_file = bd_opts_get(opts, "data_file");
	new->data_file_raw = get_bool(opts, "data_file_raw");
	if (new->data_file_raw && !new->data_file)
		return bd_fail(err, -EINVAL, "data-file-raw requires data-file");
	if (new->data_file_raw && new->backing_file)
		return bd_fail(err, -EINVAL, "Backing file and data-file-raw cannot be used at the "
					     "same time");
	if (new->data_file && new->version < 3)
		return bd_fail(err, -EINVAL, "External data files are only supported with"
			       NEWER, "and above");
	/* A raw file's every byte must be found through the tables from the start. */
	if (new->data_file_raw && !strcmp(new->prealloc, "off"))
		new->prealloc = "metadata";
	new->keep_data_file = get_bool(opts, "keep_data_file");
	if (new->keep_data_file && !new->data_file)
		return bd_fail(err, -EINVAL, "keep_data_file requires data_file");
	if (new->keep_data_file && strcmp(new->prealloc, "metadata"))
		return bd_fail(err, -EINVAL, "keep_data_file requires preallocation=metadata or "
					     "data_file_raw=on, so that its content is seen");
	return 0;
}

int qcow2_new_parse(const struct bd_opts *opts, struct qcow2_new *new, struct bd_error *err)
{
	const char *size = bd_opts_get(opts, "size");
	int ret;

	*new = (struct qcow2_new){0};
	if ((ret = parse_version(opts, new, err)) < 0 ||
	    (ret = parse_words(opts, new, err)) < 0 ||
	    (ret = parse_cluster(opts, new, err)) < 0 ||
	    (ret = parse_backing(opts, new, err)) < 0 ||
	    (ret = parse_refcounts(opts, new, err)) < 0 ||
	    (ret = parse_data_file(opts, new, err)) < 0)
		return ret;
	if (new->compression_type && new->version < 3)
		return bd_fail(err, -EINVAL, "Non-zlib compression type is only supported with"
			       NEWER, "and above");
	if (size && bd_parse_size(size, &new->size) < 0)
		return bd_fail(err, -EINVAL, "Invalid image size");
	if (new->size > INT64_MAX - 512)
		return bd_fail(err, -EINVAL,
			       "Could not resize image: Image size cannot be negative");
	new->size = round_up(new->size, 512);
	ret = qcow2_crypt_parse(opts, &new->crypt_method, err);
	if (ret == 0 && new->crypt_method)
		new->key_secret = bd_opts_get(opts, "encrypt.key-secret");
	return ret;
}
