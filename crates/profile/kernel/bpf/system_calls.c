// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Latencies of system calls, counted where they happen.
 *
 * Each CPU has its own counters, so nothing is atomic: the kernel disables preemption around
 * programs on these tracepoints, and interrupts make no system calls.
 *
 * Helpers cost more than everything else here, since each is a call and a return, which mitigations
 * of speculation make slow. So each CPU has a slot with the state of the task that runs on it, and
 * entering and leaving a call touch only the slot. When a task is switched out within a call, the
 * call moves to the task's own storage, which the kernel frees with the task.
 *
 * For each system call: entered = sum of buckets + ended + dropped + calls in flight. `ended` are
 * calls that never return: exit(2), and those of threads that exec or a signal ends within one.
 * Calls in flight are found by walking slots and tasks, independently of the counters.
 *
 * Counters lie in rows. The first rows are those of the system calls, by number. If programs or
 * threads are told apart, each pair of one and a system call gets a row behind them when it is first
 * called; if none is left, the call counts in the row of its number. So a call is always in one row.
 */
#include "kernel.h"
#include "buckets.h"
#include "tasks.h"

enum {
	NUMBERS = 510, /* system calls 0 to 509 */
	CALL_32BIT = 510, /* calls of 32-bit programs, which have other numbers */
	CALL_OTHER = 511, /* any other number */
	CALLS = 512,
};
/* By what calls are told apart, if they are. */
enum { PROGRAM = 1, THREAD = 2 };
/* Parts: of tasks that were not asked yet, and of those for which there was no room. */
enum { UNASKED = 0, OTHERS = 0xffffffff };
enum { UNKNOWN = 0, FOLLOWED = 1, FOREIGN = 2 };

/* Set before the programs are loaded, as those of `tasks.h`. */
volatile const u32 apart_by = 0;
/* All rows, and the greatest number of parts. */
volatile const u32 row_limit = CALLS;
volatile const u32 part_limit = 0;

/* Values of calls, sorted by the latency of the call: for each system call the first of its rows in
 * `values`, plus 1; 0 for calls whose values are not recorded. */
volatile const u8 value_rows[CALLS] = {};
/* For each row, whose value it is, and which; 0 behind the last row. */
enum { VALUE_ROWS = 16 };
enum { RESULT = 1, SIZE = 2, OFFSET = 3 };
volatile const u8 value_quantity[VALUE_ROWS] = {};
volatile const u32 value_number[VALUE_ROWS] = {};

/* Changes when tasks have been marked, which makes the slots' knowledge stale. */
volatile u64 epoch = 1;

struct {
	u64 lost_tasks; /* processes and threads that could not be followed, for want of memory */
	u64 rows; /* given out behind the first ones */
	u64 parts; /* numbers given out */
	u64 reader_level; /* of the PID namespace in which processes are named */
} shared = {};

struct call {
	u64 start_ns; /* 0: none in flight */
	u32 number;
	u32 tid;
	u32 row;
	u32 part; /* of the task, not of the call, which execve(2) outlives */
};

struct {
	NUMBER(type, MAP_TASK_STORAGE);
	NUMBER(map_flags, NO_PREALLOCATION);
	TYPE(key, int);
	TYPE(value, struct call);
} tasks SECTION(".maps");

/* What is known of the task that runs on this CPU, and its call in flight. Each task's registers lie
 * at one place of their own while it is in the kernel, so their address names the task, without a
 * helper: if `regs` is another address, the slot is stale. */
struct slot {
	u64 start_ns; /* 0: none in flight */
	u32 number;
	u32 tid;
	u64 epoch;
	u32 knowledge;
	u32 is_stored; /* the call in flight is also in the task's storage */
	u64 regs;
	u32 row; /* of the call in flight */
	u32 part;
};

struct {
	NUMBER(type, MAP_PERCPU_ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct slot);
} slots SECTION(".maps");

/* Where the kernel keeps the name of a task's program. */
struct qstr {
	const u8 *name;
} OF_KERNEL;

struct dentry {
	struct qstr d_name;
} OF_KERNEL;

struct path {
	struct dentry *dentry;
} OF_KERNEL;

struct file {
	struct path f_path;
} OF_KERNEL;

struct mm_struct {
	struct file *exe_file;
} OF_KERNEL;

struct task_struct___memory {
	struct mm_struct *mm;
} OF_KERNEL;

/* A program, by the name of its file, or one of its threads. */
struct part {
	u32 process; /* 0 if threads are not told apart */
	u32 thread;
	char name[64];
};

