/* SPDX-License-Identifier: MIT */
/* Command line options as data: one table per command is parsed, and printed as help. */
#ifndef QIMG_OPTS_H
#define QIMG_OPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blockdev/include/options.h"

enum opt_kind {
	OPT_FLAG,   /* bool: set to true */
	OPT_TEXT,   /* const char *: the last one wins */
	OPT_JOIN,   /* char *: all of them, joined by commas (-o); heap */
	OPT_STEP,   /* char *: names of all such options in order, with "=" and argument; heap */
	OPT_OBJECT, /* --object: taken at once */
};

/* What separates the steps of OPT_STEP. */
#define OPT_STEP_END "\037"

/* One option; a table ends with an entry that has neither letters nor name. */
struct opt {
	const char *letters;  /* all letters it has, the first is shown; NULL: none */
	const char *name;     /* long name */
	const char *alias;    /* another long name, or NULL */
	enum opt_kind kind;
	size_t field;         /* offset in the command's values */
	const char *arg;      /* what its argument is called */
	const char *help;     /* one line */
};

/* Fields every command has that opens one image. */
struct image_values {
	const char *format, *cache;
	const struct bd_opts *more; /* further options of an image that is named plainly, or NULL */
	bool image_opts, force_share;
};

#define OPT_COMMON_OBJECT \
	{ NULL, "object", NULL, OPT_OBJECT, 0, "OBJDEF", \
	  "define a helper object, such as a secret: secret,id=ID,data=TEXT or file=NAME" }
#define OPT_COMMON_FORMAT(type) \
	{ "f", "format", NULL, OPT_TEXT, offsetof(type, image.format), "FMT", \
	  "format of the image; guessed if not given" }
#define OPT_COMMON_IMAGE_OPTS(type) \
	{ NULL, "image-opts", NULL, OPT_FLAG, offsetof(type, image.image_opts), NULL, \
	  "the image is named by options: driver=qcow2,file.filename=..." }
#define OPT_COMMON_SHARE(type) \
	{ "U", "force-share", NULL, OPT_FLAG, offsetof(type, image.force_share), NULL, \
	  "open the image even if another program writes to it" }
#define OPT_COMMON_QUIET(type) \
	{ "q", "quiet", NULL, OPT_FLAG, offsetof(type, quiet), NULL, "print errors only" }
#define OPT_COMMON_OUTPUT(type) \
	{ NULL, "output", NULL, OPT_TEXT, offsetof(type, output), "OFMT", \
	  "how the result is printed: human, or json (without progress)" }
#define OPT_COMMON_PROGRESS(type) \
	{ "p", "progress", NULL, OPT_FLAG, offsetof(type, progress), NULL, "show progress" }

enum { OPTS_OK = 0, OPTS_HELP = 1, OPTS_BAD = -1, OPTS_BAD_OBJECT = -2 };

/*
 * Sees each option as soon as it is met: its long name, and its argument or NULL.  So the first
 * wrong one is named.  0, or 1: reported.
 */
typedef int opts_look(const char *name, const char *arg, void *values);

/*
 * Parse argv[1..] by @table into @values.  Options may stand behind operands; "--" ends them.
 * *first: index of the first operand (they are moved to the end).  @look may be NULL.
 * OPTS_BAD, OPTS_BAD_OBJECT: already reported.
 */
int opts_parse(const struct opt *table, void *values, opts_look *look, int argc, char **argv,
	       int *first);
/* " [-f FMT] [--output FMT]..." */
void opts_print_synopsis(const struct opt *table);
/* One line per option. */
void opts_print_help(const struct opt *table);
/* Free what opts_parse() allocated. */
void opts_clear(const struct opt *table, void *values);

/*
 * A size of the command line within @min..@max; @what names it in the error.  0, or 1: reported.
 */
int opts_size(const char *what, const char *text, uint64_t min, uint64_t max, uint64_t *out);
/* "human" or "json" (NULL: human).  0, or 1: reported. */
int opts_output(const char *text, bool *json);

#endif
