/* SPDX-License-Identifier: MIT */
/* Opening, pausing and closing the disks. */
#include "vkvm/block/disks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/include/create.h"
#include "blockdev/include/info.h"
#include "vkvm/report.h"

enum { MAX_EVENTS = 64 }; /* not sent yet */

/* --- opening ----------------------------------------------------------------------------- */

static int open_image(struct bd_queue *queue, const struct drive *drive, struct bd_node **node,
		      struct bd_error *err)
{
	struct bd_open_args args = {
		.filename = drive->filename, .format = drive->format, .opts = drive->opts,
		.flags = drive->flags,
	};
	int ret = drive->snapshot ? bd_overlay_open(queue, &args, node, err) :
				    bd_open(queue, &args, node, err);

	/* What could not be found has its name in the message. */
	if (ret < 0 && drive->filename && strncmp(err->msg, "Could not open '", 16))
		bd_prefix(err, "Could not open '%s': ", drive->filename);
	return ret;
}

/* Have the control thread send an event; takes @data.  A flood of them is cut. */
static void tell(struct disks *disks, const char *name, json_t *data, enum machine_event wake)
{
	json_t *event = json_pack("[s, o]", name, data);

	pthread_mutex_lock(&disks->lock);
	if (!disks->events)
		disks->events = json_array();
	if (json_array_size(disks->events) < MAX_EVENTS)
		json_array_append(disks->events, event);
	pthread_mutex_unlock(&disks->lock);
	json_decref(event);
	machine_raise(disks->machine, wake);
}

json_t *disks_take_events(struct disks *disks)
{
	json_t *events;

	pthread_mutex_lock(&disks->lock);
	events = disks->events;
	disks->events = NULL;
	pthread_mutex_unlock(&disks->lock);
	return events;
}

static void failed(void *user, const struct disk *disk, enum bd_op_kind op, int error,
		   enum bd_policy action)
{
	bool stop = action == BD_POLICY_STOP;

	if (stop)
		report_error("%s: %s failed: %s; the machine is stopped", disk->id,
			     op == BD_OP_READ ? "read" : op == BD_OP_FLUSH ? "flush" : "write",
			     strerror(-error));
	tell(user, "BLOCK_IO_ERROR",
	     json_pack("{s:s, s:s, s:s, s:s, s:b, s:s}", "device", disk->id, "node-name", disk->id,
		       "operation", op == BD_OP_READ ? "read" : "write", "action",
		       stop ? "stop" : action == BD_POLICY_IGNORE ? "ignore" : "report",
		       "nospace", error == -ENOSPC, "reason", strerror(-error)),
	     stop ? EVENT_IO_ERROR : EVENT_WAKE);
}

static void damaged(const struct bd_node *node, const char *what, bool fatal, void *user)
{
	struct disks *disks = user;
	const char *device = NULL;

	for (unsigned i = 0; i < disks->nr; i++) {
		const struct bd_node *layer = disks->units[i].disk.node;

		while (layer && layer != node)
			layer = bd_backing(layer);
		if (layer)
			device = disks->units[i].disk.id;
	}
	if (device)
		tell(disks, "BLOCK_IMAGE_CORRUPTED",
		     json_pack("{s:s, s:s, s:o, s:b}", "device", device, "node-name", device, "msg",
			       bd_json_text(what), "fatal", fatal), EVENT_WAKE);
}

static void publish(void *arg)
{
	virtio_blk_publish(arg);
}

static bool look(void *arg)
{
	return virtio_blk_look(arg);
}

static bool watch(void *arg, bool on)
{
	return virtio_blk_watch(arg, on);
}

static int open_unit(struct disks *disks, struct disk_unit *unit, struct bd_error *err)
{
	struct bd_thread_hook hook = { publish, look, watch, NULL };
	struct drive *drive = unit->drive;
	struct disk *disk = &unit->disk;
	int ret = open_image(bd_thread_queue(disks->thread), drive, &disk->node, err);

	if (ret < 0)
		return ret;
	unit->open = true;
	disk->queue = bd_thread_queue(disks->thread);
	disk->id = drive->id;
	disk->serial = drive->serial;
	disk->read_only = !(drive->flags & BD_O_RDWR);
	disk->write_back = drive->write_back;
	disk->block_size = drive->block_size;
	disk->read_error = drive->read_error;
	disk->write_error = drive->write_error;
	disk->failed = failed;
	disk->user = disks;
	ret = virtio_blk_open(&unit->blk, disk, &disks->machine->vm.mem, drive->nr_queues,
			      (uint16_t)drive->queue_size);
	if (ret < 0)
		return bd_fail_errno(err, ret, "Could not set up disk '%s'", drive->id);
	unit->blk.dev.thread = &disks->calls;
	bd_throttle_set(unit->blk.throttle, &drive->limits);
	hook.arg = &unit->blk;
	bd_thread_add_hook(disks->thread, &hook);
	return 0;
}

static void call_thread(struct virtio_thread *calls, void (*fn)(void *arg), void *arg)
{
	bd_thread_call(((struct disks *)calls)->thread, fn, arg);
}

struct open_call {
	struct disks *disks;
	struct bd_error *err;
	int ret;
};

