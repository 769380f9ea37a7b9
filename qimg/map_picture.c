/* SPDX-License-Identifier: MIT */
/* Collects the map of a disk in cells, and draws them with letters. */
#include "qimg/map_picture.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "qimg/human.h"
#include "qimg/report.h"

enum { BATCH = 64, SECTOR = 512 };

/* Where the next data should lie if they follow the last. */
struct trail {
	struct bd_node *node;
	uint64_t host;
	bool any;
};

static enum picture_kind kind_of(const struct bd_extent *ext)
{
	if (ext->kind == BD_UNALLOCATED)
		return PICTURE_FREE;
	if (ext->kind == BD_ZERO || ext->flags & BD_EXTENT_SPARSE)
		return PICTURE_ZERO;
	return ext->kind == BD_COMPRESSED ? PICTURE_COMPRESSED : PICTURE_DATA;
}

static bool jumps(struct trail *trail, const struct bd_extent *ext)
{
	bool jump;

	if (kind_of(ext) != PICTURE_DATA)
		return false;
	jump = trail->any && (trail->node != ext->node || trail->host != ext->host_off);
	*trail = (struct trail){ ext->node, ext->host_off + ext->len, true };
	return jump;
}

static void count(struct picture_cell *cell, const struct bd_extent *ext, uint64_t len)
{
	unsigned depth = ext->depth < PICTURE_DEPTHS ? ext->depth : PICTURE_DEPTHS - 1;

	cell->bytes[kind_of(ext)] += len;
	if (ext->kind != BD_UNALLOCATED)
		cell->depth_bytes[depth] += len;
}

static void add(struct picture *picture, const struct bd_extent *ext, bool jump)
{
	uint64_t off = ext->guest_off - picture->start, end = off + ext->len;

	picture->cells[off / picture->cell_size].jumps += jump;
	picture->total.jumps += jump;
	count(&picture->total, ext, ext->len);
	if (ext->kind != BD_UNALLOCATED && ext->depth > picture->depth)
		picture->depth = ext->depth;
	while (off < end) {
		uint64_t idx = off / picture->cell_size, stop = (idx + 1) * picture->cell_size;

		stop = stop < end ? stop : end;
		count(&picture->cells[idx], ext, stop - off);
		off = stop;
	}
}

int picture_collect(struct bd_node *node, struct picture *picture, unsigned rows)
{
	uint64_t len = picture->end - picture->start, off = picture->start;
	uint64_t cells = (uint64_t)rows * picture->cols;
	struct bd_extent ext[BATCH];
	struct trail trail = { 0 };

	picture->cell_size = (len / cells + (len % cells != 0) + SECTOR - 1) / SECTOR * SECTOR;
	if (!picture->cell_size)
		picture->cell_size = SECTOR;
	picture->nr = (unsigned)(len / picture->cell_size + (len % picture->cell_size != 0));
	picture->cells = calloc(picture->nr ? picture->nr : 1, sizeof(*picture->cells));
	if (!picture->cells) {
		report_error("%s", strerror(ENOMEM));
		return 1;
	}
	while (off < picture->end) {
		int nr = bd_map(node, off, picture->end - off, ext, BATCH);

		if (nr <= 0) {
			report_error("Could not read file metadata: %s",
				     strerror(nr ? -nr : EIO));
			return 1;
		}
		for (int i = 0; i < nr; i++)
			add(picture, &ext[i], jumps(&trail, &ext[i]));
		off = ext[nr - 1].guest_off + ext[nr - 1].len;
	}
	return 0;
}

/* --- letters ------------------------------------------------------------------------------- */

/* Data show even if they are few: that they are there matters more than how many. */
static char letter(const struct picture_cell *cell)
{
	uint64_t data = cell->bytes[PICTURE_DATA], compressed = cell->bytes[PICTURE_COMPRESSED];
	uint64_t zero = cell->bytes[PICTURE_ZERO], rest = cell->bytes[PICTURE_FREE];

	if (compressed > data)
		return compressed >= zero + rest ? 'C' : 'c';
	if (data)
		return data >= zero + rest ? '#' : '+';
	return zero ? '0' : '.';
}

static char depth_letter(const struct picture_cell *cell)
{
	int most = -1;

	for (int i = 0; i < PICTURE_DEPTHS; i++) {
		if (cell->depth_bytes[i] && (most < 0 ||
					     cell->depth_bytes[i] > cell->depth_bytes[most]))
			most = i;
	}
	return most < 0 ? ' ' : (char)('0' + most);
}

static char jump_letter(const struct picture_cell *cell)
{
	if (!cell->jumps)
		return ' ';
	return cell->jumps > 9 ? '*' : (char)('0' + cell->jumps);
}

/* A row of letters from cell @first on; one without any is left out. */
static void print_row(const struct picture *picture, unsigned first, const char *label,
		      char (*draw)(const struct picture_cell *cell))
{
	bool any = false;

	for (unsigned i = first; i < first + picture->cols && i < picture->nr; i++)
		any |= draw(&picture->cells[i]) != ' ';
	if (!any)
		return;
	printf("%10s |", label);
	for (unsigned i = first; i < first + picture->cols; i++)
		putchar(i < picture->nr ? draw(&picture->cells[i]) : ' ');
	printf("|\n");
}

static void print_total(const char *text, uint64_t bytes)
{
	char size[32];

	human_size(size, sizeof(size), bytes);
	printf("%-42s %s\n", text, size);
}

void picture_print(const struct picture *picture)
{
	const struct picture_cell *total = &picture->total;
	char size[32];

	for (unsigned i = 0; i < picture->nr; i += picture->cols) {
		human_size(size, sizeof(size), picture->start + i * picture->cell_size);
		print_row(picture, i, size, letter);
		if (picture->depth)
			print_row(picture, i, "layer", depth_letter);
		if (total->jumps)
			print_row(picture, i, "jumps", jump_letter);
	}
	human_size(size, sizeof(size), picture->cell_size);
	printf("\nA letter stands for %s.\n", size);
	print_total("#  data; +  less than half is data", total->bytes[PICTURE_DATA]);
	print_total("C  compressed; c  less than half is", total->bytes[PICTURE_COMPRESSED]);
	print_total("0  zeros", total->bytes[PICTURE_ZERO]);
	print_total(".  not allocated", total->bytes[PICTURE_FREE]);
	if (picture->depth)
		printf("layer: the backing file that holds most of it; 0 is the image itself, "
		       "9 also what is deeper.\n");
	if (total->jumps)
		printf("jumps: data that do not follow the data before them in the file; "
		       "%" PRIu64 " in all.\n", total->jumps);
}
