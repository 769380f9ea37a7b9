/* SPDX-License-Identifier: MIT */
/* qimg-io: options, then commands from -c or from standard input. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "qimg/io.h"
#include "qimg/io_journal.h"
#include "qimg/io_latency.h"
#include "qimg/object.h"
#include "qimg/program.h"
#include "qimg/report.h"

enum { DEPTH = 256, COMMANDS_MAX = 4096, OPT_OBJECT_ARG = 256, OPT_IMAGE_OPTS,
       OPT_LATENCY, OPT_JOURNAL, OPT_VERIFY, OPT_COUNT, OPT_SEED };

struct args {
	char *commands[COMMANDS_MAX];
	int nr_commands;
	struct io_open how;
	const char *engine, *latency, *journal, *verify;
	uint64_t count, seed; /* of --journal */
	bool cache;      /* a cache mode was given */
	bool done;       /* --help, --version */
};

static const struct option long_options[] = {
	{"help", no_argument, NULL, 'h'}, {"version", no_argument, NULL, 'V'},
	{"cmd", required_argument, NULL, 'c'}, {"format", required_argument, NULL, 'f'},
	{"read-only", no_argument, NULL, 'r'}, {"snapshot", no_argument, NULL, 's'},
	{"nocache", no_argument, NULL, 'n'}, {"copy-on-read", no_argument, NULL, 'C'},
	{"misalign", no_argument, NULL, 'm'}, {"native-aio", no_argument, NULL, 'k'},
	{"aio", required_argument, NULL, 'i'}, {"cache", required_argument, NULL, 't'},
	{"discard", required_argument, NULL, 'd'}, {"trace", required_argument, NULL, 'T'},
	{"force-share", no_argument, NULL, 'U'},
	{"object", required_argument, NULL, OPT_OBJECT_ARG},
	{"image-opts", no_argument, NULL, OPT_IMAGE_OPTS},
	{"latency", required_argument, NULL, OPT_LATENCY},
	{"journal", required_argument, NULL, OPT_JOURNAL},
	{"verify", required_argument, NULL, OPT_VERIFY},
	{"count", required_argument, NULL, OPT_COUNT},
	{"seed", required_argument, NULL, OPT_SEED}, {0},
};

static const char usage_text[] =
	"QEMU Disk exerciser\n"
	"\n"
	"  --object OBJECTDEF   define an object, such as a secret for a password\n"
	"  --image-opts         the file is named by options\n"
	"  -c, --cmd STRING     run a command; may be repeated\n"
	"  -f, --format FMT     image format\n"
	"  -r, --read-only      open read-only\n"
	"  -s, --snapshot       write to a temporary overlay\n"
	"  -n, --nocache        bypass the host's cache, as -t none\n"
	"  -C, --copy-on-read   keep what is read from the backing file\n"
	"  -m, --misalign       misalign buffers\n"
	"  -k, --native-aio     as -i native\n"
	"  -i, --aio=AIO        threads, native, io_uring, sync or mmap\n"
	"  -t, --cache=CACHE    none, writeback, writethrough, directsync or unsafe\n"
	"  -d, --discard=DISCARD  ignore or unmap\n"
	"  -T, --trace SPEC     accepted, ignored\n"
	"  -U, --force-share    open even if another program writes to the image\n"
	"  --latency FILE       write how long operations took, as JSON\n"
	"  --journal FILE       write at random, and note each write in a new FILE first\n"
	"  --count N            writes of --journal (1000)\n"
	"  --seed N             of its random numbers (1)\n"
	"  --verify FILE        is on the image what that journal says, after a crash\n"
	"  -h, --help           this text\n"
	"  -V, --version        version\n"
	"\n"
	"'-c help' lists the commands.\n";

static void print_usage(void)
{
	printf("Usage: %s [OPTIONS]... [-c STRING]... [file]\n%s", program_invocation_short_name,
	       usage_text);
}

static int discard_mode(const char *mode, struct args *args)
{
	args->how.flags &= ~(unsigned)BD_O_UNMAP;
	if (!strcmp(mode, "unmap") || !strcmp(mode, "on"))
		args->how.flags |= BD_O_UNMAP;
	else if (strcmp(mode, "ignore") && strcmp(mode, "off")) {
		report_error("Invalid discard option: %s", mode);
		return -1;
	}
	return 0;
}

static int cache_mode(const char *mode, struct args *args)
{
	args->cache = true;
	if (bd_cache_mode(mode, &args->how.flags) == 0)
		return 0;
	report_error("Invalid cache option: %s", mode);
	return -1;
}

static int number(const char *text, const char *what, uint64_t *value)
{
	if (bd_parse_u64(text, value) == 0)
		return 0;
	report_error("Invalid %s: %s", what, text);
	return -1;
}

