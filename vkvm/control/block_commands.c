/* SPDX-License-Identifier: MIT */
/* Commands on disks while the guest runs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/include/chain.h"
#include "blockdev/include/create.h"
#include "blockdev/include/info.h"
#include "blockdev/include/snapshot.h"
#include "vkvm/control/control.h"

/* On the I/O thread; with a disk nothing is in flight on that meanwhile. */
static void run_there(void *arg)
{
	struct command *cmd = arg;

	if (cmd->unit)
		virtio_blk_drain(&cmd->unit->blk);
	cmd->ret = cmd->run(cmd);
	if (cmd->unit)
		virtio_blk_undrain(&cmd->unit->blk);
}

const char *command_text(const struct command *cmd, const char *name)
{
	return json_string_value(json_object_get(cmd->args, name));
}

int command_on_thread(struct command *cmd, int (*run)(struct command *cmd))
{
	cmd->run = run;
	bd_thread_call(cmd->control->disks->thread, run_there, cmd);
	return cmd->ret;
}

int command_on_disk(struct command *cmd, int (*run)(struct command *cmd))
{
	static const char *const keys[] = { "device", "node-name", "id" };
	struct disks *disks = cmd->control->disks;
	const char *name = NULL;

	for (unsigned i = 0; i < 3 && !name; i++)
		name = command_text(cmd, keys[i]);
	cmd->unit = NULL;
	for (unsigned i = 0; name && i < disks->nr; i++) {
		if (!strcmp(disks->units[i].disk.id, name))
			cmd->unit = &disks->units[i];
	}
	if (!cmd->unit)
		return bd_fail(cmd->err, -ENODEV, name ? "Cannot find device '%s'" :
						    "Parameter 'device' is missing", name);
	return command_on_thread(cmd, run);
}

/* --- queries ----------------------------------------------------------------------------- */

/* As "qimg info --output=json" says it; {} if the image cannot tell. */
static json_t *image_json(struct bd_node *node)
{
	struct bd_info info = {0};
	struct bd_error err = {0};
	json_t *image = bd_info_get(node, &info, &err) < 0 ? NULL : bd_info_json(node, &info);

	bd_info_clear(&info);
	return image ? image : json_object();
}

static json_t *node_json(struct bd_node *node, const char *name, bool read_only)
{
	return json_pack("{s:o, s:b, s:s, s:s, s:o}", "file", bd_json_text(bd_filename(node)), "ro",
			 read_only, "drv", bd_format_name(node), "node-name", name, "image",
			 image_json(node));
}

int block_query(struct command *cmd)
{
	const struct disks *disks = cmd->control->disks;

	cmd->out = json_array();
	for (unsigned i = 0; i < disks->nr; i++) {
		const struct disk *disk = &disks->units[i].disk;

		bool failed = disks->units[i].blk.parked.first;
		json_t *inserted = node_json(disk->node, disk->id, disk->read_only);

		json_array_append_new(cmd->out,
				      json_pack("{s:s, s:b, s:b, s:s, s:s, s:o}", "device",
						disk->id, "locked", 0, "removable", 0, "type",
						"unknown", "io-status", failed ? "failed" : "ok",
						"inserted", inserted));
	}
	return 0;
}

/* The disks' images and what is below them: DISK#1 is the backing file of DISK. */
int block_query_nodes(struct command *cmd)
{
	const struct disks *disks = cmd->control->disks;

	cmd->out = json_array();
	for (unsigned i = 0; i < disks->nr; i++) {
		const struct disk *disk = &disks->units[i].disk;
		struct bd_node *node = disk->node;
		char name[80];

		snprintf(name, sizeof(name), "%s", disk->id);
		for (unsigned depth = 1; node; node = bd_backing(node), depth++) {
			json_array_append_new(cmd->out, node_json(node, name, depth > 1 ||
								  disk->read_only));
			snprintf(name, sizeof(name), "%.60s#%u", disk->id, depth);
		}
	}
	return 0;
}

static json_t *stats_json(const struct disk *disk)
{
	json_t *json = bd_account_json(&disk->stats.account);

	json_object_set_new(json, "x-kicks", json_integer((json_int_t)disk->stats.kicks));
	json_object_set_new(json, "x-polls", json_integer((json_int_t)disk->stats.polls));
	json_object_set_new(json, "x-interrupts", json_integer((json_int_t)disk->stats.interrupts));
	json_object_set_new(json, "x-max-batch", json_integer((json_int_t)disk->stats.max_batch));
	return json;
}

int block_query_stats(struct command *cmd)
{
	const struct disks *disks = cmd->control->disks;

	cmd->out = json_array();
	for (unsigned i = 0; i < disks->nr; i++) {
		const struct disk *disk = &disks->units[i].disk;

		json_array_append_new(cmd->out, json_pack(
			"{s:s, s:s, s:o, s:o}", "device", disk->id, "node-name", disk->id, "stats",
			stats_json(disk), "driver-specific", bd_stats_json(disk->node)));
	}
	return 0;
}

/* --- size and snapshots ------------------------------------------------------------------ */

