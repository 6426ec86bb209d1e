/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What BPF programs need of the kernel: helpers by number, map definitions, and the members of
 * kernel structures that the programs read. Offsets come from the running kernel (CO-RE), so this
 * file names members and states nothing about where they lie.
 *
 * Source: https://docs.kernel.org/bpf/ and bpf-helpers(7). No other header is included, so the
 * object depends on the compiler only.
 */
#ifndef TRAWL_KERNEL_H
#define TRAWL_KERNEL_H

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;

#define SECTION(name) __attribute__((section(name), used))
#define INLINE static __attribute__((always_inline))
#define OF_KERNEL __attribute__((preserve_access_index))

/* Members of a map's definition, as loaders read them from the object's type information. */
#define NUMBER(name, value) int(*name)[value]
#define TYPE(name, type) type *name

enum { MAP_HASH = 1, MAP_PERCPU_ARRAY = 6, MAP_TASK_STORAGE = 29 };
/* BPF_F_NO_PREALLOC: task storage requires it. */
enum { NO_PREALLOCATION = 1 };
/* BPF_LOCAL_STORAGE_GET_F_CREATE */
enum { CREATE = 1 };

struct upid {
	s32 nr;
} OF_KERNEL;

struct pid {
	u32 level;
	struct upid numbers[1];
} OF_KERNEL;

struct task_struct {
	s32 pid;
	s32 tgid;
	struct pid *thread_pid;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
} OF_KERNEL;

/* x86: the code segment says whether the caller runs 32-bit code; arguments of calls. */
struct pt_regs___x86 {
	unsigned long r10;
	unsigned long dx;
	unsigned long cs;
} OF_KERNEL;

/* arm64: so does one bit of the processor state. */
struct pt_regs___arm64 {
	u64 pstate;
} OF_KERNEL;

/* arm64: the first member of `struct pt_regs`. */
struct user_pt_regs___arm64 {
	u64 regs[31];
} OF_KERNEL;

struct seq_file;
struct bpf_iter_meta {
	struct seq_file *seq;
} OF_KERNEL;

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
} OF_KERNEL;

static void *(*const map_lookup)(void *map, const void *key) = (void *)1;
static long (*const map_update)(void *map, const void *key, const void *value,
				u64 flags) = (void *)2;
static long (*const map_delete)(void *map, const void *key) = (void *)3;
static u64 (*const ktime_get_ns)(void) = (void *)5;
static long (*const probe_read_kernel)(void *to, u32 size, const void *from) = (void *)113;
static long (*const probe_read_kernel_str)(void *to, u32 size, const void *from) = (void *)115;
static u64 (*const current_ancestor_cgroup_id)(int level) = (void *)123;
static long (*const seq_write)(struct seq_file *seq, const void *data, u32 size) = (void *)127;
static void *(*const task_storage_get)(void *map, struct task_struct *task, void *value,
				       u64 flags) = (void *)156;
static struct task_struct *(*const current_task)(void) = (void *)158;

/* BPF_NOEXIST: only if the map does not have the key. */
enum { IF_ABSENT = 1 };

/* Whether the running kernel's structure has the member. */
#define HAS_MEMBER(member) __builtin_preserve_field_info(member, 2)
/* Value of an enumerator in the running kernel. */
#define VALUE_OF(type, name) __builtin_preserve_enum_value(*(type *)name, 1)
/* Offset of a member in the running kernel's structure. */
#define OFFSET_OF(member) __builtin_preserve_field_info(member, 0)

#endif
