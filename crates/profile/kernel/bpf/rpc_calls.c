// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Latencies of the calls that the kernel's SUNRPC client makes: NFS, its locks and its mounts.
 *
 * | operation | from | to |
 * |---|---|---|
 * | whole | the call is begun | it is done, as `execute` in /proc/self/mountstats |
 * | queue | the call is begun | it is sent for the last time |
 * | round-trip | it is sent | its reply is there |
 *
 * The kernel measures all three itself and tells them when a call is done (`rpc_stats_latency`), where
 * it also counts the call in its own statistics. `rpc_task_begin` tells which calls are in flight, and
 * `rpc_task_end` which of them are over without statistics: the kernel has given them up before they
 * had a request. A server may ask to repeat a call; the kernel counts each attempt, and so do we. The
 * attempts behind the first are known from `done` alone.
 *
 * Programs on these tracepoints run in tasks and are not preempted, so a counter of a CPU is changed
 * by one program at a time.
 *
 * The loader finds the offsets of members in the types of the module `sunrpc`.
 */
#include "counters.h"
#include "tasks.h"

enum { OPERATIONS = 3, IN_FLIGHT_MAX = 16384, PROCEDURES_MAX = 512 };
enum { WHOLE = 0, QUEUE = 1, ROUND_TRIP = 2 };
enum { MAP_LRU_HASH = 9 };

/* Offsets of rpc_task.tk_client, .tk_msg.rpc_proc and .tk_rqstp, rpc_clnt.cl_program and .cl_vers,
 * rpc_program.name and rpc_procinfo.p_name. */
volatile const u32 client_of_task = 0;
volatile const u32 procedure_of_task = 0;
volatile const u32 request_of_task = 0;
volatile const u32 program_of_client = 0;
volatile const u32 version_of_client = 0;
volatile const u32 name_of_program = 0;
volatile const u32 name_of_procedure = 0;
/* The last slot is for all procedures for which there is none. */
volatile const u32 slots_max = 2;

struct state {
	u64 slots_used;
	u64 overflowed; /* calls for which the map of calls in flight had no room */
	u64 unseen; /* calls whose end no program was told of */
	u64 lost_tasks; /* processes that could not be followed, for want of memory */
} state = {};

/* As `src/rpc/read.rs` reads it. */
struct procedure {
	u32 slot;
	u32 version;
	char program[16];
	char name[32];
};

/* By the address of the kernel's description of the procedure. */
struct {
	NUMBER(type, MAP_HASH);
	NUMBER(max_entries, PROCEDURES_MAX);
	TYPE(key, u64);
	TYPE(value, struct procedure);
} procedures SECTION(".maps");

/* From the address of a task of SUNRPC to its row. */
struct {
	NUMBER(type, MAP_HASH);
	NUMBER(max_entries, IN_FLIGHT_MAX);
	TYPE(key, u64);
	TYPE(value, u32);
} in_flight SECTION(".maps");

/* As above; of the last calls that are done and may be repeated. */
struct {
	NUMBER(type, MAP_LRU_HASH);
	NUMBER(max_entries, IN_FLIGHT_MAX);
	TYPE(key, u64);
	TYPE(value, u32);
} done SECTION(".maps");

struct {
	NUMBER(type, MAP_TASK_STORAGE);
	NUMBER(map_flags, NO_PREALLOCATION);
	TYPE(key, int);
	TYPE(value, u64);
} tasks SECTION(".maps");

char terms[] SECTION("license") = "Dual MIT/GPL";

static long (*const probe_read_kernel_text)(void *to, u32 size, const void *from) = (void *)115;

INLINE u64 follow_pointer(u64 from, u32 offset)
{
	u64 pointer = 0;
	if (from)
		probe_read_kernel(&pointer, sizeof(pointer), (void *)(from + offset));
	return pointer;
}

INLINE void count_entered(u32 row)
{
	struct counters *all = counters_of(row);
	if (all)
		all->entered++;
}

/* A call that will have no latency. */
INLINE void count_ended(u32 row)
{
	struct counters *all = counters_of(row);
	if (all)
		all->ended++;
}

INLINE void count_left(u32 row, u64 latency_ns)
{
	struct counters *all = counters_of(row);
	if (!all)
		return;
	all->total_ns += latency_ns;
	if (~latency_ns > all->complement_of_min_ns)
		all->complement_of_min_ns = ~latency_ns;
	if (latency_ns > all->max_ns)
		all->max_ns = latency_ns;
	u64 *cell = cell_of(row, latency_ns);
	if (cell) {
		(*cell)++;
		all->left++;
	} else {
		count_dropped(row);
	}
}

