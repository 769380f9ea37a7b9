/* SPDX-License-Identifier: MIT */
/* The LUKS format: a header with key slots, then the disk, encrypted. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/base/bits.h"
#include "blockdev/base/cleanup.h"
#include "blockdev/base/opts_take.h"
#include "blockdev/core/format.h"
#include "blockdev/core/open.h"
#include "blockdev/core/queue.h"
#include "blockdev/crypto/luks_info.h"
#include "blockdev/crypto/luks_opts.h"

enum { ZERO_MAX = 1 << 20, CREATE = BD_OPTION_CREATE, AMEND = BD_OPTION_AMEND };

struct luks_image {
	struct luks luks;
	struct bd_sectors *sectors; /* NULL: opened without a key */
	char *secret;               /* id given to open; NULL: none */
};

static int luks_probe_head(const uint8_t *head, size_t len)
{
	struct luks_disk_header disk = { 0 };

	memcpy(&disk, head, len < sizeof(disk) ? len : sizeof(disk));
	return luks_probe(head, len) && be16_get(disk.version) == 1 ? 100 : 0;
}

/* Behind the end of the file there are zeros: the header's own checks say what is wrong. */
static int file_read(void *user, uint64_t off, void *buf, size_t len)
{
	struct io_file *file = user;
	int64_t length = io_length(file);
	uint64_t there;

	if (length < 0)
		return (int)length;
	there = off < (uint64_t)length ? min_u64((uint64_t)length - off, len) : 0;
	memset((uint8_t *)buf + there, 0, len - there);
	return there ? io_pread(file, off, buf, there) : 0;
}

static int file_write(void *user, uint64_t off, const void *buf, size_t len)
{
	return io_pwrite(user, off, buf, len);
}

static int file_flush(void *user)
{
	return io_pflush(user);
}

static struct luks_store store_of(struct io_file *file)
{
	return (struct luks_store){ file_read, file_write, file_flush, file };
}

static int find_key(struct bd_node *node, struct bd_error *err)
{
	const struct luks_store store = store_of(node->file);
	struct luks_image *image = node->state;
	uint8_t key[BD_CIPHER_KEY_MAX];
	struct bd_bytes password;
	int ret;

	if (!image->secret)
		return bd_fail(err, -EINVAL, "Parameter 'key-secret' is required for cipher");
	ret = bd_secret_password(image->secret, &password, err);
	if (ret == 0)
		ret = luks_unlock(&image->luks, &store, password, key, err);
	if (ret < 0)
		return ret;
	ret = bd_sectors_new(&image->luks.spec, key, image->luks.key_len, &image->sectors, err);
	bd_wipe(key, sizeof(key));
	node->cipher = image->sectors;
	return ret;
}

static int set_size(struct bd_node *node, struct bd_error *err)
{
	const struct luks_image *image = node->state;
	int64_t length = io_length(node->file);

	if (length > INT64_MAX - BD_SECTOR)
		length = -EFBIG;
	if (length >= 0)
		length = (int64_t)round_up((uint64_t)length, BD_SECTOR);
	if (length >= 0 && (uint64_t)length < image->luks.payload_off)
		length = -EIO;
	if (length < 0)
		return bd_fail_errno(err, (int)length, "Could not refresh total sector count");
	node->size = (uint64_t)length - image->luks.payload_off;
	return 0;
}

/* The name says which key was asked for, so that it can be used to open again.  Like: QEMU. */
static int set_name(struct bd_node *node, const char *secret)
{
	__cleanup(opts) struct bd_opts *opts = bd_opts_new();

	if (!opts || bd_opts_set(opts, "driver", "luks") < 0)
		return -ENOMEM;
	return bd_node_set_name(node, opts, "key-secret", secret);
}

static int luks_image_close(struct bd_node *node)
{
	struct luks_image *image = node->state;

	node->cipher = NULL;
	bd_sectors_free(image->sectors);
	free(image->secret);
	return 0;
}

static int luks_image_open(struct bd_node *node, struct bd_error *err)
{
	const struct luks_store store = store_of(node->file);
	struct luks_image *image = node->state;
	int ret;

	node->encrypted = true;
	node->iv_by_guest = true; /* vectors count from where the disk begins */
	node->request_align = BD_SECTOR;
	image->secret = bd_opts_take(node->opts, "key-secret");
	ret = luks_load(&image->luks, &store, err);
	if (ret == 0 && image->secret && set_name(node, image->secret) < 0)
		ret = bd_fail(err, -ENOMEM, "Out of memory");
	if (ret == 0 && !(node->flags & BD_O_NO_IO))
		ret = find_key(node, err);
	if (ret == 0)
		ret = set_size(node, err);
	if (ret < 0)
		luks_image_close(node);
	return ret;
}

