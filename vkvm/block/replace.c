/* SPDX-License-Identifier: MIT */
/* Another image under a running disk: live overlays, reopening with other options. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blockdev/include/create.h"
#include "vkvm/block/disks.h"
#include "vkvm/report.h"

static int open_drive(const struct disks *disks, const struct drive *drive, struct bd_node **node,
		      struct bd_error *err)
{
	struct bd_open_args args = {
		.filename = drive->filename, .format = drive->format, .opts = drive->opts,
		.flags = drive->flags,
	};

	return bd_open(bd_thread_queue(disks->thread), &args, node, err);
}

/* Close the image and open what @next says.  The locks allow no other order. */
static int replace(struct disks *disks, struct disk_unit *unit, const struct drive *next,
		   struct bd_error *err)
{
	struct disk *disk = &unit->disk;
	struct bd_error lost = {0};
	int ret = bd_close(disk->node);

	disk->node = NULL;
	if (ret < 0)
		bd_fail_errno(err, ret, "The image could not be closed");
	else
		ret = open_drive(disks, next, &disk->node, err);
	if (disk->node || open_drive(disks, unit->drive, &disk->node, &lost) == 0)
		return ret;
	report_error("%s: the image is lost: %s", disk->id, lost.msg);
	unit->open = false;
	virtio_blk_drain(&unit->blk); /* for good: there is nothing to give to */
	machine_raise(disks->machine, EVENT_PANIC);
	return ret;
}

/* What the drive is from now on; takes the strings and options of @next. */
static void become(struct drive *drive, const struct drive *next)
{
	if (drive->filename != next->filename)
		free(drive->filename);
	if (drive->format != next->format)
		free(drive->format);
	bd_opts_free(drive->opts);
	*drive = *next;
}

int disks_overlay(struct disks *disks, struct disk_unit *unit, const char *name, bool existing,
		  struct bd_error *err)
{
	const struct bd_node *node = unit->disk.node;
	/* We have locked the present image ourselves. */
	struct bd_overlay base = { bd_filename(node), bd_format_name(node), true, bd_size(node) };
	struct drive next = *unit->drive;
	int ret = 0;

	if (unit->drive->snapshot)
		return bd_fail(err, -ENOTSUP, "the disk is a temporary overlay itself");
	if (!existing)
		ret = bd_overlay_create(bd_thread_queue(disks->thread), name, &base, err);
	if (ret < 0)
		return ret;
	next.filename = strdup(name);
	next.format = strdup("qcow2");
	next.opts = bd_opts_new();
	ret = replace(disks, unit, &next, err);
	if (ret == 0) {
		become(unit->drive, &next);
		return 0;
	}
	if (!existing)
		unlink(name);
	free(next.filename);
	free(next.format);
	bd_opts_free(next.opts);
	return ret;
}

int disks_reopen(struct disks *disks, struct disk_unit *unit, const struct bd_opts *opts,
		 struct bd_error *err)
{
	struct drive next = *unit->drive;
	int ret = 0;

	if (unit->drive->snapshot)
		return bd_fail(err, -ENOTSUP, "the disk is a temporary overlay");
	next.opts = bd_opts_copy(unit->drive->opts);
	for (size_t i = 0; next.opts && i < bd_opts_count(opts) && ret == 0; i++)
		ret = bd_opts_set(next.opts, bd_opts_key(opts, i), bd_opts_value(opts, i));
	if (ret == 0)
		ret = replace(disks, unit, &next, err);
	if (ret == 0)
		become(unit->drive, &next);
	else
		bd_opts_free(next.opts);
	return ret;
}
