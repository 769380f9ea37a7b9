/* SPDX-License-Identifier: MIT */
/* One opened image: a layer of a backing chain. */
#ifndef BD_NODE_H
#define BD_NODE_H

#include "blockdev/base/list.h"
#include "blockdev/crypto/sector.h"
#include "blockdev/include/blockdev.h"
#include "blockdev/io/file.h"

struct bd_format;

enum { BD_PROBE_LEN = 512 }; /* bytes a format is guessed from; QEMU looks at as many */

struct bd_node {
	const struct bd_format *fmt;
	void *state;                /* the format's, fmt->state_size bytes */
	struct bd_queue *queue;
	struct io_file *file;       /* metadata; owned */
	struct io_file *data;       /* guest data: == file, or an external data file; owned */
	struct bd_node *backing;    /* owned; NULL: none */
	struct bd_node *overlay;    /* the node above; NULL: top */
	struct bd_opts *opts;       /* while opening: keys not yet taken */
	uint64_t size;              /* guest bytes */
	unsigned flags;             /* BD_O_* */
	uint32_t cluster_size;      /* bytes; 0: the format has none */
	uint32_t request_align;     /* guest bytes; the io layer widens what is smaller */
	char *filename;             /* as shown to people */
	char *backing_name;         /* as stored in the image; NULL: none */
	char *backing_full;         /* resolved; NULL: none */
	char *backing_format;       /* as stored; NULL: none */
	bool probed, corrupt, encrypted, dirty;
	const struct bd_sectors *cipher; /* guest data are cipher text; NULL: plain, or no key */
	bool iv_by_guest;           /* initial vectors follow the guest offset, not the host's */
	bool protocol;              /* named by its file driver ("driver=null-co"): no format */
	uint8_t *probe_head;        /* guessed raw: its first BD_PROBE_LEN bytes; NULL: no guard */
	bool told_damage;           /* non-fatal damage has been reported */
	bool zero_init;             /* all of a new image reads as zeros */
	bool data_is_raw;           /* @data is the guest's disk byte by byte, and must stay so */

	/* data plane, core/ only */
	struct link active;         /* requests in flight, oldest first */
	struct link inflight;       /* ranges of writes in flight (alloc.c) */
	struct link grace;          /* bd_wait: look again when a request has no operation left */
	struct link parked;         /* bd_wait of requests that wait for a quiet node */
	struct link packing;        /* requests being compressed, in order */
	uint64_t seq;               /* number of the newest request */
	bool wrote;                 /* first_write has run */
	unsigned pack_level;        /* of compression; 0: the format's own choice */
	bool pack_small_window;     /* deflate: distances of 4 KiB at most */
	bool slow_wanted;           /* fmt->write->slow must run once quiet */
	struct link slow_link;      /* on queue->slow */
	struct bd_stats stats;
};

#endif