int block_resize(struct command *cmd)
{
	json_t *size = json_object_get(cmd->args, "size");
	struct disk_unit *unit = cmd->unit;
	int ret;

	if (!json_is_integer(size) || json_integer_value(size) < 0)
		return bd_fail(cmd->err, -EINVAL, "Parameter 'size' expects a >0 size");
	/* The guest would lose data it still refers to. */
	if ((uint64_t)json_integer_value(size) < bd_size(unit->disk.node))
		return bd_fail(cmd->err, -EINVAL, "A disk in use cannot be made smaller");
	ret = bd_resize(unit->disk.node, (uint64_t)json_integer_value(size), "off", false,
			cmd->err);
	if (ret == 0)
		virtio_blk_resized(&unit->blk);
	return ret;
}

int block_snapshot(struct command *cmd)
{
	const char *name = command_text(cmd, "name");

	if (!name || !*name)
		return bd_fail(cmd->err, -EINVAL, "Parameter 'name' is missing");
	return bd_snapshot_create(cmd->unit->disk.node, name, cmd->err);
}

int block_delete_snapshot(struct command *cmd)
{
	const char *name = command_text(cmd, "name");

	if (!name)
		return bd_fail(cmd->err, -EINVAL, "Parameter 'name' is missing");
	return bd_snapshot_delete(cmd->unit->disk.node, name, cmd->err);
}

int block_commit(struct command *cmd)
{
	struct bd_commit_args args = { .top = cmd->unit->disk.node };

	return bd_commit(&args, cmd->err);
}

/* --- another node ------------------------------------------------------------------------ */

int block_overlay(struct command *cmd)
{
	const char *name = command_text(cmd, "snapshot-file"), *mode = command_text(cmd, "mode");
	const char *format = command_text(cmd, "format");
	bool existing = mode && !strcmp(mode, "existing");

	if (!name)
		return bd_fail(cmd->err, -EINVAL, "Parameter 'snapshot-file' is missing");
	if (format && strcmp(format, "qcow2"))
		return bd_fail(cmd->err, -ENOTSUP, "The overlay's format must be qcow2");
	return disks_overlay(cmd->control->disks, cmd->unit, name, existing, cmd->err);
}

static int do_reopen(struct command *cmd)
{
	const char *key;
	json_t *value;
	struct bd_opts *opts = bd_opts_new();
	int ret = opts ? 0 : -ENOMEM;

	json_object_foreach(cmd->args, key, value) {
		char *text = json_is_string(value) ? strdup(json_string_value(value)) :
						     json_dumps(value, JSON_ENCODE_ANY);

		if (strcmp(key, "device") && strcmp(key, "node-name") && text)
			ret = bd_opts_set(opts, key, text);
		free(text);
	}
	if (ret == 0)
		ret = disks_reopen(cmd->control->disks, cmd->unit, opts, cmd->err);
	bd_opts_free(opts);
	return ret;
}

/* {"options": [{"node-name":..., "l2-cache-size":...}]}, as QEMU has it. */
int block_reopen(struct command *cmd)
{
	json_t *list = json_object_get(cmd->args, "options"), *one;
	size_t i;
	int ret = json_is_array(list) ? 0 : bd_fail(cmd->err, -EINVAL,
						    "Parameter 'options' is missing");

	json_array_foreach(list, i, one) {
		cmd->args = one;
		if (ret == 0)
			ret = command_on_disk(cmd, do_reopen);
	}
	return ret;
}

/* --- throttling -------------------------------------------------------------------------- */

int block_set_io_throttle(struct command *cmd)
{
	struct bd_throttle_limits limits = {0};
	const char *key;
	json_t *value;

	json_object_foreach(cmd->args, key, value) {
		uint64_t *field = bd_throttle_field(&limits, key);

		if (!field)
			continue;
		if (!json_is_integer(value) || json_integer_value(value) < 0)
			return bd_fail(cmd->err, -EINVAL, "Parameter '%s' expects a number", key);
		*field = (uint64_t)json_integer_value(value);
	}
	bd_throttle_set(cmd->unit->blk.throttle, &limits);
	return 0;
}

/* --- latencies --------------------------------------------------------------------------- */

static int set_bounds(struct command *cmd, struct bd_histogram *histogram, const char *name)
{
	json_t *list = json_object_get(cmd->args, name);
	uint64_t bounds[BD_HISTOGRAM_MAX + 1];
	size_t nr = 0;

	for (; nr < json_array_size(list) && nr <= BD_HISTOGRAM_MAX; nr++) {
		json_int_t value = json_integer_value(json_array_get(list, nr));

		bounds[nr] = value > 0 ? (uint64_t)value : 0;
	}
	if (bd_histogram_set(histogram, bounds, nr) < 0)
		return bd_fail(cmd->err, -EINVAL, "Device '%s' set %s fail",
			       cmd->unit->disk.id, name);
	return 0;
}

/* Without any bounds nothing is counted any more. */
int block_set_histogram(struct command *cmd)
{
	static const char *const own[BD_OP_KINDS] = {
		"boundaries-read", "boundaries-write", "boundaries-flush", "boundaries-unmap",
	};
	bool all = json_object_get(cmd->args, "boundaries"), any = all;
	int ret = 0;

	for (unsigned i = 0; i < BD_OP_KINDS; i++)
		any |= json_object_get(cmd->args, own[i]) != NULL;
	for (unsigned i = 0; i < BD_OP_KINDS && ret == 0; i++) {
		bool given = json_object_get(cmd->args, own[i]);

		if (given || all || !any)
			ret = set_bounds(cmd, &cmd->unit->disk.stats.account.op[i].latency,
					 given ? own[i] : "boundaries");
	}
	return ret;
}
