/* SPDX-License-Identifier: MIT */
/*
 * convert where one end is a pipe.  A pipe as the source has no size: the target grows with it.
 * A pipe as the target takes a raw image at once, and others if the format can put its tables in
 * front; where they are known only at the end, as with compression, the image is made in an
 * unlinked file first and sent in one go.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "qimg/convert.h"
#include "qimg/image.h"
#include "qimg/report.h"
#include "qimg/stream.h"

/* CHUNK: no cluster is longer. */
enum { SLOTS = 8, CHUNK = 2 << 20, RAW_UNIT = 4096 };

static const uint64_t first_size = UINT64_C(1) << 30;

/* --- target ---------------------------------------------------------------------------------- */

bool convert_to_pipe(const struct convert *convert)
{
	const struct convert_values *values = convert->values;

	return !values->target_image_opts && !values->no_create && stream_wanted(convert->name);
}

/* Nothing is asked for that needs the copy job. */
static bool asks_little(const struct convert *convert)
{
	const struct convert_values *values = convert->values;

	return !convert->has_backing && !values->compress && !values->salvage &&
	       !values->verify && !values->rate && !values->bitmaps;
}

/* Nothing but the bytes of the disk is asked for. */
static bool is_plain(const struct convert *convert)
{
	return !strcmp(convert->format, "raw") && asks_little(convert) &&
	       (!convert->values->options || !*convert->values->options);
}

/* The raw bytes, zeros written out, one source after the other. */
static int send_raw(struct convert *convert, int fd)
{
	int status = 0;

	for (unsigned i = 0; i < convert->nr_src && !status; i++)
		status = image_check_cut(convert->src[i], 0, bd_size(convert->src[i]));
	for (unsigned i = 0; i < convert->nr_src && !status; i++) {
		uint64_t size = bd_size(convert->src[i]);

		status = stream_range(convert->src[i], 0, size, fd) ||
			 stream_zeros((CONVERT_SECTOR - size % CONVERT_SECTOR) % CONVERT_SECTOR,
				      fd);
	}
	return status;
}

static int write_pipe(const void *buf, size_t len, void *user)
{
	return stream_write(*(const int *)user, buf, len) ? -EPIPE : 0;
}

/*
 * An image whose tables are in front, where the format can do that.  0, 1: reported; -1: it
 * cannot.
 */
static int send_stream(struct convert *convert, int fd)
{
	struct bd_error err = { 0 };
	struct bd_stream_args args = {
		.src = convert->src[0],
		.format = convert->format,
		.opts = convert->opts,
		.write = write_pipe,
		.user = &fd,
	};
	int ret;

	if (convert->nr_src != 1 || !asks_little(convert) || !convert->sparse_size)
		return -1;
	ret = bd_stream(&args, &err);
	if (ret < 0 && ret != -ENOTSUP && ret != -EPIPE)
		report_failure(&err, "%s", "");
	return ret == -ENOTSUP ? -1 : ret < 0;
}

/* A file without a name; -1: reported. */
static int open_spool(void)
{
	const char *folder = getenv("TMPDIR");
	char name[4096];
	int fd;

	snprintf(name, sizeof(name), "%s/qimg.XXXXXX", folder && *folder ? folder : "/var/tmp");
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0)
		report_error("Could not make a temporary file '%s': %s", name, strerror(errno));
	else
		unlink(name);
	return fd;
}

static int send_file(int from, int fd)
{
	uint8_t *buf = malloc(CHUNK);
	off_t off = 0;
	ssize_t len = -1;

	while (buf && (len = pread(from, buf, CHUNK, off)) > 0) {
		if (stream_write(fd, buf, (size_t)len))
			break;
		off += len;
	}
	if (!buf || len < 0)
		report_error("Could not read the temporary file: %s",
			     strerror(buf ? errno : ENOMEM));
	free(buf);
	return len != 0;
}

static int send_spooled(struct convert *convert, const char *pipe, int fd)
{
	int spool = open_spool(), status;
	char name[64];

	if (spool < 0)
		return 1;
	convert->sends = true;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", spool);
	convert->name = name;
	status = pipe ? convert_receive(convert, pipe) : convert_to_image(convert);
	if (!status)
		status = send_file(spool, fd);
	close(spool);
	return status;
}

