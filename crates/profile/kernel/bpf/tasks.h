/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* How programs that walk the tasks tell them apart. */
#ifndef TRAWL_TASKS_H
#define TRAWL_TASKS_H

#include "kernel.h"

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

#endif