/* The procedure's slot; gives it one if it has none. */
INLINE u32 slot_of(u64 task, u64 procedure)
{
	struct procedure *known = map_lookup(&procedures, &procedure);
	if (known)
		return known->slot;
	if (state.slots_used + 1 >= slots_max)
		return slots_max - 1;
	struct procedure new = {};
	new.slot = __sync_fetch_and_add(&state.slots_used, 1);
	if (new.slot + 1 >= slots_max)
		return slots_max - 1;
	u64 client = follow_pointer(task, client_of_task);
	u64 program = follow_pointer(client, program_of_client);
	u64 program_name = follow_pointer(program, name_of_program);
	u64 name = follow_pointer(procedure, name_of_procedure);
	if (client)
		probe_read_kernel(&new.version, sizeof(new.version),
				  (void *)(client + version_of_client));
	probe_read_kernel_text(new.program, sizeof(new.program), (void *)program_name);
	probe_read_kernel_text(new.name, sizeof(new.name), (void *)name);
	map_update(&procedures, &procedure, &new, IF_ABSENT);
	known = map_lookup(&procedures, &procedure);
	return known ? known->slot : slots_max - 1;
}

INLINE int is_wanted(void)
{
	if (filter == TREE)
		return is_followed(&tasks, current_task());
	if (filter == CGROUP)
		return is_in_cgroup();
	return 1;
}

SECTION("raw_tracepoint/rpc_task_begin")
int begin(u64 *context)
{
	u64 task = context[0];
	map_delete(&done, &task);
	u32 *stale = map_lookup(&in_flight, &task);
	if (stale) {
		count_dropped(*stale);
		__sync_fetch_and_add(&state.unseen, 1);
		map_delete(&in_flight, &task);
	}
	u64 procedure = follow_pointer(task, procedure_of_task);
	if (!procedure || !is_wanted())
		return 0;
	u32 row = slot_of(task, procedure) * OPERATIONS + WHOLE;
	count_entered(row);
	if (!map_update(&in_flight, &task, &row, IF_ABSENT))
		return 0;
	__sync_fetch_and_add(&state.overflowed, 1);
	count_dropped(row);
	return 0;
}

/* A call without a request is done, and no statistics will tell of it. */
SECTION("raw_tracepoint/rpc_task_end")
int end(u64 *context)
{
	u64 task = context[0];
	u32 *known = map_lookup(&in_flight, &task);
	if (!known || follow_pointer(task, request_of_task))
		return 0;
	u32 row = *known;
	map_delete(&in_flight, &task);
	count_ended(row);
	map_update(&done, &task, &row, 0);
	return 0;
}

SECTION("raw_tracepoint/rpc_stats_latency")
int measured(u64 *context)
{
	u64 task = context[0];
	u32 row;
	u32 *known = map_lookup(&in_flight, &task);
	if (known) {
		u32 begun = *known;
		map_delete(&in_flight, &task);
		/* While a call is prepared, it may turn into another one: OPEN into OPEN_NOATTR. */
		row = slot_of(task, follow_pointer(task, procedure_of_task)) * OPERATIONS + WHOLE;
		if (row != begun) {
			count_ended(begun);
			count_entered(row);
		}
		map_update(&done, &task, &row, 0);
	} else {
		known = map_lookup(&done, &task);
		/* The call began before the programs were attached, or is not to be counted. */
		if (!known)
			return 0;
		row = *known;
		count_entered(row);
	}
	u64 queue_ns = context[1];
	u64 round_trip_ns = context[2];
	count_left(row, context[3]);
	/* A call that was never sent, or never answered. */
	if (!round_trip_ns)
		return 0;
	count_entered(row + QUEUE);
	count_left(row + QUEUE, queue_ns);
	count_entered(row + ROUND_TRIP);
	count_left(row + ROUND_TRIP, round_trip_ns);
	return 0;
}

SECTION("tp_btf/sched_process_fork")
int follow(u64 *context)
{
	follow_child(&tasks, context, &state.lost_tasks);
	return 0;
}

SECTION("iter/task")
int mark(struct bpf_iter__task *context)
{
	mark_task(&tasks, context, &state.lost_tasks);
	return 0;
}
