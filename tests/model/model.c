/* SPDX-License-Identifier: MIT */
/*
 * A disk in memory beside an image: random operations on both, and both must stay the same.
 * usage: model SET STEPS SEED, in an empty folder; SET is a number from 0 to MODEL_SETS - 1.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/core/format.h"
#include "blockdev/include/check.h"
#include "blockdev/include/create.h"
#include "blockdev/include/snapshot.h"

enum {
	DISK_MAX = 4 << 20, DISK_START = 2 << 20, IO_MAX = 150 << 10,
	SNAPSHOTS = 4, BITMAPS = 2, GRANULE = 4096, GRANULES = DISK_MAX / GRANULE,
	MACHINE_MAX = 200 << 10,
};

/* What the image is created with; the backing file has 1 MiB of data. */
static const struct set {
	const char *options;
	bool backing, compressed;
} sets[] = {
	{ "cluster_size=65536", false, true },
	{ "compat=0.10,cluster_size=4096", false, true },
	{ "cluster_size=512", true, true },
	{ "cluster_size=4096,lazy_refcounts=on", true, false },
	{ "cluster_size=16384,extended_l2=on", true, true },
	{ "cluster_size=65536,extended_l2=on,compression_type=zstd", false, true },
	{ "cluster_size=8192,refcount_bits=4,compression_type=zstd", true, true },
	{ "cluster_size=4096,refcount_bits=64,preallocation=metadata", false, false },
	{ "cluster_size=65536,refcount_bits=1", true, false },
	{ "cluster_size=4096,data_file=data.raw", true, false },
};

struct state {
	uint8_t bytes[DISK_MAX];
	uint64_t size;
	uint8_t machine[MACHINE_MAX];   /* its state */
	bool unknown;                   /* the machine's state is */
	char name[16];                  /* snapshots: empty if unused */
};

struct bits {
	bool used, unsure;              /* unsure: more may be set than we know */
	uint8_t must[GRANULES], may[GRANULES];
	char name[16];
};

static struct state disk, snapshots[SNAPSHOTS];
static struct bits bitmaps[BITMAPS];
static uint8_t buf[DISK_MAX], base[1 << 20];
static const struct set *set;
static struct bd_queue *queue;
static struct bd_node *node;
static uint64_t seed, step, names;

static void fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("set %d (%s), step %" PRIu64 ": ", (int)(set - sets), set->options, step);
	vprintf(fmt, ap);
	printf("\n");
	va_end(ap);
	exit(1);
}

/* xorshift64* */
static uint64_t draw(uint64_t below)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return (seed * UINT64_C(2685821657736338717) >> 16) % below;
}

static void check_image(void)
{
	struct bd_open_args args = { .filename = "t.img", .format = "qcow2",
				     .flags = BD_O_CHECK | BD_O_NO_BACKING };
	struct bd_check result = { 0 };
	struct bd_error err = { 0 };

	if (bd_open(queue, &args, &node, &err) < 0 || bd_check(node, 0, &result, &err) < 0)
		fail("check: %s", err.msg);
	if (result.corruptions || result.leaks || result.check_errors)
		fail("check: %" PRIu64 " corruptions, %" PRIu64 " leaks", result.corruptions,
		     result.leaks);
	bd_close(node);
}

static void compare_all(void)
{
	if (bd_size(node) != disk.size)
		fail("the disk has %" PRIu64 " bytes, not %" PRIu64, bd_size(node), disk.size);
	if (disk.size && bd_pread(node, 0, buf, disk.size) < 0)
		fail("cannot read the disk");
	for (uint64_t i = 0; i < disk.size; i++)
		if (buf[i] != disk.bytes[i])
			fail("byte %" PRIu64 " is %d, not %d", i, buf[i], disk.bytes[i]);
}

static void compare_bitmap(const struct bits *bits)
{
	struct bd_bits found = { 0 };
	struct bd_error err = { 0 };

	if (node->fmt->bitmap->load(node, bits->name, &found, &err) < 0)
		fail("bitmap %s: %s", bits->name, err.msg);
	for (uint64_t i = 0; i * GRANULE < disk.size; i++) {
		bool on = found.bits[i / 8] >> i % 8 & 1;

		if (bits->must[i] && !on)
			fail("bitmap %s misses a write at %" PRIu64, bits->name, i * GRANULE);
		if (on && !bits->may[i] && !bits->unsure)
			fail("bitmap %s is set at %" PRIu64, bits->name, i * GRANULE);
	}
	free(found.bits);
}

