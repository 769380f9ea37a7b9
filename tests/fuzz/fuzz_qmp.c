/* SPDX-License-Identifier: MIT */
/*
 * What a client says to QMP or, if the first byte is odd, to HMP.  There is a disk and no guest; what
 * would name a file of the host is left out.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "vkvm/control/control.h"

enum { CHUNK = 4096 };

static struct machine machine;
static struct disks disks;
static struct drive drive;
static struct disk_unit unit;
static struct power power;

static void open_disk(void *arg)
{
	struct bd_open_args args = { .filename = "null-co://", .format = "raw",
				     .flags = BD_O_RDWR };
	struct disk *disk = &unit.disk;
	struct bd_error err = {0};

	(void)arg;
	*disk = (struct disk){ .queue = bd_thread_queue(disks.thread), .id = "virtio0",
			       .write_back = true, .block_size = 512 };
	if (bd_open(disk->queue, &args, &disk->node, &err) < 0 ||
	    virtio_blk_open(&unit.blk, disk, &machine.vm.mem, 1, 16) < 0)
		abort();
}

static void set_up(void)
{
	struct bd_error err = {0};

	machine.event_fd = eventfd(0, EFD_NONBLOCK);
	power = (struct power){ .machine = &machine, .irq_fd = eventfd(0, EFD_NONBLOCK) };
	if (bd_thread_new("sync", 64, &disks.thread, &err) < 0)
		abort();
	/* A temporary overlay is never reopened. */
	drive = (struct drive){ .filename = "null-co://", .format = "raw", .snapshot = true };
	unit = (struct disk_unit){ .drive = &drive, .open = true };
	disks.machine = &machine;
	disks.units = &unit;
	disks.nr = 1;
	bd_thread_call(disks.thread, open_disk, NULL);
}

static void listen_to(struct control *control, struct monitor *monitor, const uint8_t *data,
		      size_t size)
{
	char answers[CHUNK];
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) < 0)
		abort();
	monitor->fd = ends[0];
	for (size_t done = 0; done < size && monitor->fd >= 0 && !control->done;) {
		size_t part = size - done < CHUNK ? size - done : CHUNK;

		if (write(ends[1], data + done, part) != (ssize_t)part)
			abort();
		done += part;
		monitor_ready(monitor, control);
		while (read(ends[1], answers, sizeof(answers)) > 0)
			;
	}
	monitor_close(monitor);
	close(ends[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct control control;
	struct monitor *monitor;

	if (!disks.thread)
		set_up();
	if (!size || memchr(data, '\\', size) || memmem(data, size, "file", 4))
		return 0;
	memset(&control, 0, sizeof(control));
	control.machine = &machine;
	control.disks = &disks;
	control.power = &power;
	control.qmp = (struct monitor){ .qmp = true, .negotiated = true, .listen_fd = -1, .fd = -1 };
	control.hmp = (struct monitor){ .listen_fd = -1, .fd = -1 };
	monitor = data[0] & 1 ? &control.hmp : &control.qmp;
	listen_to(&control, monitor, data + 1, size - 1);
	if (control.paused)
		control_cont(&control);
	return 0;
}
