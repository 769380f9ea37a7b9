/* SPDX-License-Identifier: MIT */
/* Disks of the command line: keys and defaults. */
#include "vkvm/block/drive.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_QUEUE_SIZE = 256, MAX_QUEUES = 16 };

/* --- values ------------------------------------------------------------------------------ */

static int take_number(struct bd_opts *opts, const char *key, uint64_t max, uint64_t *value,
		       struct bd_error *err)
{
	int ret = bd_opts_take_number(opts, key, value, NULL, err);

	if (ret == 0 && *value > max && *value != UINT64_MAX)
		return bd_fail(err, -ERANGE, "Parameter '%s' is larger than %llu", key,
			       (unsigned long long)max);
	return ret;
}

static int take_policy(struct bd_opts *opts, const char *key, bool for_read,
		       enum bd_policy *policy, struct bd_error *err)
{
	char *text = bd_opts_take(opts, key);
	int ret = text ? bd_policy_parse(text, for_read, policy, err) : 0;

	free(text);
	return ret;
}

static int take_cache(struct bd_opts *opts, struct drive *drive, struct bd_error *err)
{
	char *mode = bd_opts_take(opts, "cache");
	unsigned flags = drive->flags;
	int ret = mode ? bd_cache_mode(mode, &flags) : 0;

	free(mode);
	if (ret < 0)
		return bd_fail(err, ret, "invalid cache option");
	/* The guest decides later, so the image itself is always opened write-back. */
	drive->write_back = !(flags & BD_O_WRITETHROUGH);
	drive->flags = flags & ~(unsigned)BD_O_WRITETHROUGH;
	return bd_opts_take_bool(opts, "cache.writeback", &drive->write_back, err);
}

static int take_aio(struct drives *drives, struct bd_opts *opts, struct bd_error *err)
{
	char *aio = bd_opts_take(opts, "aio");
	int ret = 0;

	if (aio && strcmp(aio, "threads") && strcmp(aio, "native") && strcmp(aio, "io_uring") &&
	    strcmp(aio, "sync") && strcmp(aio, "mmap"))
		ret = bd_fail(err, -EINVAL, "invalid aio option");
	else if (aio)
		snprintf(drives->engine, sizeof(drives->engine), "%s", aio);
	free(aio);
	return ret;
}

/* Keys whose only sensible value changes nothing here. */
static int take_bus(struct bd_opts *opts, struct drive *drive, struct bd_error *err)
{
	char *bus = bd_opts_take(opts, "if"), *media = bd_opts_take(opts, "media");
	int ret = 0;

	if (media && strcmp(media, "disk"))
		ret = bd_fail(err, -ENOTSUP, "media=%s is not supported, only disks are", media);
	else if (bus && !strcmp(bus, "none"))
		drive->wants_device = true;
	else if (bus && strcmp(bus, "virtio") && strcmp(bus, "ide"))
		ret = bd_fail(err, -EINVAL, "unsupported bus type '%s'", bus);
	free(bus);
	free(media);
	return ret;
}

/* --- drives ------------------------------------------------------------------------------ */

static struct drive *new_drive(struct drives *drives, struct bd_error *err)
{
	struct drive *drive = &drives->list[drives->nr];

	if (drives->nr == DRIVES_MAX) {
		bd_fail(err, -ENOSPC, "too many disks");
		return NULL;
	}
	*drive = (struct drive){
		.flags = BD_O_RDWR, .write_back = true, .write_error = BD_POLICY_ENOSPC,
		.queue_size = DEFAULT_QUEUE_SIZE, .block_size = 512,
		.boot_index = -1, .index = -1, .opts = bd_opts_new(),
	};
	if (!drive->opts) {
		bd_fail(err, -ENOMEM, "Out of memory");
		return NULL;
	}
	drives->nr++;
	return drive;
}

int drives_add_file(struct drives *drives, const char *name, int index, struct bd_error *err)
{
	struct drive *drive = new_drive(drives, err);

	if (!drive)
		return -ENOSPC;
	drive->filename = strdup(name);
	drive->index = index;
	return drive->filename ? 0 : -ENOMEM;
}

/* throttling.bps-total=... */
static int take_limits(struct bd_opts *opts, struct drive *drive, struct bd_error *err)
{
	struct bd_opts *keys = bd_opts_new();
	int ret = keys ? 0 : -ENOMEM;

	if (keys)
		bd_opts_take_prefix(opts, "throttling.", keys);
	for (size_t i = 0; ret == 0 && i < bd_opts_count(keys); i++) {
		uint64_t *field = bd_throttle_field(&drive->limits, bd_opts_key(keys, i));

		if (!field || bd_parse_size(bd_opts_value(keys, i), field) < 0)
			ret = bd_fail(err, -EINVAL, "Invalid parameter 'throttling.%s'",
				      bd_opts_key(keys, i));
	}
	bd_opts_free(keys);
	return ret;
}