int convert_send(struct convert *convert, const char *pipe)
{
	const char *name = convert->name;
	int fd = open(name, O_WRONLY | O_CLOEXEC), status;

	if (fd < 0) {
		report_error("Could not open '%s': %s", name, strerror(errno));
		return 1;
	}
	status = pipe ? -1 : is_plain(convert) ? send_raw(convert, fd) : send_stream(convert, fd);
	if (status < 0)
		status = send_spooled(convert, pipe, fd);
	if (close(fd) < 0 && !status) {
		report_error("Could not close '%s': %s", name, strerror(errno));
		status = 1;
	}
	return status;
}

/* --- source ---------------------------------------------------------------------------------- */

struct slot {
	uint8_t *buf;
	unsigned writing; /* requests in flight */
};

struct receiver {
	struct convert *convert;
	int fd;
	size_t unit;      /* bytes: zeros of this size and alignment are left out */
	uint64_t off;     /* bytes received and asked to be written */
	int res;          /* first error of a write */
	struct slot slots[SLOTS];
};

/* Requests carry their slot; the receiver is found through this. */
struct ticket {
	struct receiver *receiver;
	struct slot *slot;
};

bool convert_from_pipe(const struct convert *convert, char **names)
{
	const struct convert_values *values = convert->values;

	return convert->nr_src == 1 && !values->image.image_opts && stream_wanted(names[0]);
}

static void write_done(struct bd_request *req)
{
	struct ticket *ticket = req->user;

	if (req->res < 0 && !ticket->receiver->res)
		ticket->receiver->res = req->res;
	ticket->slot->writing--;
	free(ticket);
	bd_request_put(req);
}

static int wait_slot(struct receiver *r, const struct slot *slot)
{
	int ret = 0;

	while (slot->writing && ret >= 0)
		ret = bd_queue_poll(r->convert->queue, true);
	if (ret < 0 && !r->res)
		r->res = ret;
	return r->res;
}

static int wait_all(struct receiver *r)
{
	for (int i = 0; i < SLOTS; i++)
		wait_slot(r, &r->slots[i]);
	return r->res;
}

static int start_write(struct receiver *r, struct slot *slot, uint8_t *buf, size_t len)
{
	struct ticket *ticket = malloc(sizeof(*ticket));
	struct bd_request *req = NULL;

	while (ticket && !(req = bd_request_get(r->convert->queue))) {
		int ret = bd_queue_poll(r->convert->queue, true);

		if (ret < 0)
			break;
	}
	if (!req) {
		free(ticket);
		return ticket ? -EBUSY : -ENOMEM;
	}
	*ticket = (struct ticket){ r, slot };
	*req = (struct bd_request){
		.node = r->convert->dst,
		.off = r->off + (uint64_t)(buf - slot->buf),
		.len = len,
		.done = write_done,
		.user = ticket,
		.one = { buf, len },
		.niov = 1,
	};
	req->iov = &req->one;
	slot->writing++;
	if (r->convert->values->compress)
		bd_write_compressed(req);
	else
		bd_write(req);
	return 0;
}

static bool is_zero(const uint8_t *buf, size_t len)
{
	return !buf[0] && !memcmp(buf, buf + 1, len - 1);
}

/* Compressed clusters are whole: the last one goes on with zeros, as far as the disk does. */
static size_t fill_cluster(const struct receiver *r, struct slot *slot, size_t len)
{
	uint64_t left = bd_size(r->convert->dst) - r->off;
	size_t whole = (len + r->unit - 1) / r->unit * r->unit;

	if (whole > left)
		whole = (size_t)left;
	memset(slot->buf + len, 0, whole - len);
	return whole;
}

/* Write what is not zero of the @len bytes in @slot.  0 or a negative errno. */
static int write_slot(struct receiver *r, struct slot *slot, size_t len)
{
	bool holes = r->convert->sparse_size, joins = !r->convert->values->compress;
	size_t pos = 0, end;
	int ret = 0;

	if (!joins)
		len = fill_cluster(r, slot, len);
	while (pos < len && ret == 0) {
		size_t part = len - pos < r->unit ? len - pos : r->unit;

		if (holes && is_zero(slot->buf + pos, part)) {
			pos += part;
			continue;
		}
		end = pos + part;
		while (joins && end < len) {
			part = len - end < r->unit ? len - end : r->unit;
			if (holes && is_zero(slot->buf + end, part))
				break;
			end += part;
		}
		ret = start_write(r, slot, slot->buf + pos, end - pos);
		pos = end;
	}
	return ret;
}

