/* SPDX-License-Identifier: MIT */
/* Errors and warnings on standard error, progress, and cleaning up on signals. */
#include "qimg/report.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "qimg/human.h"

/* State that a signal handler must reach; nothing else of the program is global. */
static volatile sig_atomic_t progress_asked;
static char remove_names[2][4096];
static volatile sig_atomic_t nr_remove;

static void line(const char *kind, const char *fmt, va_list args)
{
	fprintf(stderr, "%s: %s", program_invocation_short_name, kind);
	vfprintf(stderr, fmt, args);
}

void report_error(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	line("", fmt, args);
	va_end(args);
	fputc('\n', stderr);
}

void report_warning(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	line("warning: ", fmt, args);
	va_end(args);
	fputc('\n', stderr);
}

void report_failure(const struct bd_error *err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	line("", fmt, args);
	va_end(args);
	fprintf(stderr, "%s\n", err->msg);
	if (err->hint[0])
		fprintf(stderr, "%s\n", err->hint);
}

int report_usage(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	line("", fmt, args);
	va_end(args);
	fprintf(stderr, "\nTry '%s --help' for more information\n",
		program_invocation_short_name);
	return 1;
}

void report_short_forms(const char *text, bool implied)
{
	while (*text) {
		size_t name = strcspn(text, "=,"), len = strcspn(text, ",");

		if (name == len && name && !implied) {
			bool off = !strncmp(text, "no", 2);

			report_warning("short-form boolean option '%.*s' deprecated\n"
				       "Please use %.*s=%s instead", (int)name, text,
				       (int)name - (off ? 2 : 0), text + (off ? 2 : 0),
				       off ? "off" : "on");
		}
		/* A doubled comma is part of a value. */
		while (text[len] && text[len + 1] == ',')
			len += 2 + strcspn(text + len + 2, ",");
		text += len + (text[len] == ',');
		implied = false;
	}
}

void report_warn_line(const char *text, void *user)
{
	(void)user;
	report_warning("%s", text);
}

void report_err_line(const char *text, void *user)
{
	(void)user;
	fprintf(stderr, "%s\n", text);
}

void report_out_line(const char *text, void *user)
{
	(void)user;
	printf("%s\n", text);
	fflush(stdout); /* what is about to be done comes before errors of doing it */
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void on_usr1(int sig)
{
	(void)sig;
	progress_asked = 1;
}

void progress_begin(struct progress *progress, bool on, double step)
{
	struct sigaction action = { .sa_handler = on_usr1, .sa_flags = SA_RESTART };

	*progress = (struct progress){
		.on = on,
		.terminal = isatty(STDOUT_FILENO) == 1,
		.last = -1,
		.step = step,
		.start_ns = now_ns(),
	};
	sigaction(SIGUSR1, &action, NULL);
}

/* " 123 MiB/s, 0:42 left", padded so that it covers a longer one. */
static void show_rate(const struct progress *progress, uint64_t done, uint64_t total)
{
	double seconds = (double)(now_ns() - progress->start_ns) / 1e9;
	char rate[32], text[80];
	double left;

	if (seconds < 0.5 || !done)
		return;
	left = seconds * (double)(total - done) / (double)done;
	human_size(rate, sizeof(rate), (uint64_t)((double)done / seconds));
	snprintf(text, sizeof(text), " %s/s, %u:%02u left", rate, (unsigned)left / 60,
		 (unsigned)left % 60);
	printf("%-32s", text);
}

void progress_update(uint64_t done, uint64_t total, void *user)
{
	struct progress *progress = user;
	double percent = total ? 100.0 * (double)done / (double)total : 100;

	if (progress_asked) {
		progress_asked = 0;
		fprintf(stderr, "    (%3.2f/100%%)\n", percent);
	}
	if (!progress->on)
		return;
	/* The first line says 0, the last 100; between them only every step. */
	if (progress->last < 0)
		percent = 0;
	else if (percent < 100 && percent - progress->last < progress->step)
		return;
	progress->last = percent;
	printf("    (%3.2f/100%%)", percent);
	if (progress->terminal)
		show_rate(progress, done, total);
	putchar('\r');
	fflush(stdout);
}

void progress_end(struct progress *progress)
{
	if (!progress->on)
		return;
	progress->on = false;
	putchar('\n');
	fflush(stdout);
}

static void on_end(int sig)
{
	int i = nr_remove;

	while (i-- > 0)
		unlink(remove_names[i]);
	signal(sig, SIG_DFL);
	raise(sig);
}

void signals_remove(const char *name)
{
	struct sigaction action = { .sa_handler = on_end };
	struct stat info;

	if (!name)
		return;
	if (!strncmp(name, "file:", 5))
		name += 5;
	if (nr_remove == 2 || strlen(name) >= sizeof(remove_names[0]) || lstat(name, &info) == 0)
		return;
	strcpy(remove_names[nr_remove], name);
	nr_remove++;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

void signals_keep(void)
{
	nr_remove = 0;
}

void signals_remove_now(void)
{
	while (nr_remove > 0) {
		nr_remove--;
		unlink(remove_names[nr_remove]);
	}
}
