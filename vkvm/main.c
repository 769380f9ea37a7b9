/* SPDX-License-Identifier: MIT */
/* vkvm: a machine on KVM with the engine's disks.  The parts are wired here, in order. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "blockdev/include/secret.h"
#include "vkvm/boot/acpi.h"
#include "vkvm/boot/firmware.h"
#include "vkvm/boot/kernel.h"
#include "vkvm/control/control.h"
#include "vkvm/control/daemon.h"
#include "vkvm/devices/platform.h"
#include "vkvm/options.h"
#include "vkvm/report.h"

struct parts {
	struct options options;
	struct machine machine;
	struct platform platform;
	struct power power;
	struct serial serial;
	struct fw_cfg fw_cfg;
	struct pci_bus pci;
	struct disks disks;
	struct firmware firmware;
	struct kernel kernel;
	struct control control;
	struct daemon daemon;
	bool has_pidfile;            /* it is ours, and goes at the end */
};

/* --- consoles ---------------------------------------------------------------------------- */

static void serial_output(void *user, uint8_t byte)
{
	chardev_write(&((struct parts *)user)->control.console, &byte, 1);
}

static void serial_has_room(void *user)
{
	struct parts *parts = user;

	machine_raise(&parts->machine, EVENT_WAKE);
}

static void reset_serial(void *arg)
{
	serial_reset(arg);
}

static int wire_serial(struct parts *parts, struct bd_error *err)
{
	const struct options *options = &parts->options;
	const char *where = options->serial ? options->serial :
			    options->daemonize ? "null" : "stdio";
	struct chardev *console = &parts->control.console;
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int ret = chardev_open(console, where, "-serial", err);

	if (ret < 0)
		return ret;
	if (fd < 0 || vm_irqfd(&parts->machine.vm, SERIAL_IRQ, fd) < 0)
		return bd_fail(err, -ENOSPC, "Could not connect the serial line");
	parts->control.has_keys = console->out == STDOUT_FILENO;
	if (options->daemonize && parts->control.has_keys)
		return bd_fail(err, -EINVAL, "-serial stdio cannot be used with -daemonize");
	serial_init(&parts->serial, fd);
	parts->serial.output = serial_output;
	parts->serial.room = serial_has_room;
	parts->serial.user = parts;
	bus_add(&parts->machine.ports, SERIAL_PORT, 8, serial_access, &parts->serial);
	machine_on_reset(&parts->machine, reset_serial, &parts->serial);
	return 0;
}

/* --- boot -------------------------------------------------------------------------------- */

/* The order in which the firmware tries disks: bootindex=, then as they are given. */
static void boot_order(const struct parts *parts, char *text, size_t size)
{
	const struct disks *disks = &parts->disks;
	size_t len = 0;

	text[0] = 0;
	for (int index = 0; index <= 256; index++) {
		for (unsigned i = 0; i < disks->nr; i++) {
			int own = disks->units[i].drive->boot_index;

			if ((own < 0 ? 256 : own) != index || len >= size)
				continue;
			len += (size_t)snprintf(text + len, size - len,
						"%s/pci@i0cf8/scsi@%x/disk@0,0", len ? "\n" : "",
						disks->units[i].pci.slot);
		}
	}
}

static int wire_boot(struct parts *parts, struct bd_error *err)
{
	const struct options *options = &parts->options;
	char order[2048];

	if (options->kernel) {
		parts->kernel.machine = &parts->machine;
		parts->kernel.bus = &parts->pci;
		parts->kernel.append = options->append ? options->append : "";
		return kernel_load(&parts->kernel, options->kernel, options->initrd, err);
	}
	if (fw_cfg_init(&parts->fw_cfg, &parts->machine) < 0)
		return bd_fail(err, -ENOMEM, "Out of memory");
	if (acpi_tell(&parts->machine, &parts->fw_cfg) < 0)
		return bd_fail(err, -ENOMEM, "Out of memory");
	boot_order(parts, order, sizeof(order));
	return firmware_load(&parts->firmware, &parts->machine, &parts->fw_cfg,
			     options->bios, order, err);
}

/* --- life -------------------------------------------------------------------------------- */

