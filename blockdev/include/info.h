/* SPDX-License-Identifier: MIT */
/* What `info` prints: facts about one opened image. */
#ifndef BD_INFO_H
#define BD_INFO_H

#include "blockdev/include/blockdev.h"

struct json_t;

struct bd_snapshot_info {
	char *id, *name;
	uint64_t vm_state_size;  /* bytes */
	uint64_t disk_size;      /* guest bytes when it was taken */
	uint32_t date_sec, date_nsec;
	uint64_t vm_clock_ns;
	uint64_t icount;         /* UINT64_MAX: none recorded */
};

/* What suits the image best, or is needed.  Bytes; 0: no limit, or nothing special. */
struct bd_limits {
	uint32_t request_align;     /* of offsets and lengths; what is not is widened */
	uint32_t discard_align;     /* smaller ones may have no effect */
	uint32_t zero_align;        /* smaller ones may be written as data */
	uint32_t max_transfer;      /* of one operation of the host */
	uint32_t max_iov;           /* buffers of one operation */
	uint32_t mem_align;         /* of buffers, at best */
};

struct bd_info {
	uint64_t virtual_size;      /* bytes */
	int64_t actual_size;        /* bytes on disk; < 0: unknown */
	uint32_t cluster_size;      /* bytes; 0: none */
	uint64_t vm_state_off;      /* guest offset of the VM state; 0: none */
	bool encrypted, dirty;
	const char *backing_name;   /* borrowed from the node; NULL: none */
	const char *backing_full;   /* the same, resolved against the image's folder */
	const char *backing_format;
	struct bd_snapshot_info *snapshots;
	size_t nr_snapshots;
	struct bd_limits limits;
	struct json_t *specific;    /* {"type":..., "data":{...}} in QEMU's words, or NULL; owned */
};

/* Blocks.  Free with bd_info_clear().  Like: qemu-img info. */
int bd_info_get(struct bd_node *node, struct bd_info *info, struct bd_error *err);
void bd_info_clear(struct bd_info *info);
/* The same as JSON, in the words of qemu-img info --output=json.  NULL: no memory. */
struct json_t *bd_info_json(struct bd_node *node, const struct bd_info *info);
/* A JSON string of any bytes: what is not UTF-8 becomes U+FFFD.  NULL: no memory. */
struct json_t *bd_json_text(const char *text);
/* The counters of bd_stats_get(): {"driver":..., "l2-cache":{...}...}.  NULL: no memory. */
struct json_t *bd_stats_json(const struct bd_node *node);

#endif