static int take_drive(struct drives *drives, struct drive *drive, struct bd_error *err)
{
	struct bd_opts *opts = drive->opts;
	bool read_only = false;
	uint64_t index = UINT64_MAX;
	int ret;

	drive->filename = bd_opts_take(opts, "file");
	drive->format = bd_opts_take(opts, "format");
	drive->id = bd_opts_take(opts, "id");
	drive->serial = bd_opts_take(opts, "serial");
	if ((ret = bd_opts_take_bool(opts, "readonly", &read_only, err)) < 0 ||
	    (ret = bd_opts_take_bool(opts, "read-only", &read_only, err)) < 0 ||
	    (ret = bd_opts_take_bool(opts, "snapshot", &drive->snapshot, err)) < 0 ||
	    (ret = take_cache(opts, drive, err)) < 0 ||
	    (ret = take_aio(drives, opts, err)) < 0 ||
	    (ret = take_bus(opts, drive, err)) < 0 ||
	    (ret = take_limits(opts, drive, err)) < 0 ||
	    (ret = take_number(opts, "index", DRIVES_MAX - 1, &index, err)) < 0 ||
	    (ret = take_policy(opts, "rerror", true, &drive->read_error, err)) < 0 ||
	    (ret = take_policy(opts, "werror", false, &drive->write_error, err)) < 0)
		return ret;
	if (index != UINT64_MAX)
		drive->index = (int)index;
	if (read_only)
		drive->flags &= ~(unsigned)BD_O_RDWR;
	if (!drive->filename && !bd_opts_get(opts, "driver") && !bd_opts_count(opts))
		return bd_fail(err, -EINVAL, "a drive needs a file");
	return 0;
}

int drives_add(struct drives *drives, const char *text, struct bd_error *err)
{
	struct drive *drive = new_drive(drives, err);
	int ret = drive ? bd_opts_parse(drive->opts, text, NULL, err) : -ENOSPC;

	return ret < 0 ? ret : take_drive(drives, drive, err);
}

static struct drive *find(struct drives *drives, const char *id)
{
	for (unsigned i = 0; i < drives->nr; i++) {
		if (drives->list[i].id && !strcmp(drives->list[i].id, id))
			return &drives->list[i];
	}
	return NULL;
}

/* "file=NAME", where NAME is an earlier -blockdev: its options become the child's. */
static int resolve_child(struct drives *drives, struct bd_opts *opts, const char *child,
			 struct bd_error *err)
{
	char *name = bd_opts_take(opts, child);
	struct drive *node = name ? find(drives, name) : NULL;
	char key[256];

	if (name && (!node || !node->is_node)) {
		bd_fail(err, -ENOENT, "Cannot find device='' nor node-name='%s'", name);
		free(name);
		return -ENOENT;
	}
	free(name);
	for (size_t i = 0; node && i < bd_opts_count(node->opts); i++) {
		snprintf(key, sizeof(key), "%s.%s", child, bd_opts_key(node->opts, i));
		if (bd_opts_set(opts, key, bd_opts_value(node->opts, i)) < 0)
			return -ENOMEM;
	}
	return 0;
}

int drives_add_node(struct drives *drives, const char *text, struct bd_error *err)
{
	struct drive *node = new_drive(drives, err);
	int ret = -ENOSPC;
	bool read_only = false;

	if (!node)
		return ret;
	ret = text[0] == '{' ? bd_opts_parse_json(node->opts, text, err) :
			       bd_opts_parse(node->opts, text, "driver", err);
	if (ret < 0)
		return ret;
	node->is_node = true;
	node->id = bd_opts_take(node->opts, "node-name");
	if (!node->id)
		return bd_fail(err, -EINVAL, "'node-name' must be specified for the root node");
	ret = take_aio(drives, node->opts, err);
	if (ret == 0)
		ret = bd_opts_take_bool(node->opts, "read-only", &read_only, err);
	if (read_only)
		node->flags &= ~(unsigned)BD_O_RDWR;
	if (ret == 0)
		ret = resolve_child(drives, node->opts, "file", err);
	return ret < 0 ? ret : resolve_child(drives, node->opts, "backing", err);
}

/* --- devices ----------------------------------------------------------------------------- */