static int take(int letter, struct args *args, struct io_state *io)
{
	switch (letter) {
	case 'c':
		if (args->nr_commands == COMMANDS_MAX)
			return -1;
		args->commands[args->nr_commands++] = optarg;
		return 0;
	case 'f': args->how.format = optarg; return 0;
	case 'r': args->how.flags &= ~(unsigned)BD_O_RDWR; return 0;
	case 's': args->how.snapshot = true; return 0;
	case 'n': return cache_mode("none", args);
	case 'C': args->how.copy_on_read = true; return 0;
	case 'm': io->misalign = true; return 0;
	case 'k': args->engine = "native"; return 0;
	case 'i': args->engine = optarg; return 0;
	case 't': return cache_mode(optarg, args);
	case 'd': return discard_mode(optarg, args);
	case 'T': return 0;
	case 'U': args->how.flags |= BD_O_FORCE_SHARE; return 0;
	case OPT_OBJECT_ARG: return object_add(optarg) ? -1 : 0;
	case OPT_LATENCY: args->latency = optarg; return 0;
	case OPT_JOURNAL: args->journal = optarg; return 0;
	case OPT_VERIFY: args->verify = optarg; return 0;
	case OPT_COUNT: return number(optarg, "count", &args->count);
	case OPT_SEED: return number(optarg, "seed", &args->seed);
	case OPT_IMAGE_OPTS: args->how.image_opts = true; return 0;
	case 'h':
		print_usage();
		args->done = true;
		return 0;
	case 'V':
		program_version();
		args->done = true;
		return 0;
	default:
		print_usage();
		return -1;
	}
}

static int parse(int argc, char **argv, struct args *args, struct io_state *io)
{
	int letter;

	while (!args->done && (letter = getopt_long(argc, argv, "hVc:d:f:rsnCmki:t:T:U",
						     long_options, NULL)) != -1) {
		if (take(letter, args, io) < 0)
			return 1;
	}
	if (!args->done && args->how.image_opts && args->how.format) {
		report_error("--image-opts and -f are mutually exclusive");
		return 1;
	}
	if (!args->done && argc - optind > 1) {
		print_usage();
		return 1;
	}
	return 0;
}

static void run_given(struct io_state *io, struct args *args)
{
	for (int i = 0; i < args->nr_commands && !io->quit; i++) {
		char *line = strdup(args->commands[i]);

		io_run_line(io, line);
		free(line);
	}
}

/* The modes that take no commands. */
static int check_modes(struct args *args, int nr_files)
{
	if (!args->journal && !args->verify)
		return 0;
	if ((args->journal && args->verify) || args->nr_commands || nr_files != 1) {
		report_error("--journal and --verify stand alone, with one image");
		return 1;
	}
	/* Flushes are what is tested: they must be ours alone. */
	if (!args->cache)
		args->how.flags &= ~(unsigned)BD_O_WRITETHROUGH;
	if (args->verify)
		args->how.flags &= ~(unsigned)BD_O_RDWR;
	return 0;
}

static void run(struct io_state *io, struct args *args)
{
	if (args->journal)
		io->failed = io_journal_write(io->node, args->journal, args->count, args->seed);
	else if (args->verify)
		io->failed = io_journal_verify(io->node, args->verify);
	else if (args->nr_commands)
		run_given(io, args);
	else
		io_run_input(io);
}

int main(int argc, char **argv)
{
	static struct args args;
	struct io_state io = {0};
	struct bd_error err = {0};
	int ret;

	signal(SIGPIPE, SIG_IGN);
	args.how.flags = BD_O_RDWR | BD_O_UNMAP | BD_O_WRITETHROUGH;
	args.count = 1000;
	args.seed = 1;
	if (parse(argc, argv, &args, &io) || check_modes(&args, argc - optind))
		return 1;
	if (args.done)
		return program_finish(0);
	if (args.latency)
		io.latency = io_latency_new();
	if (args.engine && !strcmp(args.engine, "native"))
		args.how.flags |= BD_O_NATIVE_AIO;
	if (!args.engine)
		args.engine = getenv("QIMG_ENGINE");
	ret = bd_queue_new(args.engine, DEPTH, &io.queue, &err);
	if (ret < 0) {
		if (ret == -EINVAL)
			report_error("Invalid aio option: %s", args.engine);
		else
			report_failure(&err, "%s", "");
		return 1;
	}
	if (optind < argc && io_open_image(&io, argv[optind], NULL, &args.how) < 0) {
		bd_queue_free(io.queue);
		return 1;
	}
	run(&io, &args);
	ret = io_close_image(&io);
	if (io.latency && io_latency_write(io.latency, args.latency))
		io.failed = 1;
	io_latency_free(io.latency);
	bd_queue_free(io.queue);
	free(io.name);
	free(io.options);
	return program_finish(io.failed || ret < 0);
}
