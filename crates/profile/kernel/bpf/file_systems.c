// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Latencies of file-system operations, counted where they happen.
 *
 * `enter` and `leave` are templates: the loader loads each once for every function that it finds in
 * the operation vectors of file systems, with the function's numbers in place of the constants below.
 * Operations nest (a write of an overlay calls a write of the file system below), so each task has a
 * stack of calls in flight, in storage that the kernel frees with the task.
 *
 * A call is known by the address of its arguments, which both programs get: it lies on the task's
 * kernel stack, so it differs from that of every other call in flight, and calls that lie deeper have
 * lower addresses. Whatever is recorded at or below the address of a call that begins has ended
 * without being seen, and is dropped and counted as such. So a program that did not run makes one
 * call dropped, and no latency wrong.
 *
 * Counters are per CPU. Each field of a row is written by one program only, which the kernel does not
 * run twice at a time on a CPU; only `dropped`, which others write, is atomic.
 */
#include "counters.h"
#include "tasks.h"

enum { DEPTH = 16, STEPS = 4 };

/* Constants that the loader replaces for each function. The compiler does not know their values; the
 * kernel does, and removes the branches not taken. */
#define CONSTANT(marker)                                                                           \
	({                                                                                         \
		u64 value;                                                                         \
		asm volatile("%0 = " #marker : "=r"(value));                                       \
		value;                                                                             \
	})
/* The function's first row of counters. */
#define OPERATION CONSTANT(0x7a570001)
/* Number of rows behind the first: one for each type of file system, if several use the function. */
#define TYPES CONSTANT(0x7a570002)
/* Argument from which the file system is found, and the offsets of the pointers on the way from it to
 * the super block. */
#define ARGUMENT CONSTANT(0x7a570003)
#define STEP_1 CONSTANT(0x7a570004)
#define STEP_2 CONSTANT(0x7a570005)
#define STEP_3 CONSTANT(0x7a570006)
#define STEP_4 CONSTANT(0x7a570007)
enum { NONE = 0x7fffffff };

volatile const u64 mount_super = 0;
/* Offset of super_block.s_type, and size of a task's kernel stack. */
volatile const u32 type_of_super = 0;
volatile const u32 stack_bytes = 16384;

/* Processes and threads that could not be followed, for want of memory. */
u64 lost_tasks = 0;

struct frame {
	u64 start_ns;
	u64 address;
	u32 row;
	u32 operation;
};

struct stack {
	u64 task; /* the task's own address */
	u32 depth;
	u32 unused;
	struct frame frames[DEPTH];
};

struct {
	NUMBER(type, MAP_TASK_STORAGE);
	NUMBER(map_flags, NO_PREALLOCATION);
	TYPE(key, int);
	TYPE(value, struct stack);
} tasks SECTION(".maps");

/* From the address of a `file_system_type` to its number, from 1. */
struct {
	NUMBER(type, MAP_HASH);
	NUMBER(max_entries, 64);
	TYPE(key, u64);
	TYPE(value, u32);
} types SECTION(".maps");

char terms[] SECTION("license") = "Dual MIT/GPL";

struct task_struct___stack {
	void *stack;
} OF_KERNEL;

INLINE u64 step(u64 from, u64 offset)
{
	u64 pointer = 0;
	if (offset == NONE)
		return from;
	if (from)
		probe_read_kernel(&pointer, sizeof(pointer), (void *)(from + offset));
	return pointer;
}

/* The super block that a call works on; 0 if its arguments name none. */
INLINE u64 super_block(u64 *context)
{
	u64 argument = ARGUMENT;
	u64 at = 0;
	/* Written out, since the kernel allows no arithmetic with the address of the arguments. */
	if (argument == 0)
		asm volatile("%0 = *(u64 *)(%1 + 0)" : "=r"(at) : "r"(context));
	else if (argument == 1)
		asm volatile("%0 = *(u64 *)(%1 + 8)" : "=r"(at) : "r"(context));
	else if (argument == 2)
		asm volatile("%0 = *(u64 *)(%1 + 16)" : "=r"(at) : "r"(context));
	at = step(at, STEP_1);
	at = step(at, STEP_2);
	at = step(at, STEP_3);
	return step(at, STEP_4);
}

/* The row of a call: the function's first, or that of the file system's type. */
INLINE u32 row_of(u64 *context)
{
	u32 row = OPERATION;
	u32 known = TYPES;
	if (!known)
		return row;
	u64 type = step(super_block(context), type_of_super);
	u32 *number = map_lookup(&types, &type);
	if (number && *number <= known)
		row += *number;
	return row;
}

/* The address of the arguments as a number. The kernel's check of programs has it only as a pointer,
 * of which it allows only the difference to another one. */
INLINE u64 address_of(u64 *context, struct task_struct *task, struct stack *calls)
{
	u64 distance;
	asm volatile("%0 = %1\n%0 -= %2" : "=&r"(distance) : "r"(context), "r"(task));
	*(volatile u64 *)&calls->task = (u64)task;
	return distance + *(volatile u64 *)&calls->task;
}

/* Functions also run in interrupts, on stacks of their own, whatever task was interrupted. */
INLINE int is_of_task(struct task_struct *task, u64 address)
{
	u64 stack = (u64)((struct task_struct___stack *)task)->stack;
	return address - stack < stack_bytes;
}

INLINE int is_wanted(u64 *context)
{
	if (filter == CGROUP)
		return is_in_cgroup();
	if (filter == MOUNT)
		return super_block(context) == mount_super;
	return 1;
}

/* Forgets calls below an address: their end was not seen. */
INLINE u32 without_stale(struct stack *calls, u64 address)
{
	u32 depth = calls->depth;
	for (u32 times = 0; times < DEPTH; times++) {
		if (!depth || depth > DEPTH)
			break;
		struct frame *top = &calls->frames[(depth - 1) & (DEPTH - 1)];
		if (top->address >= address)
			break;
		depth--;
		calls->depth = depth;
		count_dropped(top->row);
	}
	return depth;
}

/* `entered` changes before the call is in flight, and the buckets and `dropped` after it is not any
 * more: a reader that looks at them in the opposite order counts no call twice. */
SECTION("fentry/template")
int enter(u64 *context)
{
	struct task_struct *task = current_task();
	struct stack *calls = 0;
	if (filter == TREE) {
		calls = task_storage_get(&tasks, task, 0, 0);
		if (!calls)
			return 0;
	} else {
		if (!is_wanted(context))
			return 0;
		calls = task_storage_get(&tasks, task, 0, CREATE);
	}
	u64 address = calls ? address_of(context, task, calls) : 0;
	if (calls && !is_of_task(task, address))
		return 0;
	u32 row = row_of(context);
	struct counters *all = counters_of(row);
	if (!all)
		return 0;
	all->entered++;
	if (!calls) {
		count_dropped(row);
		return 0;
	}
	u32 depth = without_stale(calls, address + 1);
	if (depth >= DEPTH) {
		count_dropped(row);
		return 0;
	}
	struct frame *own = &calls->frames[depth & (DEPTH - 1)];
	own->address = address;
	own->row = row;
	own->operation = OPERATION;
	own->start_ns = ktime_get_ns();
	*(volatile u32 *)&calls->depth = depth + 1;
	return 0;
}

INLINE void count(u32 row, u64 latency_ns)
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

SECTION("fexit/template")
int leave(u64 *context)
{
	struct task_struct *task = current_task();
	struct stack *calls = task_storage_get(&tasks, task, 0, 0);
	if (!calls || !calls->depth)
		return 0;
	u64 now_ns = ktime_get_ns();
	u64 address = address_of(context, task, calls);
	if (!is_of_task(task, address))
		return 0;
	u32 depth = without_stale(calls, address);
	if (!depth)
		return 0;
	struct frame *own = &calls->frames[(depth - 1) & (DEPTH - 1)];
	/* The call began before the programs were attached, or is not to be counted. */
	if (own->address != address || own->operation != OPERATION)
		return 0;
	u32 row = own->row;
	u64 latency_ns = now_ns - own->start_ns;
	*(volatile u32 *)&calls->depth = depth - 1;
	count(row, latency_ns);
	return 0;
}

SECTION("tp_btf/sched_process_fork")
int follow(u64 *context)
{
	follow_child(&tasks, context, &lost_tasks);
	return 0;
}

SECTION("iter/task")
int mark(struct bpf_iter__task *context)
{
	mark_task(&tasks, context, &lost_tasks);
	return 0;
}

/* As `Call::from_bytes` reads it. */
struct call {
	u64 start_ns;
	u32 row;
	u32 tid;
};

/* Writes the calls in flight. */
SECTION("iter/task")
int in_flight(struct bpf_iter__task *context)
{
	struct seq_file *seq = context->meta->seq;
	struct task_struct *task = context->task;
	if (!task)
		return 0;
	struct stack *calls = task_storage_get(&tasks, task, 0, 0);
	if (!calls)
		return 0;
	u32 depth = calls->depth;
	for (u32 at = 0; at < DEPTH; at++) {
		if (at >= depth)
			break;
		struct frame *frame = &calls->frames[at];
		struct call copy = {};
		copy.start_ns = frame->start_ns;
		copy.row = frame->row;
		copy.tid = task->pid;
		seq_write(seq, &copy, sizeof(copy));
	}
	return 0;
}