/* The number of each part; the loader sets the numbers of entries of this map and the next. */
struct {
	NUMBER(type, MAP_HASH);
	NUMBER(max_entries, 1);
	TYPE(key, struct part);
	TYPE(value, u32);
} parts SECTION(".maps");

struct pair {
	u32 part;
	u32 number;
};

struct {
	NUMBER(type, MAP_HASH);
	NUMBER(max_entries, 1);
	TYPE(key, struct pair);
	TYPE(value, u32);
} rows SECTION(".maps");

struct {
	NUMBER(type, MAP_PERCPU_ARRAY);
	NUMBER(max_entries, CALLS);
	TYPE(key, u32);
	TYPE(value, struct counters);
} counters SECTION(".maps");

/* `resolution` elements for each row; the loader sets the number of entries. */
struct {
	NUMBER(type, MAP_PERCPU_ARRAY);
	NUMBER(max_entries, CALLS);
	TYPE(key, u32);
	TYPE(value, struct row);
} buckets SECTION(".maps");

struct values {
	u64 recorded;
	u64 dropped; /* calls without such a value: those that failed */
	u64 total;
	u64 total_high;
	u64 complement_of_min;
	u64 max;
	u64 count[ROW];
};

/* For each kind of value, an element for each bucket of the latency; the loader sets the number. */
struct {
	NUMBER(type, MAP_PERCPU_ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct values);
} values SECTION(".maps");

char terms[] SECTION("license") = "Dual MIT/GPL";

INLINE struct slot *own_slot(void)
{
	u32 zero = 0;
	return map_lookup(&slots, &zero);
}

INLINE struct counters *counters_of(u32 row)
{
	return map_lookup(&counters, &row);
}

INLINE int is_32bit(void *regs)
{
	struct pt_regs___x86 *x86 = regs;
	struct pt_regs___arm64 *arm64 = regs;
	if (HAS_MEMBER(x86->cs))
		return x86->cs == 0x23;
	if (HAS_MEMBER(arm64->pstate))
		return (arm64->pstate & 0x10) != 0;
	return 0;
}

INLINE u32 known_number(void *regs, u64 number)
{
	if (is_32bit(regs))
		return CALL_32BIT;
	return number < NUMBERS ? number : CALL_OTHER;
}

/* The slot holds a call that is in no storage and whose task is not known any more: the kernel did
 * not run `put_away` when the task was switched out. */
INLINE void drop_unstored(struct slot *slot)
{
	if (!slot->start_ns || slot->is_stored)
		return;
	struct counters *all = counters_of(slot->row);
	slot->start_ns = 0;
	if (all)
		all->dropped++;
}

/* The slot is stale: asks the storage of the current task. */
INLINE void learn(struct slot *slot, u64 regs)
{
	drop_unstored(slot);
	/* Before the storage is looked at: tasks may be marked meanwhile. */
	u64 now = epoch;
	struct task_struct *task = current_task();
	struct call *stored = task_storage_get(&tasks, task, 0, filter == TREE ? 0 : CREATE);
	slot->knowledge = stored ? FOLLOWED : FOREIGN;
	slot->start_ns = stored ? stored->start_ns : 0;
	slot->number = stored ? stored->number : 0;
	slot->row = stored ? stored->row : 0;
	slot->part = stored ? stored->part : UNASKED;
	slot->is_stored = slot->start_ns != 0;
	slot->tid = task->pid;
	slot->epoch = now;
	slot->regs = regs;
}

INLINE void forget_stored(struct slot *slot)
{
	if (!slot->is_stored)
		return;
	struct call *stored = task_storage_get(&tasks, current_task(), 0, 0);
	if (stored)
		stored->start_ns = 0;
	slot->is_stored = 0;
}

/* Copies the name of the program's file. */
INLINE void name_of(struct task_struct *task, char *to, u32 bytes)
{
	struct mm_struct *memory = ((struct task_struct___memory *)task)->mm;
	if (!memory)
		return;
	struct file *file = memory->exe_file;
	if (!file)
		return;
	probe_read_kernel_str(to, bytes, file->f_path.dentry->d_name.name);
}

/* Returns the number of the current task's part, a new one if it has none yet. */
INLINE u32 find_part(void)
{
	struct task_struct *task = current_task();
	struct part key = {};
	if (apart_by == THREAD) {
		key.process = number_at(task->group_leader, shared.reader_level);
		key.thread = number_at(task, shared.reader_level);
	}
	name_of(task, key.name, sizeof(key.name));
	u32 *known = map_lookup(&parts, &key);
	if (known)
		return *known;
	if (shared.parts >= part_limit)
		return OTHERS;
	u32 part = __sync_fetch_and_add(&shared.parts, 1) + 1;
	if (!map_update(&parts, &key, &part, IF_ABSENT))
		return part;
	/* Another CPU was faster, or there is no room. */
	known = map_lookup(&parts, &key);
	return known ? *known : OTHERS;
}

