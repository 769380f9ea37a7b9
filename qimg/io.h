/* SPDX-License-Identifier: MIT */
/* qimg-io: the test bench.  What its commands share. */
#ifndef QIMG_IO_H
#define QIMG_IO_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "blockdev/include/blockdev.h"

/* Bytes of one request at most: whole sectors in an int. */
enum { IO_LEN_MAX = 0x7ffffe00 };

/* How an image is (re)opened. */
struct io_open {
	const char *format;
	bool image_opts;
	unsigned flags;            /* BD_O_* */
	bool copy_on_read, snapshot;
	bool again;                /* reopened: errors do not name the image */
};

struct io_state {
	struct bd_queue *queue;
	struct bd_node *node;      /* NULL: no file open */
	struct io_open how;        /* how the open image was opened */
	char *name;                /* its name or option string; NULL: none */
	char *options;             /* -o of its open; NULL: none */
	struct io_latency *latency; /* NULL: not asked for */
	char *overlay;             /* temporary snapshot file; NULL: none */
	bool misalign, quit, interactive;
	int failed;                /* a command failed */
};

/* A command of the bench.  argv[0] is its name; the result is 0 or a negative errno. */
struct io_command {
	const char *name, *alias;
	int (*run)(struct io_state *io, int argc, char **argv);
	int min, max;              /* arguments; max -1: any number */
	bool needs_file, modifies;
	const char *args, *summary;
	const char *help;          /* text of "help NAME"; NULL: none */
};

extern const struct io_command io_rw_commands[], io_aio_commands[], io_file_commands[],
	io_misc_commands[];        /* each ends with name == NULL */

/* io_table.c */
const struct io_command *io_find(const char *name);
const struct io_command *io_next(const struct io_command *command); /* all, by name; NULL: first */
int io_run_line(struct io_state *io, char *line);
void io_usage(const struct io_command *command);
/* getopt over a command's words; on an unknown option the usage is printed and '?' returned. */
int io_getopt(const struct io_command *command, int argc, char **argv, const char *letters);
void io_getopt_start(void);

/* io_cmd_file.c: a cache mode by its name; prints what is wrong. */
int io_cache_mode(const char *mode, unsigned *flags);
/* -o may be given several times: joined by commas. */
int io_join_options(char **options, const char *more);
/* io_reopen.c: the command */
int io_run_reopen(struct io_state *io, int argc, char **argv);

/* io_cor.c: if the image was opened with -C, copy what is about to be read from below into it. */
int io_keep_read(struct io_state *io, uint64_t off, uint64_t len);

/* io_input.c: run commands from standard input until its end or "quit". */
void io_run_input(struct io_state *io);

/* io_text.c */
/* Parse a byte count; on error the message is printed and a negative errno returned. */
int64_t io_number(const char *text);
int io_pattern(const char *text); /* 0..255 or -1, after printing */
void io_size_text(char *text, size_t room, double bytes);
struct timespec io_now(void);
/* The two lines (or, @csv, the one line) after an operation of @len bytes at @off. */
void io_report(const struct io_state *io, const char *verb, struct timespec start, uint64_t off,
	       uint64_t len, bool csv);

/* io_buffer.c */
uint8_t *io_buffer_new(struct io_state *io, size_t len, int pattern);
void io_buffer_free(struct io_state *io, uint8_t *buf);
void io_dump(const uint8_t *buf, uint64_t off, size_t len);
/* All bytes are @pattern; else the message with @off is printed and false returned. */
bool io_verify(const uint8_t *buf, int pattern, uint64_t off, size_t len);
/* @len bytes, the file's content repeated; NULL after printing. */
uint8_t *io_buffer_from_file(struct io_state *io, size_t len, const char *name);
/* Split one buffer into the lengths words[0..nr); fills @iov.  Total, or a negative errno. */
int64_t io_vector(char **words, int nr, struct iovec *iov);

/* io_cmd_file.c */
int io_open_image(struct io_state *io, const char *name, const char *options,
		  const struct io_open *how);
int io_close_image(struct io_state *io);
/* io_cmd_aio.c: wait for all asynchronous requests. */
void io_aio_drain(struct io_state *io);

#endif
