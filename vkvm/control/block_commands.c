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

/* A command on its way to the I/O thread. */
struct block_call {
	struct command *cmd;
	struct disks *disks;
	struct disk_unit *unit;      /* NULL: all */
	json_t *args;                /* of this disk */
	struct bd_error *err;
	int (*run)(struct block_call *call);
	int ret;
};

static const char *text_arg(const struct block_call *call, const char *name)
{
	return json_string_value(json_object_get(call->args, name));
}

/* On the I/O thread: nothing is in flight on that disk meanwhile. */
static void run_drained(void *arg)
{
	struct block_call *call = arg;

	if (call->unit)
		virtio_blk_drain(&call->unit->blk);
	call->ret = call->run(call);
	if (call->unit)
		virtio_blk_undrain(&call->unit->blk);
}

static int run_call(struct command *cmd, json_t *args, int (*run)(struct block_call *call))
{
	struct block_call call = { cmd, cmd->control->disks, NULL, args, cmd->err, run, 0 };
	const char *name = text_arg(&call, "device");

	if (!name)
		name = text_arg(&call, "node-name");
	if (!name)
		name = text_arg(&call, "id");
	for (unsigned i = 0; name && i < call.disks->nr; i++) {
		if (!strcmp(call.disks->units[i].disk.id, name))
			call.unit = &call.disks->units[i];
	}
	if (!call.unit)
		return bd_fail(cmd->err, -ENODEV, name ? "Cannot find device '%s'" :
						    "Parameter 'device' is missing", name);
	bd_thread_call(call.disks->thread, run_drained, &call);
	return call.ret;
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

static void query_all(void *arg)
{
	struct command *cmd = arg;
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
}

int block_query(struct command *cmd)
{
	bd_thread_call(cmd->control->disks->thread, query_all, cmd);
	return 0;
}

/* The disks' images and what is below them: DISK#1 is the backing file of DISK. */
static void query_nodes(void *arg)
{
	struct command *cmd = arg;
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
}

int block_query_nodes(struct command *cmd)
{
	bd_thread_call(cmd->control->disks->thread, query_nodes, cmd);
	return 0;
}

static json_t *stats_json(const struct disk *disk)
{
	json_t *json = bd_account_json(&disk->stats.account);

	json_object_set_new(json, "x-kicks", json_integer((json_int_t)disk->stats.kicks));
	json_object_set_new(json, "x-interrupts", json_integer((json_int_t)disk->stats.interrupts));
	json_object_set_new(json, "x-max-batch", json_integer((json_int_t)disk->stats.max_batch));
	return json;
}

static void query_all_stats(void *arg)
{
	struct command *cmd = arg;
	const struct disks *disks = cmd->control->disks;

	cmd->out = json_array();
	for (unsigned i = 0; i < disks->nr; i++) {
		const struct disk *disk = &disks->units[i].disk;

		json_array_append_new(cmd->out, json_pack(
			"{s:s, s:s, s:o, s:o}", "device", disk->id, "node-name", disk->id, "stats",
			stats_json(disk), "driver-specific", bd_stats_json(disk->node)));
	}
}

int block_query_stats(struct command *cmd)
{
	bd_thread_call(cmd->control->disks->thread, query_all_stats, cmd);
	return 0;
}

/* --- size and snapshots ------------------------------------------------------------------ */

static int do_resize(struct block_call *call)
{
	json_t *size = json_object_get(call->args, "size");
	struct disk_unit *unit = call->unit;
	int ret;

	if (!json_is_integer(size) || json_integer_value(size) < 0)
		return bd_fail(call->err, -EINVAL, "Parameter 'size' expects a >0 size");
	/* The guest would lose data it still refers to. */
	if ((uint64_t)json_integer_value(size) < bd_size(unit->disk.node))
		return bd_fail(call->err, -EINVAL, "A disk in use cannot be made smaller");
	ret = bd_resize(unit->disk.node, (uint64_t)json_integer_value(size), "off", false,
			call->err);
	if (ret == 0)
		virtio_blk_resized(&unit->blk);
	return ret;
}

int block_resize(struct command *cmd)
{
	return run_call(cmd, cmd->args, do_resize);
}

static int do_snapshot(struct block_call *call)
{
	const char *name = text_arg(call, "name");

	if (!name || !*name)
		return bd_fail(call->err, -EINVAL, "Parameter 'name' is missing");
	return bd_snapshot_create(call->unit->disk.node, name, call->err);
}

int block_snapshot(struct command *cmd)
{
	return run_call(cmd, cmd->args, do_snapshot);
}

static int do_delete_snapshot(struct block_call *call)
{
	const char *name = text_arg(call, "name");

	if (!name)
		return bd_fail(call->err, -EINVAL, "Parameter 'name' is missing");
	return bd_snapshot_delete(call->unit->disk.node, name, call->err);
}

int block_delete_snapshot(struct command *cmd)
{
	return run_call(cmd, cmd->args, do_delete_snapshot);
}

static int do_commit(struct block_call *call)
{
	struct bd_commit_args args = { .top = call->unit->disk.node };

	return bd_commit(&args, call->err);
}

int block_commit(struct command *cmd)
{
	return run_call(cmd, cmd->args, do_commit);
}

/* --- another node ------------------------------------------------------------------------ */

static int do_overlay(struct block_call *call)
{
	const char *name = text_arg(call, "snapshot-file"), *format = text_arg(call, "format");
	const char *mode = text_arg(call, "mode");

	if (!name)
		return bd_fail(call->err, -EINVAL, "Parameter 'snapshot-file' is missing");
	if (format && strcmp(format, "qcow2"))
		return bd_fail(call->err, -ENOTSUP, "The overlay's format must be qcow2");
	return disks_overlay(call->disks, call->unit, name, mode && !strcmp(mode, "existing"),
			     call->err);
}

int block_overlay(struct command *cmd)
{
	return run_call(cmd, cmd->args, do_overlay);
}

static int do_reopen(struct block_call *call)
{
	const char *key;
	json_t *value;
	struct bd_opts *opts = bd_opts_new();
	int ret = opts ? 0 : -ENOMEM;

	json_object_foreach(call->args, key, value) {
		char *text = json_is_string(value) ? strdup(json_string_value(value)) :
						     json_dumps(value, JSON_ENCODE_ANY);

		if (strcmp(key, "device") && strcmp(key, "node-name") && text)
			ret = bd_opts_set(opts, key, text);
		free(text);
	}
	if (ret == 0)
		ret = disks_reopen(call->disks, call->unit, opts, call->err);
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
		if (ret == 0)
			ret = run_call(cmd, one, do_reopen);
	}
	return ret;
}