static int luks_image_map(struct bd_node *node, uint64_t off, uint64_t len, struct bd_extent *ext,
			  unsigned max, struct bd_wait *wait)
{
	const struct luks_image *image = node->state;

	(void)max;
	(void)wait;
	ext[0] = (struct bd_extent){
		.guest_off = off,
		.len = len,
		.host_off = off + image->luks.payload_off,
		.kind = BD_DATA,
		.flags = BD_EXTENT_HAS_OFFSET | BD_EXTENT_ENCRYPTED,
	};
	return 1;
}

static int luks_image_plan(struct bd_node *node, struct bd_plan *plan, struct bd_wait *wait)
{
	const struct luks_image *image = node->state;

	(void)wait;
	plan->host_off = plan->guest_off + image->luks.payload_off;
	plan->head = plan->tail = 0;
	plan->publish = false;
	return 1;
}

/* Zeros of the host are no zeros of the guest: they are written, encrypted. */
static int luks_image_zero(struct bd_node *node, uint64_t *off, uint64_t *len, unsigned req_flags,
			   struct bd_wait *wait)
{
	(void)node;
	(void)off;
	(void)req_flags;
	(void)wait;
	*len = min_u64(*len, ZERO_MAX);
	return -ENOTSUP;
}

static int luks_image_discard(struct bd_node *node, uint64_t *off, uint64_t *len,
			      struct bd_wait *wait)
{
	(void)node;
	(void)off;
	(void)len;
	(void)wait;
	return -ENOTSUP;
}

static int luks_image_info(struct bd_node *node, struct bd_info *info, struct bd_error *err)
{
	const struct luks_image *image = node->state;
	json_t *data = json_object();

	info->specific = json_object();
	if (!data || !info->specific)
		return bd_fail(err, -ENOMEM, "Out of memory");
	json_object_set_new(info->specific, "type", json_string("luks"));
	json_object_set_new(info->specific, "data", data);
	luks_describe(&image->luks, NULL, data);
	return 0;
}

/* --- create, resize, measure, amend --------------------------------------------------------- */

/* A new image: what its options ask for. */
struct new_image {
	uint64_t size;            /* guest bytes */
	uint64_t file_size;       /* with the header */
	struct luks_new how;
	struct bd_bytes password;
};

/* @size: of the disk, if the options do not say. */
static int parse_new(struct bd_opts *opts, uint64_t size, struct new_image *new,
		     struct bd_error *err)
{
	const char *secret = bd_opts_get(opts, "key-secret");
	int ret;

	new->size = size;
	ret = bd_opts_take_size(opts, "size", &new->size, NULL, err);
	if (ret == 0)
		ret = luks_new_parse(opts, &new->how, err);
	if (ret < 0)
		return ret;
	if (!secret)
		return bd_fail(err, -EINVAL, "Parameter 'key-secret' is required for cipher");
	new->file_size = luks_area_len(&new->how.spec);
	if (new->size > INT64_MAX - BD_SECTOR - new->file_size)
		return bd_fail(err, -EINVAL, "The requested file size is too large");
	new->file_size += new->size;
	return bd_secret_password(secret, &new->password, err);
}

static int write_header(struct bd_queue *queue, const char *filename, const struct new_image *new,
			struct bd_error *err)
{
	__cleanup(opts) struct bd_opts *opts = bd_opts_new();
	uint8_t key[BD_CIPHER_KEY_MAX];
	struct io_file *file;
	struct luks_store store;
	struct luks luks;
	int ret = opts ? io_name_to_opts(filename, opts, err) : -ENOMEM;

	if (ret == 0)
		ret = io_open(bd_queue_ctx(queue), opts,
			      BD_O_RDWR | BD_O_RESIZE | BD_O_SHARE_NO_WRITE, &file, err);
	if (ret < 0)
		return ret;
	store = store_of(file);
	ret = luks_make(&luks, &new->how, &store, new->password, key, err);
	bd_wipe(key, sizeof(key));
	io_close(file);
	return ret;
}

static int luks_image_create(struct bd_queue *queue, const char *filename, struct bd_opts *opts,
			     struct bd_error *err)
{
	__cleanup(free) char *prealloc = bd_opts_take(opts, "preallocation");
	struct new_image new;
	int ret = parse_new(opts, 0, &new, err);

