/* SPDX-License-Identifier: MIT */
/* What the programs say: errors, warnings, progress; and what happens on a signal. */
#ifndef QIMG_REPORT_H
#define QIMG_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "blockdev/include/error.h"

/* "qemu-img: text", with the name the program was called by, on standard error. */
void report_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/*
 * Warn of "x" and "nox" in the option list @text, which mean "x=on" and "x=off".
 * @implied: a first word without "=" is a value.
 */
void report_short_forms(const char *text, bool implied);
void report_warning(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same for an error of the library: @fmt in front of its text, and its hint below. */
void report_failure(const struct bd_error *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* An error of usage, with the line that points to --help.  Returns the exit status 1. */
int report_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Callback shapes of the library: a warning, a plain line on standard error, or on output. */
void report_warn_line(const char *line, void *user);
void report_err_line(const char *line, void *user);
void report_out_line(const char *line, void *user);

/* Progress of one job; lives on the command's stack. */
struct progress {
	bool on;          /* -p, and not -q */
	bool terminal;    /* show rate and time left, too */
	double last, step; /* percent shown, least percent between two lines */
	uint64_t start_ns;
};

/* Start; from now on SIGUSR1 asks for one line on standard error. */
void progress_begin(struct progress *progress, bool on, double step);
/* The library's progress callback; @user is the struct progress. */
void progress_update(uint64_t done, uint64_t total, void *user);
void progress_end(struct progress *progress);

/*
 * Remove file @name when a signal ends the program before signals_keep().  Only a plain local
 * file that does not exist yet is taken; two at most are remembered.
 */
void signals_remove(const char *name);
/* The files are complete: keep them. */
void signals_keep(void);
/* The command failed: remove them now. */
void signals_remove_now(void);

#endif
