/* SPDX-License-Identifier: MIT */
/* Option trees: "driver=qcow2,file.filename=a.img" and json:{...} in one flat, ordered list. */
#ifndef BD_OPTIONS_H
#define BD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "blockdev/include/error.h"

/* An ordered list of dotted keys with text values: nested JSON objects become "outer.inner". */
struct bd_opts;

struct bd_opts *bd_opts_new(void); /* NULL: out of memory */
void bd_opts_free(struct bd_opts *opts); /* NULL is fine */
struct bd_opts *bd_opts_copy(const struct bd_opts *opts);

/* Set @key, replacing an older value.  Copies both.  0 or -ENOMEM. */
int bd_opts_set(struct bd_opts *opts, const char *key, const char *value);
/* The same; @value is what JSON writes without quotes: a number, or "on" and "off" for truth. */
int bd_opts_set_bare(struct bd_opts *opts, const char *key, const char *value);
/* The value of @key, borrowed until the list changes; NULL: not set. */
const char *bd_opts_get(const struct bd_opts *opts, const char *key);
/* Remove @key and return its value (the caller frees); NULL: not set. */
char *bd_opts_take(struct bd_opts *opts, const char *key);
/* Move all keys that start with @prefix ("file.") into @sub, without it.  Returns how many. */
size_t bd_opts_take_prefix(struct bd_opts *opts, const char *prefix, struct bd_opts *sub);
size_t bd_opts_count(const struct bd_opts *opts);
/* Key and value number @i, in order of first setting. */
const char *bd_opts_key(const struct bd_opts *opts, size_t i);
const char *bd_opts_value(const struct bd_opts *opts, size_t i);
/* The value of @from's pair @i under @key. */
int bd_opts_set_from(struct bd_opts *opts, const char *key, const struct bd_opts *from, size_t i);
bool bd_opts_is_bare(const struct bd_opts *opts, size_t i);

/*
 * Parse "a=b,c=d" into @opts; a comma inside a value is doubled; a bare word at the start is the
 * value of @implied if that is not NULL or empty, else "word" means "word=on" and "noword"
 * "word=off".  -EINVAL with QEMU's text on malformed input, if @implied is NULL.
 * Like: qemu-img's -o and --image-opts.
 */
int bd_opts_parse(struct bd_opts *opts, const char *text, const char *implied,
		  struct bd_error *err);
/* Flatten the JSON object @text ("{...}", without "json:") into @opts.  Depth and size bounded. */
int bd_opts_parse_json(struct bd_opts *opts, const char *text, struct bd_error *err);

/* The reverse: "{...}" with nested objects and text values; the caller frees.  NULL: no memory. */
char *bd_opts_to_json(const struct bd_opts *opts);

enum bd_option_type { BD_OPT_STRING, BD_OPT_BOOL, BD_OPT_SIZE, BD_OPT_NUMBER };

/* One documented option of a format; tables end with name == NULL. */
struct bd_option {
	const char *name;
	enum bd_option_type type;
	const char *help;     /* as "-o help" prints it */
	const char *def;      /* default as text: shown on the "Formatting" line; NULL: none */
	unsigned flags;       /* BD_OPTION_* */
};
enum {
	BD_OPTION_CREATE = 1, /* accepted by create */
	BD_OPTION_AMEND = 2,  /* accepted by amend */
	BD_OPTION_NEWER = 4,  /* newer than QEMU 7.2: not in "-o help", shown only when given */
};

/* "64k", "1.5G", "0x200" to bytes; QEMU's limits (0..2^63-1).  -EINVAL, -ERANGE. */
int bd_parse_size(const char *text, uint64_t *bytes);
/* The same up to @most bytes. */
int bd_parse_size_below(const char *text, uint64_t most, uint64_t *bytes);
/* on/yes/true/y, off/no/false/n.  -EINVAL. */
int bd_parse_bool(const char *text, bool *value);
/* Like strtoull over the whole text, base 10 or 0x.  -EINVAL, -ERANGE. */
int bd_parse_u64(const char *text, uint64_t *value);

/*
 * Take @key out of @opts as a value of its type: -EINVAL with QEMU's text if it is none.
 * Without the key *value stays as it is.  @given: whether it was there; may be NULL.
 */
int bd_opts_take_bool(struct bd_opts *opts, const char *key, bool *value, struct bd_error *err);
int bd_opts_take_size(struct bd_opts *opts, const char *key, uint64_t *value, bool *given,
		      struct bd_error *err);
int bd_opts_take_number(struct bd_opts *opts, const char *key, uint64_t *value, bool *given,
			struct bd_error *err);

#endif
