/* SPDX-License-Identifier: MIT */
/* Rules of fault injection: which event makes which operations fail, and in which state. */
#ifndef IO_FAULT_RULES_H
#define IO_FAULT_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "blockdev/base/list.h"
#include "blockdev/io/engine.h"

enum fault_action {
	FAULT_INJECT,    /* from the event on, matching operations fail */
	FAULT_SET_STATE,
	FAULT_SUSPEND,   /* the operation that follows the event is held */
};

struct fault_rule {
	struct link link;        /* fault_rules.all, in order of definition */
	struct link active;      /* fault_rules.active, if its event has come */
	enum fault_action action;
	int event;               /* index of its name */
	uint64_t state;          /* it applies in; 0: any */
	int error;               /* INJECT: errno, positive */
	bool once;
	uint64_t off;            /* INJECT: byte that must be touched; UINT64_MAX: any */
	unsigned kinds;          /* INJECT: bit mask of enum io_kind */
	uint64_t new_state;      /* SET_STATE */
	char *tag;               /* SUSPEND */
};

struct fault_rules {
	struct link all, active;
	uint64_t state;
};

void io_fault_init(struct fault_rules *rules);
void io_fault_clear(struct fault_rules *rules);
/* Index of an event's name; -ENOENT: no such event. */
int io_fault_event(const char *name);
/* Take "inject-error.*" and "set-state.*" out of @opts. */
int io_fault_parse(struct fault_rules *rules, struct bd_opts *opts, struct bd_error *err);
/* Read a configuration file: its sections become the same options. */
int io_fault_read_config(const char *path, struct bd_opts *opts, struct bd_error *err);
/* An event happens.  Returns the tag of a breakpoint (the caller frees), or NULL. */
char *io_fault_happen(struct fault_rules *rules, int event);
/* The errno (positive) @op fails with, or 0. */
int io_fault_check(struct fault_rules *rules, const struct io_op *op);
int io_fault_add_break(struct fault_rules *rules, int event, const char *tag);
/* -ENOENT: no such breakpoint. */
int io_fault_remove_break(struct fault_rules *rules, const char *tag);

#endif
