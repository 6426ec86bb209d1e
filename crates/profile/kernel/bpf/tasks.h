/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Which tasks are counted: the filter, and how a process tree is followed. Each layer keeps what it
 * knows of a task in a map of its own, `tasks`. If the filter is a tree, the tasks that the map knows
 * are those of the tree.
 */
#ifndef TRAWL_TASKS_H
#define TRAWL_TASKS_H

#include "kernel.h"

enum { TREE = 0, CGROUP = 1, EVERYTHING = 2, MOUNT = 3 };

/* Set before the programs are loaded; the kernel then removes the branches not taken. */
volatile const u32 filter = EVERYTHING;
volatile const s32 root_pid = 0;
volatile const u64 cgroup_id = 0;
volatile const u32 cgroup_level = 0;

/* The process number of a task in the PID namespace at a level, which the task or an ancestor of it is
 * in. Addresses are computed as numbers: kernels before 6.2 allow no arithmetic with pointers to types
 * and values they do not know. */
INLINE s32 number_at(struct task_struct *task, u32 level)
{
	u64 pid = 0;
	s32 number = 0;
	probe_read_kernel(&pid, sizeof(pid), &task->thread_pid);
	if (!pid)
		return 0;
	struct pid *layout = 0;
	struct upid *element = 0;
	u64 size = __builtin_preserve_field_info(layout->numbers[0], 1);
	u64 first = pid + OFFSET_OF(layout->numbers);
	probe_read_kernel(&number, sizeof(number),
			  (void *)(first + level * size + OFFSET_OF(element->nr)));
	return number;
}

/* The process number of a task as the reader of the iterator sees it. */
INLINE s32 number_for_reader(struct task_struct *task)
{
	return number_at(task, current_task()->thread_pid->level);
}

INLINE int is_in_cgroup(void)
{
	return current_ancestor_cgroup_id(cgroup_level) == cgroup_id;
}

INLINE int is_followed(void *tasks, struct task_struct *task)
{
	return task && task_storage_get(tasks, task, 0, 0) != 0;
}

/* Counts in `lost` a process or thread that cannot be followed, for want of memory. */
INLINE int add_task(void *tasks, struct task_struct *task, u64 *lost)
{
	if (task_storage_get(tasks, task, 0, CREATE))
		return 1;
	__sync_fetch_and_add(lost, 1);
	return 0;
}

/* At `sched_process_fork`: children and threads of followed tasks are followed from their first
 * instruction. */
INLINE void follow_child(void *tasks, u64 *context, u64 *lost)
{
	struct task_struct *parent = (void *)context[0];
	struct task_struct *child = (void *)context[1];
	if (filter == TREE && task_storage_get(tasks, parent, 0, 0))
		add_task(tasks, child, lost);
}

/* In a walk of all tasks: marks the process tree below `root_pid`, and writes one byte for each task
 * marked. A walk that marks nothing has seen all: children of marked tasks are marked when they are
 * made. */
INLINE void mark_task(void *tasks, struct bpf_iter__task *context, u64 *lost)
{
	struct seq_file *seq = context->meta->seq;
	struct task_struct *task = context->task;
	if (!task || is_followed(tasks, task))
		return;
	struct task_struct *leader = task->group_leader;
	struct task_struct *parent = task->real_parent;
	if (number_for_reader(leader) != root_pid && !is_followed(tasks, leader) &&
	    !is_followed(tasks, parent) && !is_followed(tasks, parent->group_leader))
		return;
	u8 one = 1;
	if (add_task(tasks, task, lost))
		seq_write(seq, &one, sizeof(one));
}

#endif
