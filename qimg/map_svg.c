/* SPDX-License-Identifier: MIT */
/* Draws the map of a disk as SVG: a cell is a square of coloured shares, with a bar for jumps. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "qimg/human.h"
#include "qimg/map_picture.h"
#include "qimg/report.h"

enum { CELL = 8, GAP = 4, LEFT = 90, TOP = 60, LEGEND = 90 };

static const char *const kind_names[] = {
	[PICTURE_FREE] = "not allocated",
	[PICTURE_ZERO] = "zeros",
	[PICTURE_DATA] = "data",
	[PICTURE_COMPRESSED] = "compressed",
};

static const char *const kind_colours[] = {
	[PICTURE_FREE] = "#f0f0f0",
	[PICTURE_ZERO] = "#b8c4cc",
	[PICTURE_DATA] = "#2060b0",
	[PICTURE_COMPRESSED] = "#e08020",
};

/* Colours of data by layer: the image itself first. */
static const char *const layer_colours[PICTURE_DEPTHS] = {
	"#2060b0", "#20a060", "#8040a0", "#a02840", "#907010", "#108090", "#606060", "#c060a0",
	"#405020", "#000000",
};

static void put_text(FILE *out, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (strchr("<>&\"'", c))
			fprintf(out, "&#%u;", c);
		else
			fputc(c < 0x20 || c == 0x7f ? '?' : c, out);
	}
}

static unsigned layer_of(const struct picture_cell *cell)
{
	unsigned most = 0;

	for (unsigned i = 1; i < PICTURE_DEPTHS; i++) {
		if (cell->depth_bytes[i] > cell->depth_bytes[most])
			most = i;
	}
	return most;
}

static const char *colour(const struct picture_cell *cell, unsigned kind)
{
	return kind == PICTURE_DATA ? layer_colours[layer_of(cell)] : kind_colours[kind];
}

/* One cell: from the bottom up compressed, data, zeros, and what is not allocated. */
static void put_cell(FILE *out, const struct picture *picture, unsigned idx)
{
	const struct picture_cell *cell = &picture->cells[idx];
	unsigned x = LEFT + idx % picture->cols * CELL;
	unsigned y = TOP + idx / picture->cols * (CELL + GAP);
	double whole = 0, bottom = y + CELL;

	for (int kind = 0; kind < PICTURE_KINDS; kind++)
		whole += (double)cell->bytes[kind];
	if (whole == 0 || (double)cell->bytes[PICTURE_FREE] == whole)
		return;
	fprintf(out, "<g><title>%" PRIu64, picture->start + idx * picture->cell_size);
	for (int kind = 0; kind < PICTURE_KINDS; kind++) {
		if (cell->bytes[kind])
			fprintf(out, "\n%s %" PRIu64, kind_names[kind], cell->bytes[kind]);
	}
	fprintf(out, "\nlayer %u\njumps %" PRIu64 "</title>", layer_of(cell), cell->jumps);
	for (int kind = PICTURE_COMPRESSED; kind > PICTURE_FREE; kind--) {
		double height = CELL * (double)cell->bytes[kind] / whole;

		if (height == 0)
			continue;
		bottom -= height;
		fprintf(out, "<rect x='%u' y='%.2f' width='%d' height='%.2f' fill='%s'/>", x,
			bottom, CELL, height, colour(cell, (unsigned)kind));
	}
	if (cell->jumps)
		fprintf(out, "<rect x='%u' y='%d' width='%d' height='%d' fill='#d00000'/>", x,
			(int)y + CELL, CELL, cell->jumps > 8 ? 3 : cell->jumps > 1 ? 2 : 1);
	fprintf(out, "</g>\n");
}

static void put_key(FILE *out, unsigned x, unsigned y, const char *fill, const char *text)
{
	fprintf(out, "<rect x='%u' y='%u' width='%d' height='%d' fill='%s'/>"
		     "<text x='%u' y='%u'>%s</text>\n",
		x, y, CELL, CELL, fill, x + CELL + 4, y + CELL, text);
}

static void put_legend(FILE *out, const struct picture *picture, unsigned y)
{
	char size[32], text[96];

	for (unsigned kind = 0; kind < PICTURE_KINDS; kind++) {
		human_size(size, sizeof(size), picture->total.bytes[kind]);
		snprintf(text, sizeof(text), "%s: %s", kind_names[kind], size);
		put_key(out, LEFT + kind * 220, y, kind_colours[kind], text);
	}
	for (unsigned i = 1; i < PICTURE_DEPTHS && i <= picture->depth; i++) {
		snprintf(text, sizeof(text), "layer %u", i);
		put_key(out, LEFT + (i - 1) * 90, y + 20, layer_colours[i], text);
	}
	snprintf(text, sizeof(text), "jumps in the file: %" PRIu64, picture->total.jumps);
	put_key(out, LEFT, y + 40, "#d00000", text);
}

static void put_picture(FILE *out, const struct picture *picture, const char *name)
{
	unsigned rows = (picture->nr + picture->cols - 1) / picture->cols;
	unsigned width = LEFT + picture->cols * CELL + 20;
	unsigned height = TOP + rows * (CELL + GAP);
	char size[32];

	fprintf(out, "<svg xmlns='http://www.w3.org/2000/svg' width='%u' height='%u' "
		     "font-family='sans-serif' font-size='11'>\n"
		     "<rect width='100%%' height='100%%' fill='white'/>\n"
		     "<text x='%d' y='25' font-size='16'>", width, height + LEGEND, LEFT);
	put_text(out, name);
	human_size(size, sizeof(size), picture->cell_size);
	fprintf(out, "</text>\n<text x='%d' y='45'>a square is %s</text>\n", LEFT, size);
	for (unsigned row = 0; row < rows; row++) {
		unsigned y = TOP + row * (CELL + GAP);
		unsigned left = picture->nr - row * picture->cols;

		human_size(size, sizeof(size), picture->start +
			   (uint64_t)row * picture->cols * picture->cell_size);
		fprintf(out, "<text x='%d' y='%u' text-anchor='end'>%s</text>"
			     "<rect x='%d' y='%u' width='%u' height='%d' fill='%s'/>\n",
			LEFT - 6, y + CELL, size, LEFT, y,
			(left < picture->cols ? left : picture->cols) * CELL, CELL,
			kind_colours[PICTURE_FREE]);
	}
	for (unsigned i = 0; i < picture->nr; i++)
		put_cell(out, picture, i);
	put_legend(out, picture, height + 10);
	fprintf(out, "</svg>\n");
}

int picture_svg(const struct picture *picture, const char *file, const char *name)
{
	FILE *out = fopen(file, "we");
	bool bad;

	if (!out) {
		report_error("Could not open '%s': %s", file, strerror(errno));
		return 1;
	}
	put_picture(out, picture, name);
	bad = ferror(out);
	if (fclose(out) != 0 || bad) {
		report_error("Could not write '%s': %s", file, strerror(errno ? errno : EIO));
		return 1;
	}
	return 0;
}
