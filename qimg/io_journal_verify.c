/* SPDX-License-Identifier: MIT */
/* qimg-io --verify: is on the image what a journal promises, and nothing that never was written. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/include/blockdev.h"
#include "qimg/io_journal.h"
#include "qimg/report.h"

enum { MAX_WRITES = 1 << 24, MAX_TOLD = 20, CHUNK = 1 << 20 };

static const uint64_t max_size = UINT64_C(1) << 38; /* bytes: what a block costs is in memory */

struct write {
	uint64_t off, len;
	bool zero;
};

struct journal {
	uint64_t size, flushed; /* bytes of the disk; last write that a flush made durable */
	struct write *writes;   /* number n is at n - 1 */
	size_t nr, room;
	uint32_t *durable;      /* per block: its last flushed write; 0: none */
	uint8_t *zero_later;    /* per block: a later write may have left zeros */
};

static int add_write(struct journal *j, const struct write *write)
{
	if (j->nr == j->room) {
		size_t room = j->room ? j->room * 2 : 1024;
		struct write *more = realloc(j->writes, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		j->writes = more;
		j->room = room;
	}
	j->writes[j->nr++] = *write;
	return 0;
}

/* One line.  -EINVAL: it is none of a journal. */
static int parse_line(struct journal *j, const char *line)
{
	struct write write = { 0 };
	uint64_t nr;
	char kind;

	if (sscanf(line, "f %" SCNu64, &nr) == 1) {
		if (nr > j->nr || nr < j->flushed)
			return -EINVAL;
		j->flushed = nr;
		return 0;
	}
	if (sscanf(line, "%c %" SCNu64 " %" SCNu64 " %" SCNu64, &kind, &nr, &write.off,
		   &write.len) != 4 || (kind != 'w' && kind != 'z'))
		return -EINVAL;
	write.zero = kind == 'z';
	if (nr != j->nr + 1 || j->nr == MAX_WRITES || !write.len || write.off > j->size ||
	    write.len > j->size - write.off || write.off % JOURNAL_BLOCK ||
	    write.len % JOURNAL_BLOCK)
		return -EINVAL;
	return add_write(j, &write);
}

static int parse(struct journal *j, FILE *file)
{
	uint64_t seed;
	char line[128];
	int ret = 0;

	if (!fgets(line, sizeof(line), file) ||
	    sscanf(line, "qimg-journal 1 %" SCNu64 " %" SCNu64, &j->size, &seed) != 2 ||
	    j->size > max_size)
		return -EINVAL;
	while (ret == 0 && fgets(line, sizeof(line), file)) {
		/* A torn last line: what it would have told had not begun. */
		if (strchr(line, '\n'))
			ret = parse_line(j, line);
		else if (fgetc(file) != EOF)
			ret = -EINVAL;
	}
	return ret;
}

static int load(struct journal *j, const char *name)
{
	FILE *file = fopen(name, "re");
	int ret;

	if (!file) {
		report_error("Could not open '%s': %s", name, strerror(errno));
		return 1;
	}
	ret = parse(j, file);
	fclose(file);
	if (ret == -EINVAL)
		report_error("'%s' is not a journal", name);
	else if (ret < 0)
		report_error("%s", strerror(-ret));
	return ret < 0;
}

/* What each block may hold. */
static int index_blocks(struct journal *j)
{
	uint64_t blocks = j->size / JOURNAL_BLOCK + 1;

	j->durable = calloc(blocks, sizeof(*j->durable));
	j->zero_later = calloc(blocks, 1);
	if (!j->durable || !j->zero_later) {
		report_error("%s", strerror(ENOMEM));
		return 1;
	}
	for (size_t i = 0; i < j->nr; i++) {
		uint64_t first = j->writes[i].off / JOURNAL_BLOCK;
		uint64_t end = first + j->writes[i].len / JOURNAL_BLOCK;

		for (uint64_t block = first; block < end; block++) {
			if (i < j->flushed)
				j->durable[block] = (uint32_t)i + 1;
			else if (j->writes[i].zero)
				j->zero_later[block] = 1;
		}
	}
	return 0;
}

/* May write @nr be what is seen at @off? */
static bool may_hold(const struct journal *j, uint64_t nr, uint64_t off)
{
	const struct write *write;

	if (!nr || nr > j->nr)
		return false;
	write = &j->writes[nr - 1];
	if (write->zero || off < write->off || off - write->off >= write->len)
		return false;
	return nr > j->flushed || nr == j->durable[off / JOURNAL_BLOCK];
}

static bool zeros_allowed(const struct journal *j, uint64_t off)
{
	uint32_t durable = j->durable[off / JOURNAL_BLOCK];

	return !durable || j->writes[durable - 1].zero || j->zero_later[off / JOURNAL_BLOCK];
}

/* Is the sector at @off right?  If not, *what tells what it is instead. */
static bool check_sector(const struct journal *j, const uint8_t *buf, uint64_t off, char *what,
			 size_t room)
{
	static const uint8_t zeros[JOURNAL_SECTOR];
	uint8_t want[JOURNAL_SECTOR];
	uint64_t nr;

	if (!memcmp(buf, zeros, sizeof(zeros))) {
		snprintf(what, room, "zeros");
		return zeros_allowed(j, off);
	}
	memcpy(&nr, buf, sizeof(nr));
	io_journal_fill(want, nr, off / JOURNAL_SECTOR);
	if (memcmp(buf, want, sizeof(want))) {
		snprintf(what, room, "bytes of no write");
		return false;
	}
	snprintf(what, room, "write %" PRIu64, nr);
	return may_hold(j, nr, off);
}

static uint64_t check_chunk(const struct journal *j, const uint8_t *buf, uint64_t off, size_t len,
			    uint64_t bad)
{
	char what[64];

	for (size_t at = 0; at + JOURNAL_SECTOR <= len; at += JOURNAL_SECTOR) {
		if (check_sector(j, buf + at, off + at, what, sizeof(what)))
			continue;
		if (bad++ < MAX_TOLD)
			printf("offset %" PRIu64 ": last flushed write %" PRIu32 ", found %s\n",
			       off + at, j->durable[(off + at) / JOURNAL_BLOCK], what);
	}
	return bad;
}

static int check_disk(const struct journal *j, struct bd_node *node)
{
	uint8_t *buf = malloc(CHUNK);
	uint64_t bad = 0;
	int ret = buf ? 0 : -ENOMEM;

	for (uint64_t off = 0; off < j->size && ret == 0; off += CHUNK) {
		size_t len = j->size - off < CHUNK ? j->size - off : CHUNK;

		ret = bd_pread(node, off, buf, len);
		if (ret < 0)
			report_error("read failed at offset %" PRIu64 ": %s", off, strerror(-ret));
		else
			bad = check_chunk(j, buf, off, len, bad);
	}
	free(buf);
	if (ret < 0)
		return 1;
	if (bad) {
		printf("%" PRIu64 " sectors are wrong\n", bad);
		return 1;
	}
	printf("%zu writes, %" PRIu64 " of them flushed: the image is right\n", j->nr, j->flushed);
	return 0;
}

int io_journal_verify(struct bd_node *node, const char *name)
{
	struct journal j = { 0 };
	int status = load(&j, name);

	if (!status && bd_size(node) != j.size) {
		report_error("The image has another size than the journal's");
		status = 1;
	}
	if (!status)
		status = index_blocks(&j) || check_disk(&j, node);
	free(j.writes);
	free(j.durable);
	free(j.zero_later);
	return status;
}