/* Returns the row of a call of the slot's task. */
INLINE u32 find_row(struct slot *slot, u32 number)
{
	if (slot->part == UNASKED) {
		slot->part = find_part();
		struct call *stored = task_storage_get(&tasks, current_task(), 0, 0);
		if (stored)
			stored->part = slot->part;
	}
	struct pair key = { .part = slot->part, .number = number };
	if (key.part == OTHERS)
		return number;
	u32 *known = map_lookup(&rows, &key);
	if (known)
		return *known;
	if (CALLS + shared.rows >= row_limit)
		return number;
	u32 row = CALLS + __sync_fetch_and_add(&shared.rows, 1);
	if (row < row_limit && !map_update(&rows, &key, &row, IF_ABSENT))
		return row;
	known = map_lookup(&rows, &key);
	return known ? *known : number;
}

/* `entered` changes before the call is in flight, and `dropped`, `ended` and the buckets after it
 * is not any more: a reader that looks at them in the opposite order counts no call twice. */
INLINE int entered(u64 *context, int is_told_apart)
{
	struct slot *slot = own_slot();
	if (!slot)
		return 0;
	if (slot->regs != context[0] || slot->epoch != epoch ||
	    (filter != TREE && slot->knowledge != FOLLOWED))
		learn(slot, context[0]);
	if (filter == TREE && slot->knowledge != FOLLOWED)
		return 0;
	if (filter == CGROUP && !is_in_cgroup())
		return 0;
	u32 number = known_number((void *)context[0], context[1]);
	int has_storage = filter == TREE || slot->knowledge == FOLLOWED;
	u32 row = is_told_apart && has_storage ? find_row(slot, number) : number;
	struct counters *all = counters_of(row);
	if (!all)
		return 0;
	all->entered++;
	if (!has_storage) {
		all->dropped++;
		return 0;
	}
	/* A call that was not seen to return: the kernel did not run `leave`. */
	if (slot->start_ns) {
		forget_stored(slot);
		drop_unstored(slot);
	}
	slot->number = number;
	slot->row = row;
	slot->start_ns = ktime_get_ns();
	return 0;
}

SECTION("tp_btf/sys_enter")
int enter(u64 *context)
{
	return entered(context, 0);
}

/* Attached instead of `enter` if programs or threads are told apart: otherwise that costs nothing.
 * Needs Linux 5.12, whose atomic additions return a value. */
SECTION("tp_btf/sys_enter")
int enter_in_parts(u64 *context)
{
	return entered(context, 1);
}

/* The task runs another program from now on. execve(2) itself counts for the one that called it. */
SECTION("tp_btf/sched_process_exec")
int renamed(u64 *context)
{
	struct task_struct *task = (void *)context[0];
	struct slot *slot = own_slot();
	struct call *stored = task_storage_get(&tasks, task, 0, 0);
	if (stored)
		stored->part = UNASKED;
	if (slot)
		slot->part = UNASKED;
	return 0;
}

/* The third and the fourth argument: where the kernel keeps registers, they survive the call. */
INLINE u64 argument(void *regs, u32 quantity)
{
	struct pt_regs___x86 *x86 = regs;
	struct user_pt_regs___arm64 *arm64 = regs;
	if (HAS_MEMBER(x86->cs))
		return quantity == SIZE ? x86->dx : x86->r10;
	if (HAS_MEMBER(arm64->regs))
		return quantity == SIZE ? arm64->regs[2] : arm64->regs[3];
	return 0;
}

INLINE void count_value(u32 row, void *regs, s64 result, u32 bucket)
{
	u32 quantity = value_quantity[row];
	u32 index = row * ROW * resolution + bucket;
	struct values *all = map_lookup(&values, &index);
	if (!all)
		return;
	if (result < 0) {
		all->dropped++;
		return;
	}
	u64 value = quantity == RESULT ? (u64)result : argument(regs, quantity);
	u64 total = all->total + value;
	all->total_high += total < value;
	all->total = total;
	if (~value > all->complement_of_min)
		all->complement_of_min = ~value;
	if (value > all->max)
		all->max = value;
	all->count[log2_of(value | !value) % ROW]++;
	all->recorded++;
}