/* --- throttling -------------------------------------------------------------------------- */

static int do_throttle(struct block_call *call)
{
	struct bd_throttle_limits limits = {0};
	const char *key;
	json_t *value;

	json_object_foreach(call->args, key, value) {
		uint64_t *field = bd_throttle_field(&limits, key);

		if (!field)
			continue;
		if (!json_is_integer(value) || json_integer_value(value) < 0)
			return bd_fail(call->err, -EINVAL, "Parameter '%s' expects a number", key);
		*field = (uint64_t)json_integer_value(value);
	}
	bd_throttle_set(call->unit->blk.throttle, &limits);
	return 0;
}

int block_set_io_throttle(struct command *cmd)
{
	return run_call(cmd, cmd->args, do_throttle);
}

/* --- latencies --------------------------------------------------------------------------- */

static int set_bounds(struct block_call *call, struct bd_histogram *histogram, const char *name)
{
	json_t *list = json_object_get(call->args, name);
	uint64_t bounds[BD_HISTOGRAM_MAX + 1];
	size_t nr = 0;

	for (; nr < json_array_size(list) && nr <= BD_HISTOGRAM_MAX; nr++) {
		json_int_t value = json_integer_value(json_array_get(list, nr));

		bounds[nr] = value > 0 ? (uint64_t)value : 0;
	}
	if (bd_histogram_set(histogram, bounds, nr) < 0)
		return bd_fail(call->err, -EINVAL, "Device '%s' set %s fail",
			       call->unit->disk.id, name);
	return 0;
}

/* Without any bounds nothing is counted any more. */
static int do_histogram(struct block_call *call)
{
	static const char *const own[BD_OP_KINDS] = {
		"boundaries-read", "boundaries-write", "boundaries-flush", "boundaries-unmap",
	};
	bool all = json_object_get(call->args, "boundaries"), any = all;
	int ret = 0;

	for (unsigned i = 0; i < BD_OP_KINDS; i++)
		any |= json_object_get(call->args, own[i]) != NULL;
	for (unsigned i = 0; i < BD_OP_KINDS && ret == 0; i++) {
		bool given = json_object_get(call->args, own[i]);

		if (given || all || !any)
			ret = set_bounds(call, &call->unit->disk.stats.account.op[i].latency,
					 given ? own[i] : "boundaries");
	}
	return ret;
}

int block_set_histogram(struct command *cmd)
{
	return run_call(cmd, cmd->args, do_histogram);
}
