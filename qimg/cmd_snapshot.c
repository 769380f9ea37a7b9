/* SPDX-License-Identifier: MIT */
/* qimg snapshot: list, create, apply and delete states kept inside an image. */
#include "blockdev/include/snapshot.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "blockdev/include/info.h"
#include "qimg/command.h"
#include "qimg/image.h"
#include "qimg/info_print.h"
#include "qimg/report.h"

struct snapshot_values {
	struct image_values image;
	const char *create, *apply, *remove, *output;
	bool list, quiet;
	unsigned nr_actions;
};

static const struct opt snapshot_opts[] = {
	OPT_COMMON_OBJECT,
	OPT_COMMON_IMAGE_OPTS(struct snapshot_values),
	OPT_COMMON_FORMAT(struct snapshot_values),
	OPT_COMMON_SHARE(struct snapshot_values),
	OPT_COMMON_QUIET(struct snapshot_values),
	{ NULL, "output", NULL, OPT_TEXT, offsetof(struct snapshot_values, output), "OFMT",
	  "human or json, for the list" },
	{ "l", "list", NULL, OPT_FLAG, offsetof(struct snapshot_values, list), NULL,
	  "list all snapshots" },
	{ "a", "apply", NULL, OPT_TEXT, offsetof(struct snapshot_values, apply), "SNAPSHOT",
	  "go back to the snapshot with this ID or name" },
	{ "c", "create", NULL, OPT_TEXT, offsetof(struct snapshot_values, create), "NAME",
	  "keep the current state under this name" },
	{ "d", "delete", NULL, OPT_TEXT, offsetof(struct snapshot_values, remove), "NAME",
	  "drop the first snapshot of this name" },
	{ 0 },
};

static int count_actions(const char *name, const char *arg, void *values)
{
	struct snapshot_values *own = values;

	(void)arg;
	own->nr_actions += !strcmp(name, "list") || !strcmp(name, "apply") ||
			   !strcmp(name, "create") || !strcmp(name, "delete");
	return own->nr_actions > 1 ? report_usage("Cannot mix '-l', '-a', '-c', '-d'") : 0;
}

static void print_json(struct bd_node *node, const struct bd_info *info)
{
	json_t *all = bd_info_json(node, info);
	json_t *snapshots = all ? json_object_get(all, "snapshots") : NULL;

	json_print(snapshots ? json_incref(snapshots) : json_array());
	json_decref(all);
}

static int list(struct bd_node *node, bool json)
{
	struct bd_error err = { 0 };
	struct bd_info info;

	if (bd_info_get(node, &info, &err) < 0) {
		report_failure(&err, "%s", "");
		return 1;
	}
	if (json)
		print_json(node, &info);
	else if (info.nr_snapshots)
		info_print_snapshots(stdout, info.snapshots, info.nr_snapshots);
	bd_info_clear(&info);
	return 0;
}

static int create(struct bd_node *node, const char *text)
{
	struct bd_error err = { 0 };
	char name[256];
	int ret;

	/* Longer names are cut, as QEMU does. */
	snprintf(name, sizeof(name), "%s", text);
	ret = bd_snapshot_create(node, name, &err);
	if (ret < 0)
		report_error("Could not create snapshot '%s': %d (%s)", text, ret, strerror(-ret));
	return ret < 0;
}

static int act(struct bd_node *node, const struct snapshot_values *values, bool json)
{
	struct bd_error err = { 0 };
	int status = 0;

	if (values->list)
		return list(node, json);
	if (values->create)
		return create(node, values->create);
	if (values->apply && bd_snapshot_apply(node, values->apply, &err) < 0) {
		report_failure(&err, "Could not apply snapshot '%s': ", values->apply);
		status = 1;
	}
	if (values->remove && bd_snapshot_delete(node, values->remove, &err) < 0) {
		report_failure(&err, "Could not delete snapshot '%s': ", values->remove);
		status = 1;
	}
	return status;
}

static int open_and_act(const char *name, const struct snapshot_values *values, bool json)
{
	unsigned flags = values->list ? BD_O_NO_BACKING | BD_O_NO_DATA :
					BD_O_RDWR | BD_O_UNMAP;
	struct bd_queue *queue = image_queue(64);
	struct bd_node *node;
	int status = 1;

	if (!queue)
		return 1;
	node = image_open(queue, name, &values->image, flags, "cache");
	if (node) {
		status = act(node, values, json);
		if (image_close(node))
			status = 1;
	}
	bd_queue_free(queue);
	return status;
}

static int run(struct invocation *inv)
{
	const struct snapshot_values *values = inv->values;
	bool json;

	if (inv->nr_operands != 1)
		return report_usage("Expecting one image file name");
	if (opts_output(values->output, &json) || image_conflict(&values->image))
		return 1;
	return open_and_act(inv->operands[0], values, json);
}

const struct command cmd_snapshot = {
	.name = "snapshot",
	.operands = "FILE",
	.summary = "List, create, apply or delete internal snapshots",
	.opts = snapshot_opts,
	.values_size = sizeof(struct snapshot_values),
	.look = count_actions,
	.run = run,
};