static void open_image(unsigned flags)
{
	struct bd_open_args args = { .filename = "t.img", .format = "qcow2", .flags = flags };
	struct bd_error err = { 0 };

	if (bd_open(queue, &args, &node, &err) < 0)
		fail("cannot open: %s", err.msg);
}

static void reopen(void)
{
	if (bd_close(node) < 0)
		fail("cannot close");
	check_image();
	open_image(0);
	compare_all();
	for (unsigned i = 0; i < BITMAPS; i++)
		if (bitmaps[i].used)
			compare_bitmap(&bitmaps[i]);
	bd_close(node);
	for (unsigned i = 0; i < SNAPSHOTS; i++) {
		uint64_t len = snapshots[i].size < disk.size ? snapshots[i].size : disk.size;

		if (!snapshots[i].name[0])
			continue;
		open_image(0);
		if (bd_snapshot_load(node, NULL, snapshots[i].name, NULL) < 0 ||
		    (len && bd_pread(node, 0, buf, len) < 0))
			fail("cannot read snapshot %s", snapshots[i].name);
		if (memcmp(buf, snapshots[i].bytes, len))
			fail("snapshot %s has changed", snapshots[i].name);
		bd_close(node);
	}
	open_image(BD_O_RDWR | BD_O_RESIZE | BD_O_UNMAP);
}

/* Bytes [off, +len) change, or may. */
static void touch(uint64_t off, uint64_t len, bool certain)
{
	for (unsigned b = 0; b < BITMAPS && len; b++) {
		for (uint64_t i = off / GRANULE; i <= (off + len - 1) / GRANULE; i++) {
			bitmaps[b].must[i] |= certain;
			bitmaps[b].may[i] = 1;
		}
	}
}

static void some_range(uint64_t *off, uint64_t *len)
{
	*off = draw(disk.size);
	*len = 1 + draw(draw(4) ? 5000 : IO_MAX);
	if (draw(2))
		*off &= ~UINT64_C(4095);
	if (*len > disk.size - *off)
		*len = disk.size - *off;
}

static void do_write(void)
{
	uint64_t off, len;

	some_range(&off, &len);
	for (uint64_t i = 0; i < len; i++)
		buf[i] = (uint8_t)(step + i / 512);
	if (bd_pwrite(node, off, buf, len) < 0)
		fail("write of %" PRIu64 " bytes at %" PRIu64, len, off);
	memcpy(disk.bytes + off, buf, len);
	touch(off, len, true);
}

static void do_zero(void)
{
	uint64_t off, len;

	some_range(&off, &len);
	if (bd_pwrite_zeroes(node, off, len, draw(2) ? BD_REQ_UNMAP : 0) < 0)
		fail("zeros, %" PRIu64 " bytes at %" PRIu64, len, off);
	memset(disk.bytes + off, 0, len);
	touch(off, len, true);
}

/* A discard is a hint: what it leaves is the old byte, a zero, or the backing file's. */
static void do_discard(void)
{
	uint64_t off, len;

	some_range(&off, &len);
	if (bd_pdiscard(node, off, len) < 0 || bd_pread(node, off, buf, len) < 0)
		fail("discard of %" PRIu64 " bytes at %" PRIu64, len, off);
	for (uint64_t i = 0; i < len; i++) {
		uint8_t below = set->backing && off + i < sizeof(base) ? base[off + i] : 0;

		if (buf[i] != disk.bytes[off + i] && buf[i] && buf[i] != below)
			fail("discarded byte %" PRIu64 " is %d", off + i, buf[i]);
	}
	memcpy(disk.bytes + off, buf, len);
	touch(off, len, false);
}

/* Only clusters that are not there can be written compressed; a refusal changes nothing. */
static void do_compressed(void)
{
	uint64_t cluster = bd_cluster_size(node), off = draw(disk.size) & ~(cluster - 1);
	uint64_t len = cluster < disk.size - off ? cluster : disk.size - off;

	memset(buf, (int)step, len);
	if (bd_pwrite_compressed(node, off, buf, len) == 0)
		memcpy(disk.bytes + off, buf, len);
	touch(off, len, false);
}

