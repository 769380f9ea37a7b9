/* SPDX-License-Identifier: MIT */
/* What `info` shows of an image beyond what every format has. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/format/qcow2/bitmap.h"
#include "blockdev/format/qcow2/header.h"

/* Add text that may not be UTF-8, as names on disk are. */
static void set_text(json_t *obj, const char *key, const char *text)
{
	json_t *value = json_string(text);

	if (!value) {
		char clean[1024];
		size_t i;

		for (i = 0; text[i] && i < sizeof(clean) - 1; i++)
			clean[i] = (unsigned char)text[i] < 0x80 ? text[i] : '?';
		clean[i] = '\0';
		value = json_string(clean);
	}
	json_object_set_new(obj, key, value);
}

static int add_bitmap(const struct qcow2_bitmap *bitmap, void *user)
{
	json_t *list = user, *one = json_object(), *flags = json_array();

	if (bitmap->flags & QCOW2_BITMAP_FLAG_IN_USE)
		json_array_append_new(flags, json_string("in-use"));
	if (bitmap->flags & QCOW2_BITMAP_FLAG_AUTO)
		json_array_append_new(flags, json_string("auto"));
	json_object_set_new(one, "flags", flags);
	set_text(one, "name", bitmap->name);
	json_object_set_new(one, "granularity",
			    json_integer((json_int_t)1 << bitmap->granularity_bits));
	return json_array_append_new(list, one) < 0 ? -ENOMEM : 0;
}

static int add_bitmaps(struct qcow2 *q, json_t *data, struct bd_error *err)
{
	json_t *list;
	int ret;

	if (!q->bitmaps.nr)
		return 0;
	list = json_array();
	ret = qcow2_bitmaps_each(q, add_bitmap, list, err);
	json_object_set_new(data, "bitmaps", list);
	return ret;
}

static void add_slots(const struct qcow2_disk_luks_header *luks, json_t *crypt)
{
	json_t *slots = json_array();

	for (int i = 0; i < 8; i++) {
		struct qcow2_disk_luks_slot slot;
		json_t *one = json_object();
		bool active;

		memcpy(&slot, luks->slots + (size_t)i * sizeof(slot), sizeof(slot));
		active = be32_get(slot.active) == 0x00ac71f3;
		json_object_set_new(one, "active", json_boolean(active));
		if (active)
			json_object_set_new(one, "iters", json_integer(be32_get(slot.iterations)));
		json_object_set_new(one, "key-offset",
				    json_integer((json_int_t)be32_get(slot.material_sector) * 512));
		if (active)
			json_object_set_new(one, "stripes", json_integer(be32_get(slot.stripes)));
		json_array_append_new(slots, one);
	}
	json_object_set_new(crypt, "slots", slots);
}

/* "xts-plain64" or "cbc-essiv:sha256" into mode, IV generator, and its hash (or NULL). */
static void split_mode(char *mode, const char **ivgen, const char **hash)
{
	char *dash = strchr(mode, '-'), *colon;

	*ivgen = "";
	*hash = NULL;
	if (!dash)
		return;
	*dash = '\0';
	*ivgen = dash + 1;
	colon = strchr(dash + 1, ':');
	if (!colon)
		return;
	*colon = '\0';
	*hash = colon + 1;
}

static void describe_luks(struct qcow2_disk_luks_header *luks, json_t *crypt)
{
	char cipher[48], *mode = (char *)luks->cipher_mode;
	uint32_t bits = be32_get(luks->key_bytes) * 8;
	const char *ivgen, *hash;

	split_mode(mode, &ivgen, &hash);
	/* XTS uses two keys of the named size. */
	snprintf(cipher, sizeof(cipher), "%s-%u", (const char *)luks->cipher_name,
		 strcmp(mode, "xts") ? bits : bits / 2);
	set_text(crypt, "ivgen-alg", ivgen);
	if (hash)
		set_text(crypt, "ivgen-hash-alg", hash);
	set_text(crypt, "hash-alg", (const char *)luks->hash);
	set_text(crypt, "cipher-alg", cipher);
	set_text(crypt, "uuid", (const char *)luks->uuid);
	set_text(crypt, "format", "luks");
	set_text(crypt, "cipher-mode", mode);
	add_slots(luks, crypt);
	json_object_set_new(crypt, "payload-offset",
			    json_integer((json_int_t)be32_get(luks->payload_sector) * 512));
	json_object_set_new(crypt, "master-key-iters",
			    json_integer(be32_get(luks->digest_iterations)));
}

