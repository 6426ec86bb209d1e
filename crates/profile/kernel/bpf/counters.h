/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The maps of counters and buckets of layers whose operations are numbered by rows. The loader sets
 * the numbers of entries.
 */
#ifndef TRAWL_COUNTERS_H
#define TRAWL_COUNTERS_H

#include "buckets.h"

struct {
	NUMBER(type, MAP_PERCPU_ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct counters);
} counters SECTION(".maps");

/* `resolution` elements for each row of counters. */
struct {
	NUMBER(type, MAP_PERCPU_ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct row);
} buckets SECTION(".maps");

INLINE struct counters *counters_of(u32 row)
{
	return map_lookup(&counters, &row);
}

/* Programs that interrupt one another count dropped operations, so this is atomic. */
INLINE void count_dropped(u32 row)
{
	struct counters *all = counters_of(row);
	if (all)
		__sync_fetch_and_add(&all->dropped, 1);
}

/* The cell that counts operations of a row with this latency. A latency of 0 counts as 1. */
INLINE u64 *cell_of(u32 row, u64 latency_ns)
{
	u32 bucket = bucket_of(latency_ns | !latency_ns);
	u32 index = row * resolution + bucket / ROW;
	struct row *cells = map_lookup(&buckets, &index);
	return cells ? &cells->count[bucket % ROW] : 0;
}

#endif
