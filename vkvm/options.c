/* SPDX-License-Identifier: MIT */
/* The command line, one table: it is parsed and printed as help. */
#include "vkvm/options.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blockdev/include/secret.h"
#include "config.h"
#include "vkvm/machine/machine.h"

enum { POLL_MAX_NS = 32768 }; /* as QEMU's */

enum kind {
	OPT_FLAG,     /* bool at the field */
	OPT_TEXT,     /* const char * at the field; the last one wins */
	OPT_DISK,     /* an image; field is its place */
	OPT_PARSED,   /* by its function */
	OPT_IGNORED,  /* means nothing here, and does no harm */
	OPT_REFUSED,  /* something this program does not do; help says what */
};

struct option {
	const char *name;
	const char *arg;             /* what its argument is called; NULL: it has none */
	enum kind kind;
	size_t field;
	int (*parse)(struct options *options, const char *arg, struct bd_error *err);
	const char *help;
};

/* --- values ------------------------------------------------------------------------------ */

static int parse_drive(struct options *options, const char *arg, struct bd_error *err)
{
	return drives_add(&options->drives, arg, err);
}

static int parse_blockdev(struct options *options, const char *arg, struct bd_error *err)
{
	return drives_add_node(&options->drives, arg, err);
}

static int parse_debug_exit(struct options *options, const char *keys, struct bd_error *err)
{
	struct bd_opts *opts = bd_opts_new();
	int ret = opts ? bd_opts_parse(opts, keys, NULL, err) : -ENOMEM;
	const char *port = ret == 0 ? bd_opts_get(opts, "iobase") : NULL;
	uint64_t value = 0x501;

	if (ret == 0 && port && (bd_parse_u64(port, &value) < 0 || !value || value > 0xfffc))
		ret = bd_fail(err, -EINVAL, "Parameter 'iobase' expects a port");
	options->debug_port = (uint16_t)value;
	bd_opts_free(opts);
	return ret;
}

static int parse_device(struct options *options, const char *arg, struct bd_error *err)
{
	size_t len = strcspn(arg, ",");
	const char *keys = arg[len] ? arg + len + 1 : "";

	if ((len == 14 && !strncmp(arg, "virtio-blk-pci", len)) ||
	    (len == 10 && !strncmp(arg, "virtio-blk", len)))
		return drives_add_device(&options->drives, keys, false, err);
	if (len == 17 && !strncmp(arg, "virtio-blk-device", len))
		return drives_add_device(&options->drives, keys, true, err);
	if (len == 14 && !strncmp(arg, "isa-debug-exit", len))
		return parse_debug_exit(options, keys, err);
	if (len == 14 && !strncmp(arg, "virtio-rng-pci", len))
		return 0; /* there is one anyway */
	return bd_fail(err, -ENOTSUP, "'%.*s' is not a valid device model name", (int)len, arg);
}

/* Secrets, and how long the one I/O thread polls, whatever it is called; others mean nothing. */
static int parse_object(struct options *options, const char *arg, struct bd_error *err)
{
	struct bd_opts *opts = bd_opts_new();
	int ret = opts ? bd_opts_parse(opts, arg, "qom-type", err) : -ENOMEM;
	const char *type = ret == 0 ? bd_opts_get(opts, "qom-type") : NULL;

	if (type && (!strcmp(type, "secret") || !strcmp(type, "secret_keyring")))
		ret = bd_secret_add(opts, err);
	else if (type && !strcmp(type, "iothread"))
		ret = bd_opts_take_number(opts, "poll-max-ns", &options->drives.poll_max_ns, NULL,
					  err);
	bd_opts_free(opts);
	return ret;
}

/* "-m 512", "-m 2G", "-m size=2G". */
static int parse_memory(struct options *options, const char *arg, struct bd_error *err)
{
	size_t len;
	uint64_t size;

	if (!strncmp(arg, "size=", 5))
		arg += 5;
	len = strlen(arg);
	if (bd_parse_size(arg, &size) < 0)
		return bd_fail(err, -EINVAL, "Parameter 'size' expects a non-negative number below "
					     "2^64");
	if (len && arg[len - 1] >= '0' && arg[len - 1] <= '9')
		size = size > UINT64_MAX >> 20 ? UINT64_MAX : size << 20;
	if (size < 2 << 20 || size > 1ull << 40)
		return bd_fail(err, -EINVAL, "memory must be between 2 MiB and 1 TiB");
	options->ram_size = size & ~0xfffull;
	return 0;
}