/* A full buffer, or less at the end; the last sector is filled with zeros.  -1: reported. */
static ssize_t receive(struct receiver *r, uint8_t *buf, size_t size)
{
	size_t len = 0;

	while (len < size) {
		ssize_t got = read(r->fd, buf + len, size - len);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			report_error("error while reading at byte %llu: %s",
				     (unsigned long long)(r->off + len), strerror(errno));
			return -1;
		}
		if (!got)
			break;
		len += (size_t)got;
	}
	memset(buf + len, 0, (CONVERT_SECTOR - len % CONVERT_SECTOR) % CONVERT_SECTOR);
	return (ssize_t)(len + (CONVERT_SECTOR - len % CONVERT_SECTOR) % CONVERT_SECTOR);
}

/* The target has @size bytes from now on. */
static int set_size(struct receiver *r, uint64_t size)
{
	struct bd_node *dst = r->convert->dst;
	struct bd_error err = { 0 };

	if (size == bd_size(dst))
		return 0;
	if (wait_all(r) == 0 && bd_resize(dst, size, "off", true, &err) < 0) {
		report_failure(&err, "%s", "");
		return 1;
	}
	return r->res != 0;
}

static int make_room(struct receiver *r, size_t len)
{
	uint64_t size = bd_size(r->convert->dst);

	if (r->off + len <= size)
		return 0;
	if (!r->convert->values->no_create)
		return set_size(r, size * 2);
	report_error("output file is smaller than input file");
	return 1;
}

static int receive_all(struct receiver *r)
{
	for (unsigned i = 0;; i = (i + 1) % SLOTS) {
		struct slot *slot = &r->slots[i];
		ssize_t len;
		int ret;

		if (wait_slot(r, slot) < 0)
			return 0;
		len = receive(r, slot->buf, CHUNK);
		if (len < 0 || (len > 0 && make_room(r, (size_t)len)))
			return 1;
		if (len == 0)
			return 0;
		ret = write_slot(r, slot, (size_t)len);
		if (ret < 0 && !r->res)
			r->res = ret;
		r->off += (uint64_t)len;
		if (len < CHUNK)
			return 0;
	}
}

static int receive_into_target(struct receiver *r)
{
	uint32_t cluster = bd_cluster_size(r->convert->dst);
	int status = 0;

	/* Zeros must be written where the target does not read as zeros by itself. */
	if (!r->convert->values->target_is_zero && r->convert->values->no_create)
		r->convert->sparse_size = 0;
	r->unit = cluster ? cluster : RAW_UNIT;
	for (int i = 0; i < SLOTS && !status; i++) {
		if (posix_memalign((void **)&r->slots[i].buf, 4096, CHUNK)) {
			r->slots[i].buf = NULL;
			report_error("%s", strerror(ENOMEM));
			status = 1;
		}
	}
	if (!status)
		status = receive_all(r);
	if (wait_all(r) < 0 && !status) {
		report_error("error while writing to output image file: %s", strerror(-r->res));
		status = 1;
	}
	if (!status && !r->off) {
		report_error("The source is empty");
		status = 1;
	}
	if (!status && !r->convert->values->no_create)
		status = set_size(r, r->off);
	for (int i = 0; i < SLOTS; i++) {
		if (!r->slots[i].writing)
			free(r->slots[i].buf);
	}
	return status;
}

/* What a pipe cannot give. */
static const char *refusal(const struct convert *convert)
{
	const struct convert_values *values = convert->values;
	const char *prealloc = bd_opts_get(convert->opts, "preallocation");

	if (!values->image.format || strcmp(values->image.format, "raw"))
		return "A pipe can be read with -f raw only";
	if (values->bitmaps || values->snapshot || values->salvage || values->verify ||
	    convert->has_backing)
		return "A pipe has neither snapshots, bitmaps nor a backing file, and cannot be "
		       "read twice";
	if (values->rate)
		return "The rate of a pipe is that of its writer";
	if (prealloc && strcmp(prealloc, "off"))
		return "Preallocation needs to know the size, which a pipe does not have";
	return NULL;
}

int convert_receive(struct convert *convert, const char *name)
{
	struct receiver receiver = { .convert = convert };
	const char *why;
	int status;

	convert->grows = !convert->values->no_create;
	convert->total = convert->values->no_create ? 0 : first_size;
	if (convert_check_target(convert))
		return 1;
	why = refusal(convert);
	if (why) {
		report_error("%s", why);
		return 1;
	}
	receiver.fd = open(name, O_RDONLY | O_CLOEXEC);
	if (receiver.fd < 0) {
		report_error("Could not open '%s': %s", name, strerror(errno));
		return 1;
	}
	status = convert_open_target(convert) || receive_into_target(&receiver);
	close(receiver.fd);
	return convert_finish(convert, status);
}
