/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Counters and buckets of an operation, as all layers lay them out (`src/layout.rs`), and how the
 * bucket of a latency is found without a logarithm (`src/borders.rs`).
 */
#ifndef TRAWL_BUCKETS_H
#define TRAWL_BUCKETS_H

#include "kernel.h"

enum {
	ROW = 64, /* buckets in one element of the map */
	OCTAVE_CELLS = 64,
};

/* Buckets per power of two, 1 to 8. */
volatile const u32 resolution = 1;
/* For each 64th of an octave, the bucket in which it begins; and where each bucket begins, as
 * 2^63 * 2^(bucket / resolution), rounded up. */
volatile const u8 cell_bucket[OCTAVE_CELLS] = {};
volatile const u64 bucket_start[16] = {};

struct counters {
	u64 entered;
	u64 ended;
	u64 dropped;
	u64 total_ns;
	u64 complement_of_min_ns; /* so that 0 means none */
	u64 max_ns;
	u64 left; /* changes after the bucket: a reader sees whether it has read all buckets */
	u64 unused; /* fills a cache line */
};

struct row {
	u64 count[ROW];
};

INLINE u32 log2_of(u64 value)
{
	u32 log = 0;
	if (value >> 32) {
		log = 32;
		value >>= 32;
	}
	if (value >> 16) {
		log += 16;
		value >>= 16;
	}
	if (value >> 8) {
		log += 8;
		value >>= 8;
	}
	if (value >> 4) {
		log += 4;
		value >>= 4;
	}
	if (value >> 2) {
		log += 2;
		value >>= 2;
	}
	return log + (value >> 1);
}

/* The bucket b with 2^b <= latency^resolution < 2^(b+1). */
INLINE u32 bucket_of(u64 latency_ns)
{
	u32 log = log2_of(latency_ns);
	if (resolution == 1)
		return log;
	u64 scaled = latency_ns << (63 - log);
	u32 within = cell_bucket[(scaled >> 57) & (OCTAVE_CELLS - 1)] & 7;
	if (scaled >= bucket_start[within + 1])
		within++;
	return log * resolution + within;
}

#endif