static int wire(struct parts *parts, struct bd_error *err)
{
	const struct options *options = &parts->options;
	struct machine *m = &parts->machine;
	struct chardev log = { .out = -1 };
	int ret = machine_create(m, options->ram_size, options->nr_cpus, err);

	if (ret < 0)
		return ret;
	if (options->debugcon) {
		ret = chardev_open(&log, options->debugcon, "-debugcon", err);
		if (ret < 0)
			return ret;
	}
	platform_init(&parts->platform, m, log.out, options->debug_port);
	if (power_init(&parts->power, m) < 0)
		return bd_fail(err, -ENOSPC, "Could not connect the power button");
	ret = wire_serial(parts, err);
	if (ret < 0)
		return ret;
	pci_bus_init(&parts->pci, m);
	ret = disks_open(&parts->disks, &parts->options.drives, &parts->pci, err);
	return ret < 0 ? ret : wire_boot(parts, err);
}

static int open_file(const char *what, const char *name, struct bd_error *err)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	return fd < 0 ? bd_fail_errno(err, -errno, "%s %s: Could not open the file", what, name) :
			fd;
}

/* Files the control thread writes. */
static int wire_files(struct parts *parts, struct bd_error *err)
{
	const struct options *options = &parts->options;
	struct stats *stats = &parts->control.stats;
	int fd = -1;

	*stats = (struct stats){ .interval = options->stats_interval,
				 .live = !options->stats_file, .fd = -1 };
	if (options->stats_file && !stats->interval)
		stats->interval = 1;
	if (options->stats_file)
		stats->fd = open_file("-stats-file", options->stats_file, err);
	if (options->pidfile && (fd = open_file("-pidfile", options->pidfile, err)) >= 0) {
		parts->has_pidfile = true;
		dprintf(fd, "%d\n", getpid());
		close(fd);
	}
	return (options->stats_file && stats->fd < 0) || (options->pidfile && fd < 0) ? -EIO : 0;
}

static int enter_sandbox(struct parts *parts, struct bd_error *err)
{
	const char *files[5] = {0};
	unsigned nr = 0;

	if (parts->control.console.path)
		files[nr++] = parts->control.console.path;
	if (parts->control.qmp.path)
		files[nr++] = parts->control.qmp.path;
	if (parts->control.hmp.path)
		files[nr++] = parts->control.hmp.path;
	if (parts->has_pidfile)
		files[nr++] = parts->options.pidfile;
	return sandbox_enter(&parts->disks, files, err);
}

static int run(struct parts *parts, struct bd_error *err)
{
	struct control *control = &parts->control;
	int ret = wire(parts, err);

	if (ret == 0)
		ret = wire_files(parts, err);
	if (ret == 0)
		ret = monitor_open(&control->qmp, parts->options.qmp, true, err);
	if (ret == 0)
		ret = monitor_open(&control->hmp, parts->options.monitor, false, err);
	if (ret < 0)
		return ret;
	control->machine = &parts->machine;
	control->disks = &parts->disks;
	control->serial = &parts->serial;
	control->power = &parts->power;
	control->name = parts->options.name;
	control->no_reboot = parts->options.no_reboot;
	control->no_shutdown = parts->options.no_shutdown;
	if (!parts->options.sandbox || strcmp(parts->options.sandbox, "off")) {
		ret = enter_sandbox(parts, err);
		if (ret < 0)
			return ret;
	}
	if (control->has_keys)
		terminal_open(&control->terminal);
	if (parts->options.stopped)
		machine_stop(&parts->machine, STOP_USER);
	ret = machine_start(&parts->machine, err);
	if (ret < 0)
		return ret;
	daemon_ready(&parts->daemon);
	return control_run(control);
}

static void clear(struct parts *parts)
{
	machine_destroy(&parts->machine);
	firmware_clear(&parts->firmware);
	kernel_clear(&parts->kernel);
	fw_cfg_clear(&parts->fw_cfg);
	options_clear(&parts->options);
	bd_secrets_clear();
}

int main(int argc, char **argv)
{
	static struct parts parts;
	struct bd_error err = {0};
	int ret = options_parse(&parts.options, argc, argv, &err);

	if (ret > 0)
		return 0;
	if (ret == 0 && parts.options.daemonize)
		ret = daemon_begin(&parts.daemon, &err);
	if (ret == 0)
		ret = control_init(&parts.control);
	if (ret == 0)
		ret = run(&parts, &err);
	if (ret < 0) {
		terminal_close();
		report_failure(&err);
		ret = 1;
	}
	if (parts.has_pidfile)
		unlink(parts.options.pidfile);
	machine_end(&parts.machine);
	chardev_close(&parts.control.console);
	if (disks_close(&parts.disks) < 0 && ret == 0)
		ret = 1;
	clear(&parts);
	return ret;
}
