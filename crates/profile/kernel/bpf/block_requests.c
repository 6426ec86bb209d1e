// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Latencies of block requests, counted where they happen.
 *
 * | operation | from | to |
 * |---|---|---|
 * | queue | the request is put into the scheduler's or the driver's queue | it is given to the driver |
 * | device | the request is given to the driver | the device has completed all of it |
 * | whole | the kernel made the request (`start_time_ns`, the kernel's own) | as device |
 *
 * A request that goes to the driver at once is never in a queue. A driver that is busy gives a
 * request back (requeue): that attempt is dropped, and the request is in the queue again. A request
 * that another one absorbs (merge) never completes: it is `ended`.
 *
 * A hash map keeps the requests in flight, by the address of the request. The kernel reuses
 * addresses: a request whose end no program was told of is dropped, and counted as `unseen`, when the
 * next request appears at its address.
 *
 * Each slot has `OPERATIONS` rows of counters for each of its `KINDS`.
 *
 * Counters are per CPU, and atomic: programs run in tasks and in interrupts, so that one may
 * interrupt another. The kernel does not run a program on a CPU on which it is running already, as
 * when an interrupt completes a request while `complete` counts another one. So there is a second
 * program, `NAME_missed`, that counts what the first one has missed.
 */
#include "counters.h"

enum {
	KINDS = 10,
	OPERATIONS = 3,
	IN_FLIGHT_MAX = 32768,
	OCTAVES = 40, /* latencies for which sizes are kept: up to 2^40 ns, 18 minutes */
	SIZE_LEAST = 9, /* 512 bytes, a sector */
	SIZES = 23, /* up to 2^32 bytes, the most that a request can have */
	NONE = 0xffffffff,
};
enum { QUEUE = 0, DEVICE = 1, WHOLE = 2 };
enum {
	READ = 0,
	READ_AHEAD = 1,
	READ_META = 2,
	WRITE = 3,
	WRITE_SYNC = 4,
	WRITE_META = 5,
	FLUSH = 6,
	DISCARD = 7,
	WRITE_ZEROES = 8,
	OTHER = 9,
};

/* Whether only those devices are counted that the loader has entered into `devices`. */
volatile const u32 only_known = 0;
/* Slots for devices. The last one is for all devices for which there is none. */
volatile const u32 slots_max = 2;

struct state {
	u64 since_ns; /* requests that were made earlier are not counted; 0: none is counted yet */
	u64 slots_used;
	u64 overflowed; /* requests for which the map of requests in flight had no room */
	u64 caught; /* events that second programs counted */
	u64 unseen; /* requests whose end no program was told of */
} state = {};

struct gendisk {
	s32 major;
	s32 first_minor;
	char disk_name[32];
} OF_KERNEL;

struct request_queue {
	struct gendisk *disk;
} OF_KERNEL;

struct request {
	struct request_queue *q;
	u32 cmd_flags;
	u32 __data_len;
	u64 start_time_ns;
} OF_KERNEL;

/* Before 5.17. */
struct request___before_5_17 {
	struct gendisk *rq_disk;
} OF_KERNEL;

enum req_flag_bits {
	__REQ_SYNC = 11,
	__REQ_META = 12,
	__REQ_RAHEAD = 19,
};

struct device {
	u32 slot;
	char name[32];
};

struct {
	NUMBER(type, MAP_HASH);
	NUMBER(max_entries, 2);
	TYPE(key, u32);
	TYPE(value, struct device);
} devices SECTION(".maps");

/* How far a request has come. */
struct progress {
	u64 made_ns; /* `start_time_ns`; 0 if the kernel did not look at the clock */
	u64 seen_ns;
	u64 queued_ns; /* 0: not in a queue */
	u64 issued_ns; /* 0: not at the device */
	u32 row; /* of the operation `queue`; the others follow */
	u32 bytes;
};

struct {
	NUMBER(type, MAP_HASH);
	NUMBER(max_entries, IN_FLIGHT_MAX);
	TYPE(key, u64);
	TYPE(value, struct progress);
} in_flight SECTION(".maps");

/* Sizes of requests, for each octave of the device's latency. */
struct sizes {
	u64 total_bytes;
	u64 count[SIZES];
};

struct {
	NUMBER(type, MAP_PERCPU_ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct sizes);
} sizes SECTION(".maps");

char terms[] SECTION("license") = "Dual MIT/GPL";

INLINE void count_entered(u32 row)
{
	struct counters *all = counters_of(row);
	if (all)
		__sync_fetch_and_add(&all->entered, 1);
}

INLINE void count_ended(u32 row)
{
	struct counters *all = counters_of(row);
	if (all)
		__sync_fetch_and_add(&all->ended, 1);
}

/* Interrupts that change the number in between are few. */
enum { ATTEMPTS = 4 };

INLINE void raise_to(u64 *number, u64 value)
{
#pragma unroll
	for (u32 attempt = 0; attempt < ATTEMPTS; attempt++) {
		u64 old = *(volatile u64 *)number;
		if (value <= old || __sync_val_compare_and_swap(number, old, value) == old)
			return;
	}
}

INLINE void leave(u32 number, u64 latency_ns)
{
	struct counters *all = counters_of(number);
	if (!all)
		return;
	__sync_fetch_and_add(&all->total_ns, latency_ns);
	raise_to(&all->complement_of_min_ns, ~latency_ns);
	raise_to(&all->max_ns, latency_ns);
	u64 *cell = cell_of(number, latency_ns);
	if (cell) {
		__sync_fetch_and_add(cell, 1);
		__sync_fetch_and_add(&all->left, 1);
	} else {
		__sync_fetch_and_add(&all->dropped, 1);
	}
}

/* The size of a request with this latency; requests without data have none. */
INLINE void count_size(u32 row, u64 latency_ns, u32 bytes)
{
	u32 octave = log2_of(latency_ns | !latency_ns);
	u32 size = log2_of(bytes | 1);
	if (octave >= OCTAVES || size < SIZE_LEAST)
		return;
	size -= SIZE_LEAST;
	u32 index = row / OPERATIONS * OCTAVES + octave;
	struct sizes *all = map_lookup(&sizes, &index);
	if (!all || size >= SIZES)
		return;
	__sync_fetch_and_add(&all->total_bytes, bytes);
	__sync_fetch_and_add(&all->count[size], 1);
}

INLINE struct gendisk *disk_of(struct request *request)
{
	struct request___before_5_17 *old = (void *)request;
	if (HAS_MEMBER(old->rq_disk))
		return old->rq_disk;
	return request->q->disk;
}

/* The device's slot; gives it one if it has none. */
INLINE u32 slot_of(struct gendisk *disk)
{
	u32 number = ((u32)disk->major << 20) | ((u32)disk->first_minor & 0xfffff);
	struct device *known = map_lookup(&devices, &number);
	if (known)
		return known->slot;
	if (only_known)
		return NONE;
	if (state.slots_used + 1 >= slots_max)
		return slots_max - 1;
	struct device device = {};
	device.slot = __sync_fetch_and_add(&state.slots_used, 1);
	if (device.slot + 1 >= slots_max)
		return slots_max - 1;
	probe_read_kernel(device.name, sizeof(device.name), disk->disk_name);
	map_update(&devices, &number, &device, IF_ABSENT);
	known = map_lookup(&devices, &number);
	return known ? known->slot : slots_max - 1;
}

INLINE u32 kind_of(u32 flags)
{
	u32 is_meta = flags & (1u << VALUE_OF(enum req_flag_bits, __REQ_META));
	u32 is_sync = flags & (1u << VALUE_OF(enum req_flag_bits, __REQ_SYNC));
	u32 is_ahead = flags & (1u << VALUE_OF(enum req_flag_bits, __REQ_RAHEAD));
	/* Numbers of operations, the same since 4.10: `include/linux/blk_types.h`. */
	switch (flags & 0xff) {
	case 0:
		return is_meta ? READ_META : is_ahead ? READ_AHEAD : READ;
	case 1:
	case 7: /* to a zone's end */
		return is_meta ? WRITE_META : is_sync ? WRITE_SYNC : WRITE;
	case 2:
		return FLUSH;
	case 3:
	case 5: /* securely */
		return DISCARD;
	case 9:
		return WRITE_ZEROES;
	default:
		return OTHER;
	}
}

/* Drops a request whose end is not known. */
INLINE void abandon(struct progress *progress)
{
	u32 row = progress->row;
	u64 queued_ns = progress->queued_ns;
	u64 issued_ns = progress->issued_ns;
	progress->queued_ns = 0;
	progress->issued_ns = 0;
	if (queued_ns)
		count_dropped(row + QUEUE);
	if (issued_ns)
		count_dropped(row + DEVICE);
	count_dropped(row + WHOLE);
}

/*
 * The request's progress if it is known already. A request that was made later than the known one
 * has taken its address: the end of the known one was not seen. A request that absorbs an older one
 * takes the older one's time, from which the kernel counts it.
 */
INLINE struct progress *known_progress(u64 key, u64 made_ns)
{
	struct progress *known = map_lookup(&in_flight, &key);
	if (!known)
		return 0;
	if (made_ns <= known->made_ns) {
		known->made_ns = made_ns;
		return known;
	}
	struct progress stale = *known;
	map_delete(&in_flight, &key);
	__sync_fetch_and_add(&state.unseen, 1);
	abandon(&stale);
	return 0;
}

/* Counts that a request is seen for the first time, in its first operation. */
INLINE void begin(u64 key, struct progress *progress, u32 operation)
{
	count_entered(progress->row + operation);
	count_entered(progress->row + WHOLE);
	if (!map_update(&in_flight, &key, progress, IF_ABSENT))
		return;
	__sync_fetch_and_add(&state.overflowed, 1);
	abandon(progress);
}

/* Whether a request that was not seen before is to be counted. */
INLINE int is_counted(struct request *request, u64 made_ns, struct progress *progress)
{
	u64 since_ns = state.since_ns;
	if (!since_ns || (made_ns && made_ns < since_ns))
		return 0;
	u32 slot = slot_of(disk_of(request));
	if (slot == (u32)NONE)
		return 0;
	progress->made_ns = made_ns;
	progress->row = (slot * KINDS + kind_of(request->cmd_flags)) * OPERATIONS;
	return 1;
}

/* Returns whether the event was counted. */
INLINE int put(u64 *context)
{
	struct request *request = (void *)context[0];
	u64 key = (u64)request;
	u64 made_ns = request->start_time_ns;
	struct progress *known = known_progress(key, made_ns);
	/* Given back by the driver before: `requeue` has put it into the queue. */
	if (known)
		return 0;
	struct progress progress = {};
	if (!is_counted(request, made_ns, &progress))
		return 0;
	progress.seen_ns = ktime_get_ns();
	progress.queued_ns = progress.seen_ns;
	begin(key, &progress, QUEUE);
	return 1;
}

SECTION("tp_btf/block_rq_insert")
int insert(u64 *context)
{
	put(context);
	return 0;
}

/* Attached after `insert`: the kernel calls programs in that order. */
SECTION("tp_btf/block_rq_insert")
int insert_missed(u64 *context)
{
	if (put(context))
		__sync_fetch_and_add(&state.caught, 1);
	return 0;
}

enum program { FIRST = 0, SECOND = 1 };

/* Returns whether the event was counted. */
INLINE int give(u64 *context, enum program program)
{
	struct request *request = (void *)context[0];
	u64 key = (u64)request;
	u64 made_ns = request->start_time_ns;
	struct progress *known = known_progress(key, made_ns);
	if (!known) {
		struct progress progress = {};
		if (!is_counted(request, made_ns, &progress))
			return 0;
		progress.bytes = request->__data_len;
		progress.seen_ns = ktime_get_ns();
		progress.issued_ns = progress.seen_ns;
		begin(key, &progress, DEVICE);
		return 1;
	}
	if (known->issued_ns && program == SECOND)
		return 0;
	u64 now_ns = ktime_get_ns();
	u64 queued_ns = known->queued_ns;
	u32 row = known->row;
	/* Given back without our knowledge. */
	if (known->issued_ns)
		count_dropped(row + DEVICE);
	count_entered(row + DEVICE);
	/* Requests that were merged into it have made it larger. */
	known->bytes = request->__data_len;
	known->queued_ns = 0;
	known->issued_ns = now_ns;
	if (queued_ns)
		leave(row + QUEUE, now_ns - queued_ns);
	return 1;
}

SECTION("tp_btf/block_rq_issue")
int issue(u64 *context)
{
	give(context, FIRST);
	return 0;
}

SECTION("tp_btf/block_rq_issue")
int issue_missed(u64 *context)
{
	if (give(context, SECOND))
		__sync_fetch_and_add(&state.caught, 1);
	return 0;
}

SECTION("tp_btf/block_rq_requeue")
int requeue(u64 *context)
{
	struct request *request = (void *)context[0];
	u64 key = (u64)request;
	struct progress *known = known_progress(key, request->start_time_ns);
	if (!known || !known->issued_ns)
		return 0;
	u32 row = known->row;
	count_entered(row + QUEUE);
	known->issued_ns = 0;
	known->queued_ns = ktime_get_ns();
	count_dropped(row + DEVICE);
	return 0;
}

/* The request is absorbed by its neighbour. */
SECTION("tp_btf/block_rq_merge")
int merge(u64 *context)
{
	struct request *request = (void *)context[0];
	u64 key = (u64)request;
	struct progress *known = known_progress(key, request->start_time_ns);
	if (!known)
		return 0;
	struct progress last = *known;
	map_delete(&in_flight, &key);
	if (last.queued_ns)
		count_ended(last.row + QUEUE);
	if (last.issued_ns)
		count_ended(last.row + DEVICE);
	count_ended(last.row + WHOLE);
	return 0;
}

/* Returns whether a request was counted. */
INLINE int end(u64 *context)
{
	struct request *request = (void *)context[0];
	u64 key = (u64)request;
	struct progress *known = known_progress(key, request->start_time_ns);
	/* Another part of it is still at the device. */
	if (!known || (u32)context[2] < request->__data_len)
		return 0;
	struct progress last = *known;
	map_delete(&in_flight, &key);
	u64 now_ns = ktime_get_ns();
	if (last.queued_ns)
		count_dropped(last.row + QUEUE);
	if (last.issued_ns) {
		u64 latency_ns = now_ns - last.issued_ns;
		leave(last.row + DEVICE, latency_ns);
		count_size(last.row, latency_ns, last.bytes);
	}
	/* The clock that the kernel looked at may be an earlier reading, never a later one. */
	leave(last.row + WHOLE, now_ns - (last.made_ns ? last.made_ns : last.seen_ns));
	return 1;
}

SECTION("tp_btf/block_rq_complete")
int complete(u64 *context)
{
	end(context);
	return 0;
}

SECTION("tp_btf/block_rq_complete")
int complete_missed(u64 *context)
{
	if (end(context))
		__sync_fetch_and_add(&state.caught, 1);
	return 0;
}