static int take_device(struct drive *drive, struct bd_opts *opts, struct bd_error *err)
{
	uint64_t queues = UINT64_MAX, size = drive->queue_size;
	uint64_t boot = UINT64_MAX, block = drive->block_size, physical = 0;
	char *serial = bd_opts_take(opts, "serial");
	int ret;

	if (serial) {
		free(drive->serial);
		drive->serial = serial;
	}
	/* There is one thread for all disks, whatever it is called. */
	free(bd_opts_take(opts, "iothread"));
	free(bd_opts_take(opts, "id"));
	if ((ret = take_number(opts, "num-queues", MAX_QUEUES, &queues, err)) < 0 ||
	    (ret = take_number(opts, "queue-size", 1024, &size, err)) < 0 ||
	    (ret = take_number(opts, "bootindex", 255, &boot, err)) < 0 ||
	    (ret = take_number(opts, "logical_block_size", 4096, &block, err)) < 0 ||
	    (ret = take_number(opts, "physical_block_size", 1 << 20, &physical, err)) < 0 ||
	    (ret = bd_opts_take_bool(opts, "write-cache", &drive->write_back, err)) < 0 ||
	    (ret = take_policy(opts, "rerror", true, &drive->read_error, err)) < 0 ||
	    (ret = take_policy(opts, "werror", false, &drive->write_error, err)) < 0)
		return ret;
	if (!queues || size < 4 || (size & (size - 1)))
		return bd_fail(err, -EINVAL, "queue-size must be a power of two, num-queues > 0");
	if (block < 512 || (block & (block - 1)))
		return bd_fail(err, -EINVAL, "logical_block_size must be a power of 2 between "
					     "512 and 4096");
	if (queues != UINT64_MAX)
		drive->nr_queues = (unsigned)queues;
	drive->queue_size = (unsigned)size;
	drive->block_size = (uint32_t)block;
	if (boot != UINT64_MAX)
		drive->boot_index = (int)boot;
	if (bd_opts_count(opts))
		return bd_fail(err, -EINVAL, "Property 'virtio-blk-pci.%s' not found",
			       bd_opts_key(opts, 0));
	return 0;
}

int drives_add_device(struct drives *drives, const char *keys, bool mmio, struct bd_error *err)
{
	struct bd_opts *opts = bd_opts_new();
	struct drive *drive = NULL;
	char *name = NULL;
	int ret = opts ? bd_opts_parse(opts, keys, NULL, err) : -ENOMEM;

	if (ret == 0)
		name = bd_opts_take(opts, "drive");
	if (ret == 0 && !name)
		ret = bd_fail(err, -EINVAL, "drive property not set");
	if (name && !(drive = find(drives, name)))
		ret = bd_fail(err, -ENOENT, "Property 'virtio-blk-device.drive' can't find value "
					    "'%s'", name);
	else if (drive && drive->has_device)
		ret = bd_fail(err, -EBUSY, "Drive '%s' is already in use by another block device",
			      name);
	if (ret == 0) {
		drive->has_device = true;
		drive->mmio = mmio;
		ret = take_device(drive, opts, err);
	}
	free(name);
	bd_opts_free(opts);
	return ret;
}

/* --- order ------------------------------------------------------------------------------- */

/* Those that are no disk go; the rest is ordered by index, then as given. */
static void keep_disks(struct drives *drives)
{
	unsigned nr = 0;

	for (unsigned i = 0; i < drives->nr; i++) {
		struct drive *drive = &drives->list[i], kept = *drive;

		if (!drive->has_device && (drive->is_node || drive->wants_device)) {
			free(drive->id);
			free(drive->filename);
			free(drive->format);
			free(drive->serial);
			bd_opts_free(drive->opts);
			continue;
		}
		*drive = (struct drive){0};
		drives->list[nr++] = kept;
	}
	drives->nr = nr;
}

static int by_index(const void *a, const void *b)
{
	const struct drive *x = a, *y = b;

	return x->index - y->index;
}

/* Like: QEMU's rule for identifiers. */
static bool well_formed(const char *id)
{
	size_t len = strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			        "0123456789-._");

	return !id[len] && len < 64 && strcspn(id, "0123456789-._");
}

int drives_finish(struct drives *drives, bool snapshot, unsigned nr_cpus, struct bd_error *err)
{
	char id[24];

	keep_disks(drives);
	for (unsigned i = 0; i < drives->nr; i++) {
		struct drive *drive = &drives->list[i];

		for (unsigned j = 0; j < i; j++) {
			if (drive->index >= 0 && drives->list[j].index == drive->index)
				return bd_fail(err, -EEXIST, "drive with bus=0, unit=%d (index=%d) "
							     "exists", drive->index, drive->index);
		}
		if (drive->index < 0)
			drive->index = DRIVES_MAX + (int)i;
		drive->snapshot |= snapshot;
		/* Each processor then has its own, with its own interrupt. */
		if (!drive->nr_queues)
			drive->nr_queues = nr_cpus < MAX_QUEUES ? nr_cpus : MAX_QUEUES;
	}
	qsort(drives->list, drives->nr, sizeof(drives->list[0]), by_index);
	for (unsigned i = 0; i < drives->nr; i++) {
		snprintf(id, sizeof(id), "virtio%u", i);
		if (drives->list[i].id && !well_formed(drives->list[i].id))
			return bd_fail(err, -EINVAL, "Parameter 'id' expects an identifier");
		if (!drives->list[i].id && !(drives->list[i].id = strdup(id)))
			return bd_fail(err, -ENOMEM, "Out of memory");
	}
	return 0;
}

void drives_clear(struct drives *drives)
{
	for (unsigned i = 0; i < drives->nr; i++) {
		drives->list[i].wants_device = true;
		drives->list[i].has_device = false;
	}
	keep_disks(drives);
}
