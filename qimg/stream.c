/* SPDX-License-Identifier: MIT */
/* Guest bytes into a pipe: a ring of reads runs ahead of one writer. */
#include "qimg/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "qimg/report.h"

enum { SLOTS = 8, CHUNK = 1 << 20 };

struct slot {
	uint8_t *buf;
	uint64_t off;
	size_t len;
	bool busy, filled;
	int res;
};

struct ring {
	struct bd_node *node;
	struct slot slots[SLOTS];
	uint64_t next, end;       /* guest bytes not asked for yet */
};

bool stream_wanted(const char *name)
{
	struct stat info;

	if (name ? stat(name, &info) < 0 : fstat(STDOUT_FILENO, &info) < 0)
		return false;
	return S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode);
}

int stream_write(int fd, const uint8_t *buf, size_t len)
{
	while (len) {
		ssize_t done = write(fd, buf, len);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0) {
			report_error("error while writing to output image file: %s",
				     strerror(done < 0 ? errno : EIO));
			return 1;
		}
		buf += done;
		len -= (size_t)done;
	}
	return 0;
}

int stream_zeros(uint64_t len, int fd)
{
	static const uint8_t zeros[4096];
	int status = 0;

	while (len && !status) {
		size_t part = len < sizeof(zeros) ? len : sizeof(zeros);

		status = stream_write(fd, zeros, part);
		len -= part;
	}
	return status;
}

static void read_done(struct bd_request *req)
{
	struct slot *slot = req->user;

	slot->res = req->res;
	slot->filled = true;
	bd_request_put(req);
}

/* Ask for the next bytes into every slot that is idle. */
static void read_ahead(struct ring *ring)
{
	for (unsigned i = 0; i < SLOTS && ring->next < ring->end; i++) {
		struct slot *slot = &ring->slots[(ring->next / CHUNK) % SLOTS];
		struct bd_request *req;

		if (slot->busy || !(req = bd_request_get(bd_node_queue(ring->node))))
			return;
		slot->off = ring->next;
		slot->len = ring->end - ring->next < CHUNK ? ring->end - ring->next : CHUNK;
		/* Slots are chosen by position: a piece ends where the next slot's begins. */
		if (slot->len > CHUNK - ring->next % CHUNK)
			slot->len = CHUNK - ring->next % CHUNK;
		slot->busy = true;
		slot->filled = false;
		*req = (struct bd_request){
			.node = ring->node,
			.off = slot->off,
			.len = slot->len,
			.done = read_done,
			.user = slot,
			.one = { slot->buf, slot->len },
			.niov = 1,
		};
		req->iov = &req->one;
		ring->next += slot->len;
		bd_read(req);
	}
}

static int wait_slot(struct ring *ring, struct slot *slot)
{
	while (slot->busy && !slot->filled) {
		int ret = bd_queue_poll(bd_node_queue(ring->node), true);

		if (ret < 0)
			return ret;
	}
	return slot->busy ? slot->res : -EBUSY;
}

static int run(struct ring *ring, uint64_t off, int fd)
{
	while (off < ring->end) {
		struct slot *slot = &ring->slots[(off / CHUNK) % SLOTS];
		int ret;

		read_ahead(ring);
		ret = wait_slot(ring, slot);
		if (ret < 0) {
			report_error("error while reading from input image file: %s",
				     strerror(-ret));
			return 1;
		}
		if (stream_write(fd, slot->buf, slot->len))
			return 1;
		off += slot->len;
		slot->busy = false;
	}
	return 0;
}

int stream_range(struct bd_node *node, uint64_t off, uint64_t end, int fd)
{
	struct ring ring = { .node = node, .next = off, .end = end };
	int status = 0;

	for (int i = 0; i < SLOTS && !status; i++) {
		if (posix_memalign((void **)&ring.slots[i].buf, 4096, CHUNK)) {
			ring.slots[i].buf = NULL;
			report_error("%s", strerror(ENOMEM));
			status = 1;
		}
	}
	if (!status)
		status = run(&ring, off, fd);
	for (int i = 0; i < SLOTS; i++) {
		if (ring.slots[i].busy && wait_slot(&ring, &ring.slots[i]) < 0 &&
		    !ring.slots[i].filled)
			continue; /* the engine is broken and may still write to it */
		free(ring.slots[i].buf);
	}
	return status;
}