static void open_all(void *arg)
{
	struct open_call *call = arg;

	struct disks *disks = call->disks;

	for (unsigned i = 0; i < disks->nr && call->ret == 0; i++)
		call->ret = open_unit(disks, &disks->units[i], call->err);
	if (call->ret < 0)
		return;
	disks->rng.dev.thread = &disks->calls;
	call->ret = virtio_rng_open(&disks->rng, bd_thread_queue(disks->thread),
				    &disks->machine->vm.mem);
	if (call->ret < 0)
		bd_fail_errno(call->err, call->ret, "Could not set up the random numbers");
}

static int plug_all(struct disks *disks, struct pci_bus *bus, struct bd_error *err)
{
	virtio_mmio_init(disks->mmio, disks->machine);
	for (unsigned i = 0; i < disks->nr; i++) {
		struct disk_unit *unit = &disks->units[i];

		int ret = unit->drive->mmio ?
			  virtio_mmio_add(disks->mmio, disks->machine, &unit->blk.dev) :
			  virtio_pci_init(&unit->pci, bus, &unit->blk.dev);

		if (ret < 0)
			return bd_fail(err, -ENOSPC, "No room for disk '%s'", unit->disk.id);
		unit->plugged = true;
	}
	return virtio_pci_init(&disks->rng_pci, bus, &disks->rng.dev);
}

/* The engine's pool has room for every ring at once, as far as it goes. */
static unsigned depth_of(const struct drives *drives)
{
	unsigned depth = 32;

	for (unsigned i = 0; i < drives->nr; i++)
		depth += drives->list[i].nr_queues * drives->list[i].queue_size;
	return depth < 4096 ? depth : 4096;
}

int disks_open(struct disks *disks, struct drives *drives, struct pci_bus *bus,
	       struct bd_error *err)
{
	struct open_call call = { disks, err, 0 };
	const char *engine = drives->engine[0] ? drives->engine : getenv("QIMG_ENGINE");
	int ret;

	disks->machine = bus->machine;
	pthread_mutex_init(&disks->lock, NULL);
	disks->calls.call = call_thread;
	bd_set_damage(damaged, disks);
	disks->units = calloc(drives->nr + 1, sizeof(*disks->units));
	if (!disks->units)
		return bd_fail(err, -ENOMEM, "Out of memory");
	ret = bd_thread_new(engine, depth_of(drives), &disks->thread, err);
	if (ret < 0)
		return ret;
	bd_thread_set_poll(disks->thread, drives->poll_max_ns);
	disks->nr = drives->nr;
	for (unsigned i = 0; i < disks->nr; i++)
		disks->units[i].drive = &drives->list[i];
	bd_thread_call(disks->thread, open_all, &call);
	return call.ret < 0 ? call.ret : plug_all(disks, bus, err);
}

/* --- pausing ----------------------------------------------------------------------------- */

static void pause_all(void *arg)
{
	struct disks *disks = arg;

	for (unsigned i = 0; i < disks->nr; i++) {
		struct disk_unit *unit = &disks->units[i];

		virtio_blk_drain(&unit->blk);
		if (unit->open && !unit->disk.read_only && bd_sync(unit->disk.node) < 0)
			report_warning("%s: could not be flushed", unit->disk.id);
	}
}

static void resume_all(void *arg)
{
	struct disks *disks = arg;

	for (unsigned i = 0; i < disks->nr; i++) {
		virtio_blk_retry(&disks->units[i].blk);
		virtio_blk_undrain(&disks->units[i].blk);
	}
}

void disks_pause(struct disks *disks)
{
	bd_thread_call(disks->thread, pause_all, disks);
}

void disks_resume(struct disks *disks)
{
	bd_thread_call(disks->thread, resume_all, disks);
}

/* --- closing ----------------------------------------------------------------------------- */

static void close_all(void *arg)
{
	struct open_call *call = arg;
	struct disks *disks = call->disks;

	if (disks->rng.dev.started)
		virtio_reset(&disks->rng.dev);
	virtio_rng_close(&disks->rng);
	/* Hooks belong to the devices that go. */
	bd_thread_drop_hooks(disks->thread);
	for (unsigned i = 0; i < disks->nr; i++) {
		struct disk_unit *unit = &disks->units[i];
		int ret;

		if (!unit->disk.queue)
			continue; /* never came so far */
		if (unit->plugged)
			virtio_reset(&unit->blk.dev);
		virtio_blk_close(&unit->blk);
		ret = unit->open ? bd_close(unit->disk.node) : 0;
		if (ret < 0)
			report_error("Could not close disk '%s': %s", unit->disk.id,
				     strerror(-ret));
		if (ret < 0 && call->ret == 0)
			call->ret = ret;
	}
}

int disks_close(struct disks *disks)
{
	struct open_call call = { .disks = disks };

	if (!disks->thread)
		return 0;
	bd_thread_call(disks->thread, close_all, &call);
	bd_thread_free(disks->thread);
	json_decref(disks->events);
	disks->thread = NULL;
	for (unsigned i = 0; i < disks->nr; i++)
		virtio_pci_clear(&disks->units[i].pci);
	virtio_pci_clear(&disks->rng_pci);
	free(disks->units);
	disks->units = NULL;
	disks->nr = 0;
	return call.ret;
}