static int parse_smp(struct options *options, const char *arg, struct bd_error *err)
{
	struct bd_opts *opts = bd_opts_new();
	int ret = opts ? bd_opts_parse(opts, arg, "cpus", err) : -ENOMEM;
	const char *cpus = ret == 0 ? bd_opts_get(opts, "cpus") : NULL;
	uint64_t nr = 1, one;

	if (cpus && bd_parse_u64(cpus, &nr) < 0)
		nr = 0;
	for (size_t i = 0; ret == 0 && !cpus && i < bd_opts_count(opts); i++) {
		bool part = strcmp(bd_opts_key(opts, i), "maxcpus");

		if (part && (bd_parse_u64(bd_opts_value(opts, i), &one) < 0 || !one || one > 4096))
			nr = 0;
		else if (part)
			nr *= one;
	}
	bd_opts_free(opts);
	if (ret == 0 && (nr < 1 || nr > MACHINE_MAX_CPUS))
		ret = bd_fail(err, -EINVAL, "the number of CPUs must be between 1 and %d",
			      MACHINE_MAX_CPUS);
	options->nr_cpus = (unsigned)nr;
	return ret;
}

static int parse_accel(struct options *options, const char *arg, struct bd_error *err)
{
	(void)options;
	/* Also in a list, "kvm:tcg". */
	return strstr(arg, "kvm") ? 0 : bd_fail(err, -ENOTSUP, "only kvm is supported");
}

static int parse_stats(struct options *options, const char *arg, struct bd_error *err)
{
	uint64_t seconds;

	if (bd_parse_u64(arg, &seconds) < 0 || !seconds || seconds > 86400)
		return bd_fail(err, -EINVAL, "a number of seconds is expected");
	options->stats_interval = (unsigned)seconds;
	return 0;
}

static int parse_help(struct options *options, const char *arg, struct bd_error *err);

static int parse_version(struct options *options, const char *arg, struct bd_error *err)
{
	(void)options;
	(void)arg;
	(void)err;
	printf("vkvm version " QIMG_VERSION "\n");
	return 1;
}

/* --- table ------------------------------------------------------------------------------- */

#define TEXT(name, field, arg, help) \
	{ name, arg, OPT_TEXT, offsetof(struct options, field), NULL, help }
#define FLAG(name, field, help) \
	{ name, NULL, OPT_FLAG, offsetof(struct options, field), NULL, help }
#define DISK(name, index, help) { name, "FILE", OPT_DISK, index, NULL, help }
#define PARSED(name, arg, fn, help) { name, arg, OPT_PARSED, 0, fn, help }
#define IGNORED(name, arg) { name, arg, OPT_IGNORED, 0, NULL, NULL }
#define REFUSED(name, arg, why) { name, arg, OPT_REFUSED, 0, NULL, why }

static const struct option table[] = {
	PARSED("h", NULL, parse_help, "print this help"),
	PARSED("help", NULL, parse_help, NULL),
	PARSED("version", NULL, parse_version, "print the version"),
	PARSED("m", "SIZE", parse_memory, "memory, in MiB or with a suffix [128M]"),
	PARSED("smp", "N", parse_smp, "processors [1]"),
	DISK("hda", 0, "first disk; -hdb, -hdc, -hdd likewise"),
	DISK("hdb", 1, NULL),
	DISK("hdc", 2, NULL),
	DISK("hdd", 3, NULL),
	PARSED("drive", "OPTIONS", parse_drive, "a disk: file=, format=, cache=, werror=..."),
	PARSED("blockdev", "OPTIONS", parse_blockdev, "a disk's image, by node-name= or as JSON"),
	PARSED("device", "OPTIONS", parse_device, "virtio-blk-pci,drive=; isa-debug-exit,iobase="),
	FLAG("snapshot", snapshot, "write to temporary overlays instead of the images"),
	TEXT("kernel", kernel, "FILE", "start this kernel: bzImage or ELF"),
	TEXT("initrd", initrd, "FILE", "its initial RAM disk"),
	TEXT("append", append, "TEXT", "its command line"),
	TEXT("bios", bios, "FILE", "firmware instead of the distribution's SeaBIOS"),
	TEXT("serial", serial, "WHERE", "COM1: stdio (default), file:NAME, pty, unix:PATH, null"),
	TEXT("qmp", qmp, "WHERE", "QMP at unix:PATH,server=on,wait=off"),
	TEXT("monitor", monitor, "WHERE", "HMP at unix:PATH,server=on,wait=off"),
	TEXT("debugcon", debugcon, "WHERE", "the firmware's log: stdio, file:NAME"),
	TEXT("name", name, "NAME", "what the machine is called"),
	TEXT("pidfile", pidfile, "FILE", "write the process number there"),
	PARSED("stats", "SECONDS", parse_stats, "show the disks' counters at this interval"),
	TEXT("stats-file", stats_file, "FILE", "write them there, as JSON, instead"),
	TEXT("sandbox", sandbox, "WORD", "off: keep all privileges while the guest runs"),
	FLAG("S", stopped, "do not start the processors yet"),
	FLAG("no-reboot", no_reboot, "end instead of rebooting"),
	FLAG("daemonize", daemonize, "go on in the background once the guest runs"),
	FLAG("no-shutdown", no_shutdown, "stop instead of ending when the guest powers off"),
	IGNORED("nographic", NULL),
	IGNORED("enable-kvm", NULL),
	PARSED("accel", "NAME", parse_accel, NULL),
	IGNORED("machine", "NAME"),
	IGNORED("M", "NAME"),
	IGNORED("cpu", "NAME"),
	IGNORED("nodefaults", NULL),
	IGNORED("no-user-config", NULL),
	IGNORED("no-acpi", NULL),
	IGNORED("rtc", "OPTIONS"),
	IGNORED("boot", "OPTIONS"),
	IGNORED("uuid", "ID"),
	PARSED("object", "OPTIONS", parse_object,
	       "secret,id=ID,data=TEXT or file=NAME: the key of an encrypted disk"),
	REFUSED("netdev", "OPTIONS", "networking"),
	REFUSED("usb", NULL, "USB"),
	REFUSED("usbdevice", "NAME", "USB"),
	REFUSED("incoming", "FROM", "migration"),
	REFUSED("loadvm", "NAME", "saved state of memory"),
	REFUSED("cdrom", "FILE", "CD-ROM drive"),
	REFUSED("fda", "FILE", "floppy drive"),
	REFUSED("fdb", "FILE", "floppy drive"),
	REFUSED("spice", "OPTIONS", "graphics"),
	REFUSED("sdl", NULL, "graphics"),
	REFUSED("audiodev", "OPTIONS", "sound"),
	REFUSED("vnc", "WHERE", "graphics"),
	/* these are accepted with the value "none" only */
	REFUSED("nic", "OPTIONS", "networking"),
	REFUSED("net", "OPTIONS", "networking"),
	REFUSED("display", "KIND", "graphics"),
	REFUSED("vga", "KIND", "graphics"),
	{ 0 },
};