	if (ret < 0)
		return ret;
	/* There are no tables that "metadata" could make. */
	ret = io_create(bd_queue_ctx(queue), filename, new.file_size,
			prealloc && strcmp(prealloc, "metadata") ? prealloc : "off", opts, err);
	return ret < 0 ? ret : write_header(queue, filename, &new, err);
}

static int luks_image_resize(struct bd_node *node, uint64_t size, const char *prealloc,
			     bool shrink, struct bd_error *err)
{
	const struct luks_image *image = node->state;
	int ret;

	(void)shrink;
	if (size > INT64_MAX - BD_SECTOR - image->luks.payload_off)
		return bd_fail(err, -EINVAL, "The requested file size is too large");
	ret = io_resize(node->file, size + image->luks.payload_off, prealloc, err);
	return ret < 0 ? ret : set_size(node, err);
}

static int luks_image_measure(struct bd_opts *opts, struct bd_node *src, struct bd_measure *out,
			      struct bd_error *err)
{
	struct new_image new;
	int ret;

	if (src)
		free(bd_opts_take(opts, "size"));
	ret = parse_new(opts, src ? src->size : 0, &new, err);
	if (ret == 0)
		out->required = out->fully_allocated = new.file_size;
	return ret;
}

static int luks_image_amend(struct bd_node *node, struct bd_opts *opts,
			    const struct bd_amend_args *args, struct bd_error *err)
{
	const struct luks_store store = store_of(node->file);
	struct luks_image *image = node->state;
	int ret;

	/* Guests may share a disk, but key slots have one writer. */
	ret = io_reopen(node->file, node->flags | BD_O_SHARE_NO_WRITE, err);
	if (ret < 0)
		return ret;
	ret = luks_load(&image->luks, &store, err);
	if (ret < 0)
		return ret;
	return luks_amend(&image->luks, &store, opts, image->secret, args->force, err);
}

/* In the order of the "Formatting" line. */
static const struct bd_option create_options[] = {
	{ "size", BD_OPT_SIZE, "Virtual disk size", NULL, CREATE },
	{ "key-secret", BD_OPT_STRING,
	  "ID of the secret that provides the keyslot passphrase", NULL, CREATE },
	{ "cipher-alg", BD_OPT_STRING, "Name of encryption cipher algorithm", NULL, CREATE },
	{ "cipher-mode", BD_OPT_STRING, "Name of encryption cipher mode", NULL, CREATE },
	{ "ivgen-alg", BD_OPT_STRING, "Name of IV generator algorithm", NULL, CREATE },
	{ "ivgen-hash-alg", BD_OPT_STRING, "Name of IV generator hash algorithm", NULL, CREATE },
	{ "hash-alg", BD_OPT_STRING, "Name of encryption hash algorithm", NULL, CREATE },
	{ "iter-time", BD_OPT_NUMBER, "Time to spend in PBKDF in milliseconds", NULL, CREATE },
	{ 0 },
};

static const struct bd_option amend_options[] = {
	{ "state", BD_OPT_STRING, "Select new state of affected keyslots (active/inactive)", NULL,
	  AMEND },
	{ "keyslot", BD_OPT_NUMBER, "Select a single keyslot to modify explicitly", NULL, AMEND },
	{ "old-secret", BD_OPT_STRING, "Select all keyslots that match this password", NULL,
	  AMEND },
	{ "new-secret", BD_OPT_STRING,
	  "New secret to set in the matching keyslots. Empty string to erase", NULL, AMEND },
	{ "iter-time", BD_OPT_NUMBER, "Time to spend in PBKDF in milliseconds", NULL, AMEND },
	{ 0 },
};

static const struct bd_create_ops create_ops = {
	.options = create_options,
	.create = luks_image_create,
	.resize = luks_image_resize,
	.measure = luks_image_measure,
	.amend_options = amend_options,
	.amend = luks_image_amend,
};

static const struct bd_write_ops write_ops = {
	.plan = luks_image_plan,
	.zero = luks_image_zero,
	.discard = luks_image_discard,
};

extern const struct bd_format bd_format_luks;
const struct bd_format bd_format_luks = {
	.name = "luks",
	.state_size = sizeof(struct luks_image),
	.probe = luks_probe_head,
	.open = luks_image_open,
	.close = luks_image_close,
	.map = luks_image_map,
	.write = &write_ops,
	.create = &create_ops,
	.info = luks_image_info,
};