static void do_read(void)
{
	uint64_t off, len;

	some_range(&off, &len);
	if (bd_pread(node, off, buf, len) < 0)
		fail("read of %" PRIu64 " bytes at %" PRIu64, len, off);
	if (memcmp(buf, disk.bytes + off, len))
		fail("%" PRIu64 " bytes at %" PRIu64 " are others", len, off);
}

/* Bytes of the state of a machine, which snapshots take along; like the disk's, they stay. */
static void do_machine(void)
{
	uint64_t off = draw(MACHINE_MAX / 512) * 512, len = (1 + draw(100)) * 512;
	int ret;

	if (disk.unknown) {
		off = 0;
		len = MACHINE_MAX;
	}
	len = off + len > MACHINE_MAX ? MACHINE_MAX - off : len;
	if (disk.unknown || draw(2)) {
		memset(disk.machine + off, (int)(1 + draw(255)), len);
		ret = bd_vmstate_write(node, off, disk.machine + off, len);
		if (ret == -ENOTSUP)
			memset(disk.machine + off, 0, len);
		else if (ret < 0)
			fail("machine's state: %s", strerror(-ret));
		else
			disk.unknown = false;
		return;
	}
	ret = bd_vmstate_read(node, off, buf, len);
	if (ret < 0 && ret != -ENOTSUP)
		fail("cannot read the machine's state: %s", strerror(-ret));
	if (ret == 0 && memcmp(buf, disk.machine + off, len))
		fail("the machine's state has changed");
}

/* Make, go back to, or drop the snapshot of one place. */
static void do_snapshot(void)
{
	struct state *place = &snapshots[draw(SNAPSHOTS)];
	struct bd_error err = { 0 };
	int ret;

	if (!place->name[0]) {
		char name[16];

		snprintf(name, sizeof(name), "s%" PRIu64, ++names);
		ret = bd_snapshot_create(node, name, &err);
		if (ret == 0) {
			*place = disk;
			snprintf(place->name, sizeof(place->name), "%s", name);
		} else if (ret != -ENOTSUP && ret != -EINVAL) {
			fail("snapshot: %s", err.msg);
		}
	} else if (draw(2)) {
		if (bd_snapshot_delete(node, place->name, &err) < 0)
			fail("delete: %s", err.msg);
		place->name[0] = '\0';
	} else {
		ret = bd_snapshot_apply(node, place->name, &err);
		/* Bitmaps that record writes are in its way; old versions keep the size. */
		if (ret < 0 && place->size == disk.size && !bitmaps[0].used && !bitmaps[1].used)
			fail("apply: %s", err.msg);
		if (ret < 0)
			return;
		disk.size = place->size;
		disk.unknown = place->unknown;
		memcpy(disk.bytes, place->bytes, DISK_MAX);
		memcpy(disk.machine, place->machine, MACHINE_MAX);
		for (unsigned i = 0; i < BITMAPS; i++) {
			bitmaps[i].unsure = true;
			memset(bitmaps[i].must, 0, GRANULES);
		}
	}
}

/* Old versions cannot resize a disk with snapshots; what is refused changes nothing. */
static void do_resize(void)
{
	uint64_t size = (1 + draw(DISK_MAX / 512)) * 512, old = disk.size;

	if (bd_resize(node, size, "off", true, NULL) < 0)
		return;
	disk.size = size;
	disk.unknown |= size != old;    /* its place is another one */
	if (size > old)
		memset(disk.bytes + old, 0, size - old);
	for (unsigned i = 0; i < BITMAPS; i++) {
		bitmaps[i].unsure = true;
		for (uint64_t g = size / GRANULE; size < old && g < GRANULES; g++)
			bitmaps[i].must[g] = 0;
	}
}

