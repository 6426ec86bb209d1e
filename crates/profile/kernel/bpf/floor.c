// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Pairs of programs at `sys_enter` and `sys_exit` that do less than those of `system_calls.c`, to find
 * out what the parts of those cost: `examples/floor.rs`. Trawl itself loads none of them.
 */
#include "kernel.h"

struct slot {
	u64 start_ns;
	u64 total_ns;
	u64 calls;
};

struct {
	NUMBER(type, MAP_PERCPU_ARRAY);
	NUMBER(max_entries, 512);
	TYPE(key, u32);
	TYPE(value, struct slot);
} slots SECTION(".maps");

struct {
	NUMBER(type, MAP_HASH);
	NUMBER(max_entries, 512);
	TYPE(key, u32);
	TYPE(value, struct slot);
} table SECTION(".maps");

struct {
	NUMBER(type, MAP_TASK_STORAGE);
	NUMBER(map_flags, NO_PREALLOCATION);
	TYPE(key, int);
	TYPE(value, struct slot);
} tasks SECTION(".maps");

char terms[] SECTION("license") = "Dual MIT/GPL";

SECTION("tp_btf/sys_enter")
int nothing_enter(u64 *context)
{
	return 0;
}

SECTION("tp_btf/sys_exit")
int nothing_leave(u64 *context)
{
	return 0;
}

/* An array of each CPU, looked up twice on each side, as the layer does. */
INLINE struct slot *touch(u32 at)
{
	return map_lookup(&slots, &at);
}

INLINE int touch_both(u64 number)
{
	struct slot *own = touch(0);
	struct slot *all = touch(number & 511);
	if (own && all) {
		own->start_ns++;
		all->calls++;
	}
	return 0;
}

SECTION("tp_btf/sys_enter")
int arrays_enter(u64 *context)
{
	return touch_both(context[1]);
}

SECTION("tp_btf/sys_exit")
int arrays_leave(u64 *context)
{
	return touch_both(110);
}

/* The clock, once on each side. */
SECTION("tp_btf/sys_enter")
int clock_enter(u64 *context)
{
	struct slot *own = touch(0);
	if (own)
		own->start_ns = ktime_get_ns();
	return 0;
}

SECTION("tp_btf/sys_exit")
int clock_leave(u64 *context)
{
	struct slot *own = touch(0);
	if (own)
		own->total_ns += ktime_get_ns() - own->start_ns;
	return 0;
}

/* A helper that does hardly anything, once on each side: what calling one costs. */
static u64 (*const current_user)(void) = (void *)15;

SECTION("tp_btf/sys_enter")
int helper_enter(u64 *context)
{
	struct slot *own = touch(0);
	if (own)
		own->start_ns = current_user();
	return 0;
}

SECTION("tp_btf/sys_exit")
int helper_leave(u64 *context)
{
	struct slot *own = touch(0);
	if (own)
		own->total_ns += current_user() - own->start_ns;
	return 0;
}

/* A hash table, looked up once on each side. */
INLINE int look_up(void)
{
	u32 key = 7;
	struct slot *own = map_lookup(&table, &key);
	if (own)
		own->calls++;
	return 0;
}

SECTION("tp_btf/sys_enter")
int hash_enter(u64 *context)
{
	return look_up();
}

SECTION("tp_btf/sys_exit")
int hash_leave(u64 *context)
{
	return look_up();
}

/* The task's own storage, looked up once on each side. */
INLINE int look_up_task(void)
{
	struct slot *own = task_storage_get(&tasks, current_task(), 0, CREATE);
	if (own)
		own->calls++;
	return 0;
}

SECTION("tp_btf/sys_enter")
int storage_enter(u64 *context)
{
	return look_up_task();
}

SECTION("tp_btf/sys_exit")
int storage_leave(u64 *context)
{
	return look_up_task();
}

/* The same as raw tracepoints, without types. */
SECTION("raw_tp/sys_enter")
int raw_enter(u64 *context)
{
	return 0;
}

SECTION("raw_tp/sys_exit")
int raw_leave(u64 *context)
{
	return 0;
}
