/* SPDX-License-Identifier: MIT */
/* A node's counters as JSON. */
#include <jansson.h>

#include "blockdev/include/info.h"

static json_t *cache_json(const struct bd_cache_stats *cache)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
			 "hits", (json_int_t)cache->hits, "misses", (json_int_t)cache->misses,
			 "evictions", (json_int_t)cache->evictions,
			 "cleaned", (json_int_t)cache->cleaned,
			 "resident-bytes", (json_int_t)cache->bytes,
			 "max-bytes", (json_int_t)cache->max_bytes,
			 "writebacks", (json_int_t)cache->writes,
			 "file-hits", (json_int_t)cache->file_hits,
			 "file-stores", (json_int_t)cache->file_stores);
}

json_t *bd_stats_json(const struct bd_node *node)
{
	struct bd_stats stats;

	bd_stats_get(node, &stats);
	return json_pack("{s:s, s:s, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:I}",
			 "driver", bd_format_name(node),
			 "engine", bd_queue_engine(bd_node_queue(node)),
			 "l2-cache", cache_json(&stats.l2),
			 "refcount-cache", cache_json(&stats.refcount),
			 "cow-bytes", (json_int_t)stats.cow_bytes,
			 "decompressed-clusters", (json_int_t)stats.inflated,
			 "metadata-writes", (json_int_t)stats.meta_writes,
			 "barriers", (json_int_t)stats.barriers,
			 "queue-operations", (json_int_t)stats.ops,
			 "queue-system-calls", (json_int_t)stats.syscalls);
}