static void do_bitmap(void)
{
	struct bits *bits = &bitmaps[draw(BITMAPS)];
	const struct bits *other = &bitmaps[draw(BITMAPS)];
	struct bd_error err = { 0 };

	if (!bd_can_bitmaps(node))
		return;
	if (!bits->used) {
		memset(bits, 0, sizeof(*bits));
		snprintf(bits->name, sizeof(bits->name), "b%" PRIu64, ++names);
		bits->used = true;
		if (bd_bitmap_add(node, bits->name, GRANULE, true, &err) < 0)
			fail("bitmap: %s", err.msg);
	} else if (draw(3) == 0) {
		if (bd_bitmap_remove(node, bits->name, &err) < 0)
			fail("bitmap: %s", err.msg);
		bits->used = false;
	} else if (other->used && other != bits && draw(2)) {
		if (bd_bitmap_merge(node, bits->name, node, other->name, &err) < 0)
			fail("merge: %s", err.msg);
		for (unsigned g = 0; g < GRANULES; g++) {
			bits->must[g] |= other->must[g];
			bits->may[g] |= other->may[g];
		}
		bits->unsure |= other->unsure;
	} else {
		if (bd_bitmap_clear(node, bits->name, &err) < 0)
			fail("bitmap: %s", err.msg);
		memset(bits->must, 0, GRANULES);
		memset(bits->may, 0, GRANULES);
		bits->unsure = false;
	}
}

static void do_step(void)
{
	uint64_t what = draw(200);

	if (what < 60)
		do_write();
	else if (what < 80)
		do_zero();
	else if (what < 100)
		do_discard();
	else if (what < 120)
		(set->compressed ? do_compressed : do_write)();
	else if (what < 180)
		do_read();
	else if (what < 185)
		do_snapshot();
	else if (what < 187)
		do_machine();
	else if (what < 190)
		do_bitmap();
	else if (what < 193)
		do_resize();
	else if (what < 197 && bd_sync(node) < 0)
		fail("flush");
	else if (what >= 197)
		reopen();
}

static void create(const char *name, const char *format, const char *options)
{
	struct bd_create_args args = { .filename = name, .format = format, .opts = bd_opts_new() };
	struct bd_error err = { 0 };
	char size[24];

	snprintf(size, sizeof(size), "%d", format[0] == 'r' ? (int)sizeof(base) : DISK_START);
	if (bd_opts_parse(args.opts, options, NULL, &err) < 0 ||
	    bd_opts_set(args.opts, "size", size) < 0)
		fail("%s: %s", options, err.msg);
	if (format[0] == 'q' && set->backing) {
		bd_opts_set(args.opts, "backing_file", "base.raw");
		bd_opts_set(args.opts, "backing_fmt", "raw");
	}
	if (bd_create(queue, &args, &err) < 0)
		fail("create %s: %s", name, err.msg);
	bd_opts_free(args.opts);
}

static void start(void)
{
	struct bd_open_args args = { .filename = "base.raw", .format = "raw",
				     .flags = BD_O_RDWR };
	struct bd_error err = { 0 };

	for (size_t i = 0; i < sizeof(base); i++)
		base[i] = (uint8_t)(0x80 | i / 4096);
	create("base.raw", "raw", "");
	if (bd_open(queue, &args, &node, &err) < 0 ||
	    bd_pwrite(node, 0, base, sizeof(base)) < 0 || bd_close(node) < 0)
		fail("base: %s", err.msg);
	create("t.img", "qcow2", set->options);
	disk.size = DISK_START;
	if (set->backing)
		memcpy(disk.bytes, base, sizeof(base));
	open_image(BD_O_RDWR | BD_O_RESIZE | BD_O_UNMAP);
}

int main(int argc, char **argv)
{
	const unsigned nr_sets = sizeof(sets) / sizeof(sets[0]);
	uint64_t steps;

	if (argc != 4 || (unsigned)atoi(argv[1]) >= nr_sets) {
		fprintf(stderr, "usage: model SET STEPS SEED\n");
		return 2;
	}
	set = &sets[atoi(argv[1])];
	steps = strtoull(argv[2], NULL, 10);
	seed = strtoull(argv[3], NULL, 10) * 2 + 1;
	if (bd_queue_new("sync", 16, &queue, NULL) < 0)
		fail("no queue");
	start();
	for (step = 0; step < steps; step++)
		do_step();
	reopen();
	bd_close(node);
	bd_queue_free(queue);
	return 0;
}
