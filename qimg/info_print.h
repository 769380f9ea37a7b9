/* SPDX-License-Identifier: MIT */
/* Facts about an image as text and as JSON, in QEMU's words; JSON helpers for the commands. */
#ifndef QIMG_INFO_PRINT_H
#define QIMG_INFO_PRINT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "blockdev/include/info.h"

struct json_t;

void info_print_human(FILE *out, struct bd_node *node, const struct bd_info *info);
/* "Format specific information", if there is any. */
void info_print_specific(FILE *out, const struct bd_info *info);

/* info --limits: a block of lines; an object with the names of newer QEMUs. */
void info_print_limits(FILE *out, const struct bd_limits *limits);
struct json_t *info_limits_to_json(const struct bd_limits *limits);

/* Heading and rows of the table of internal snapshots. */
void info_print_snapshots(FILE *out, const struct bd_snapshot_info *snapshots, size_t nr);

/* Print with four-blank steps and a line feed, and drop @json.  0, or 1: out of memory. */
int json_print(struct json_t *json);

#endif