/* A call's rows lie one after the other: one for each quantity at most. */
INLINE void count_values(u32 number, void *regs, s64 result, u32 bucket)
{
	u32 first = value_rows[number % CALLS];
	if (!first)
		return;
	for (u32 at = 0; at < OFFSET; at++) {
		u32 row = (first - 1 + at) % VALUE_ROWS;
		if (value_number[row] != number || !value_quantity[row])
			return;
		count_value(row, regs, result, bucket);
	}
}

INLINE int left(u64 *context, int correlates)
{
	struct slot *slot = own_slot();
	if (!slot)
		return 0;
	if (slot->regs != context[0])
		learn(slot, context[0]);
	/* The call began before the programs were attached, or is not to be counted. */
	if (!slot->start_ns)
		return 0;
	u64 latency_ns = ktime_get_ns() - slot->start_ns;
	u32 number = slot->number, row = slot->row;
	slot->start_ns = 0;
	forget_stored(slot);
	struct counters *all = counters_of(row);
	if (!all)
		return 0;
	all->total_ns += latency_ns;
	if (~latency_ns > all->complement_of_min_ns)
		all->complement_of_min_ns = ~latency_ns;
	if (latency_ns > all->max_ns)
		all->max_ns = latency_ns;
	/* A latency of 0 counts as 1. */
	u32 bucket = bucket_of(latency_ns | !latency_ns);
	u32 index = row * resolution + bucket / ROW;
	struct row *cells = map_lookup(&buckets, &index);
	if (cells) {
		cells->count[bucket % ROW]++;
		all->left++;
	} else {
		all->dropped++;
	}
	if (correlates)
		count_values(number, (void *)context[0], (s64)context[1], bucket);
	return 0;
}

SECTION("tp_btf/sys_exit")
int leave(u64 *context)
{
	return left(context, 0);
}

/* Attached instead of `leave` if values are recorded: otherwise they cost nothing. */
SECTION("tp_btf/sys_exit")
int leave_with_values(u64 *context)
{
	return left(context, 1);
}

/* A task is switched out: its call in flight goes to its storage, and the slot is stale. */
SECTION("tp_btf/sched_switch")
int put_away(u64 *context)
{
	struct task_struct *previous = (void *)context[1];
	struct slot *slot = own_slot();
	if (!slot)
		return 0;
	slot->regs = 0;
	if (!slot->start_ns)
		return 0;
	if (!slot->is_stored && slot->tid == (u32)previous->pid) {
		struct call *stored = task_storage_get(&tasks, previous, 0, 0);
		if (stored) {
			stored->number = slot->number;
			stored->row = slot->row;
			stored->start_ns = slot->start_ns;
			slot->is_stored = 1;
		}
	}
	drop_unstored(slot);
	slot->start_ns = 0;
	return 0;
}

SECTION("tp_btf/sched_process_fork")
int follow(u64 *context)
{
	follow_child(&tasks, context, &shared.lost_tasks);
	return 0;
}

/* A thread that ends within a call, as in exit(2), never leaves it. */
SECTION("tp_btf/sched_process_exit")
int end(u64 *context)
{
	struct slot *slot = own_slot();
	struct task_struct *task = current_task();
	if (!slot)
		return 0;
	if (slot->tid != (u32)task->pid || !slot->regs)
		learn(slot, 0);
	/* Another task may get the memory of these registers. */
	slot->regs = 0;
	if (!slot->start_ns)
		return 0;
	u32 row = slot->row;
	slot->start_ns = 0;
	forget_stored(slot);
	struct counters *all = counters_of(row);
	if (all)
		all->ended++;
	return 0;
}

SECTION("iter/task")
int mark(struct bpf_iter__task *context)
{
	shared.reader_level = current_task()->thread_pid->level;
	if (context->task)
		mark_task(&tasks, context, &shared.lost_tasks);
	else
		__sync_fetch_and_add(&epoch, 1);
	return 0;
}

/* Writes the calls in flight of tasks that were switched out within one. */
SECTION("iter/task")
int in_flight(struct bpf_iter__task *context)
{
	struct seq_file *seq = context->meta->seq;
	struct task_struct *task = context->task;
	if (!task)
		return 0;
	struct call *stored = task_storage_get(&tasks, task, 0, 0);
	if (!stored)
		return 0;
	struct call copy = {};
	copy.start_ns = stored->start_ns;
	copy.number = stored->number;
	copy.tid = task->pid;
	copy.row = stored->row;
	if (copy.start_ns)
		seq_write(seq, &copy, sizeof(copy));
	return 0;
}