static int add_luks(struct qcow2 *q, json_t *crypt, struct bd_error *err)
{
	struct qcow2_disk_luks_header luks;
	int ret;

	if (!q->crypto_off) {
		set_text(crypt, "format", "luks");
		return 0;
	}
	ret = qcow2_read_padded(q, q->crypto_off, &luks, sizeof(luks));
	if (ret < 0)
		return bd_fail_errno(err, ret, "Could not read encryption header");
	if (memcmp(luks.magic, "LUKS\xba\xbe", sizeof(luks.magic)))
		return bd_fail(err, -EINVAL, "Volume is not in LUKS format");
	luks.cipher_name[31] = luks.cipher_mode[31] = luks.hash[31] = luks.uuid[39] = 0;
	describe_luks(&luks, crypt);
	return 0;
}

static int add_encryption(struct qcow2 *q, json_t *data, struct bd_error *err)
{
	json_t *crypt;

	if (!q->crypt_method)
		return 0;
	crypt = json_object();
	json_object_set_new(data, "encrypt", crypt);
	if (q->crypt_method == 2)
		return add_luks(q, crypt, err);
	set_text(crypt, "format", "aes");
	return 0;
}

static int add_data(struct qcow2 *q, json_t *data, struct bd_error *err)
{
	bool v3 = q->version >= 3;
	int ret;

	json_object_set_new(data, "compat", json_string(v3 ? "1.1" : "0.10"));
	json_object_set_new(data, "compression-type",
			    json_string(q->compression_type ? "zstd" : "zlib"));
	if (v3)
		json_object_set_new(data, "lazy-refcounts",
				    json_boolean(q->compatible & QCOW2_COMPAT_LAZY_REFCOUNTS));
	ret = v3 ? add_bitmaps(q, data, err) : 0;
	if (ret < 0)
		return ret;
	json_object_set_new(data, "refcount-bits", json_integer(1 << q->refcount_order));
	if (v3 && q->incompatible & QCOW2_INCOMPAT_DATA_FILE) {
		if (q->data_file_name)
			set_text(data, "data-file", q->data_file_name);
		json_object_set_new(data, "data-file-raw",
				    json_boolean(q->autoclear & QCOW2_AUTOCLEAR_RAW_DATA));
	}
	ret = add_encryption(q, data, err);
	if (!v3)
		return ret;
	json_object_set_new(data, "corrupt",
			    json_boolean(q->incompatible & QCOW2_INCOMPAT_CORRUPT));
	json_object_set_new(data, "extended-l2", json_boolean(q->extended_l2));
	return ret;
}

static int add_snapshots(const struct qcow2 *q, struct bd_info *info)
{
	if (!q->snapshots)
		return 0;
	info->snapshots = calloc(q->nb_snapshots, sizeof(*info->snapshots));
	if (!info->snapshots)
		return -ENOMEM;
	for (uint32_t i = 0; i < q->nb_snapshots; i++) {
		const struct qcow2_snapshot *sn = &q->snapshots[i];
		struct bd_snapshot_info *to = &info->snapshots[info->nr_snapshots++];

		*to = (struct bd_snapshot_info){
			.id = strdup(sn->id),
			.name = strdup(sn->name),
			.vm_state_size = sn->vm_state_size,
			.disk_size = sn->disk_size,
			.date_sec = sn->date_sec,
			.date_nsec = sn->date_nsec,
			.vm_clock_ns = sn->vm_clock_ns,
			.icount = sn->icount,
		};
		if (!to->id || !to->name)
			return -ENOMEM;
	}
	return 0;
}

int qcow2_info(struct bd_node *node, struct bd_info *info, struct bd_error *err)
{
	struct qcow2 *q = qcow2_of(node);
	json_t *data = json_object();
	int ret;

	info->vm_state_off = qcow2_l1_needed(q, node->size) << (q->cluster_bits + q->l2_bits);
	info->dirty = q->incompatible & QCOW2_INCOMPAT_DIRTY;
	info->specific = json_object();
	json_object_set_new(info->specific, "type", json_string("qcow2"));
	json_object_set_new(info->specific, "data", data);
	if (!data || add_snapshots(q, info) < 0)
		return bd_fail(err, -ENOMEM, "Out of memory");
	ret = add_data(q, data, err);
	if (ret < 0)
		bd_prefix(err, "Could not open '%s': ", node->filename);
	return ret;
}