static int parse_help(struct options *options, const char *arg, struct bd_error *err)
{
	(void)options;
	(void)arg;
	(void)err;
	printf("usage: vkvm [options] [disk image]\n\n"
	       "Run a virtual machine on KVM with the disk images of qimg.\n\n");
	for (const struct option *option = table; option->name; option++) {
		char text[64];

		if (!option->help || option->kind == OPT_REFUSED)
			continue;
		snprintf(text, sizeof(text), "-%s %s", option->name,
			 option->arg ? option->arg : "");
		printf("  %-20s %s\n", text, option->help);
	}
	printf("\nThe console is on standard input and output: Ctrl-A x ends the machine, "
	       "Ctrl-A h\nlists the other keys.\n");
	return 1;
}

static int apply(struct options *options, const struct option *option, const char *arg,
		 struct bd_error *err)
{
	void *field = (char *)options + option->field;

	switch (option->kind) {
	case OPT_FLAG:
		*(bool *)field = true;
		return 0;
	case OPT_TEXT:
		*(const char **)field = arg;
		return 0;
	case OPT_DISK:
		return drives_add_file(&options->drives, arg, (int)option->field, err);
	case OPT_PARSED:
		return option->parse(options, arg, err);
	case OPT_IGNORED:
		return 0;
	default:
		if (arg && !strcmp(arg, "none"))
			return 0;
		return bd_fail(err, -ENOTSUP, "there is no %s in this machine", option->help);
	}
}

/* One option at argv[*i]; names may have one dash or two. */
static int parse_one(struct options *options, int argc, char **argv, int *i, struct bd_error *err)
{
	const char *word = argv[*i], *name = word + 1 + (word[1] == '-'), *arg = NULL;
	const struct option *option = table;
	int ret;

	while (option->name && strcmp(option->name, name))
		option++;
	if (!option->name)
		return bd_fail(err, -EINVAL, "%s: invalid option", word);
	if (option->arg) {
		if (*i + 1 >= argc)
			return bd_fail(err, -EINVAL, "%s: requires an argument", word);
		arg = argv[++*i];
	}
	ret = apply(options, option, arg, err);
	if (ret < 0)
		bd_prefix(err, "%s%s%s: ", word, arg ? " " : "", arg ? arg : "");
	return ret;
}

int options_parse(struct options *options, int argc, char **argv, struct bd_error *err)
{
	int ret;

	*options = (struct options){ .ram_size = 128 << 20, .nr_cpus = 1,
				     .drives.poll_max_ns = POLL_MAX_NS };
	for (int i = 1; i < argc; i++) {
		if (argv[i][0] == '-' && argv[i][1])
			ret = parse_one(options, argc, argv, &i, err);
		else
			ret = drives_add_file(&options->drives, argv[i], 0, err);
		if (ret)
			return ret;
	}
	if (options->initrd && !options->kernel)
		return bd_fail(err, -EINVAL, "-initrd only allowed with -kernel option");
	if (options->append && !options->kernel)
		return bd_fail(err, -EINVAL, "-append only allowed with -kernel option");
	return drives_finish(&options->drives, options->snapshot, options->nr_cpus, err);
}

void options_clear(struct options *options)
{
	drives_clear(&options->drives);
}
