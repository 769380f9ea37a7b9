/* SPDX-License-Identifier: MIT */
/* The command line: QEMU's words, as a table. */
#ifndef VKVM_OPTIONS_H
#define VKVM_OPTIONS_H

#include "vkvm/block/drive.h"

struct options {
	struct drives drives;
	uint64_t ram_size;           /* bytes */
	unsigned nr_cpus;
	const char *kernel, *initrd, *append, *bios;
	const char *serial, *debugcon, *name, *pidfile, *qmp, *monitor, *stats_file;
	unsigned stats_interval;     /* seconds; 0: none */
	const char *sandbox;         /* NULL: on */
	bool snapshot, stopped, no_reboot, no_shutdown, daemonize;
	uint16_t debug_port;         /* of isa-debug-exit; 0: none */
};

/* Defaults, then argv.  -EINVAL: @err says what is wrong; 1: help or version was printed. */
int options_parse(struct options *options, int argc, char **argv, struct bd_error *err);
void options_clear(struct options *options);

#endif
