// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Reads the operation vectors of the files that the reader of the iterator holds open: which function
 * of the kernel serves which operation of a file system.
 *
 * The reader finds in the kernel's type information where vectors hang (`i_op` of an inode, `s_op` of
 * a super block) and how long they are; nothing about them is stated here. The kernel writes the
 * functions' names itself (`%ps`), so no symbol table is read.
 *
 * Lines, for each file: `F descriptor super_block file_system_type name`, then for each member of a
 * vector that is not 0 `V vector offset name [module]`. A second program writes what lies at given
 * addresses, as `W index offset name [module]`.
 */
#include "kernel.h"

enum { ROOTS = 4, VECTORS = 16, SLOTS = 128, ADDRESSES = 8, WORDS = 64 };
enum { INODE = 0, SUPER = 1, DENTRY = 2, MAPPING = 3 };

enum { MAP_ARRAY = 2 };

struct file;
struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	u32 fd;
	struct file *file;
} OF_KERNEL;

static long (*const seq_printf)(struct seq_file *seq, const char *format, u32 format_size,
				const void *data, u32 data_size) = (void *)126;

/* Where the vectors hang: a root and an offset in it; and their sizes. */
volatile const u32 vectors = 0;
volatile const u32 vector_root[VECTORS] = {};
volatile const u32 vector_offset[VECTORS] = {};
volatile const u32 vector_bytes[VECTORS] = {};
/* Offsets of file.f_inode, inode.i_sb, file.f_path.dentry, inode.i_mapping, super_block.s_type and
 * file_system_type.name. */
volatile const u32 inode_of_file = 0;
volatile const u32 super_of_inode = 0;
volatile const u32 dentry_of_file = 0;
volatile const u32 mapping_of_inode = 0;
volatile const u32 type_of_super = 0;
volatile const u32 name_of_type = 0;

const char file_line[] = "F %u %llx %llx %s\n";
const char word_line[] = "W %u %u %ps\n";
const char vector_line[] = "V %u %u %ps\n";

struct slots {
	u64 slot[SLOTS];
};

struct {
	NUMBER(type, MAP_PERCPU_ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct slots);
} scratch SECTION(".maps");

struct {
	NUMBER(type, MAP_ARRAY);
	NUMBER(max_entries, ADDRESSES);
	TYPE(key, u32);
	TYPE(value, u64);
} addresses SECTION(".maps");

char terms[] SECTION("license") = "Dual MIT/GPL";

INLINE u64 follow(u64 from, u32 offset)
{
	u64 pointer = 0;
	if (from)
		probe_read_kernel(&pointer, sizeof(pointer), (void *)(from + offset));
	return pointer;
}

INLINE void write_vector(struct seq_file *seq, struct slots *read, u32 vector, u64 at)
{
	u32 bytes = vector_bytes[vector];
	if (!at || bytes > sizeof(*read) || probe_read_kernel(read, bytes, (void *)at))
		return;
	for (u32 slot = 0; slot < SLOTS; slot++) {
		if (slot * sizeof(u64) >= bytes)
			break;
		u64 line[3] = {vector, slot * sizeof(u64), read->slot[slot]};
		if (line[2])
			seq_printf(seq, vector_line, sizeof(vector_line), line, sizeof(line));
	}
}

SECTION("iter/task_file")
int write_vectors(struct bpf_iter__task_file *context)
{
	struct seq_file *seq = context->meta->seq;
	struct task_struct *task = context->task;
	u64 file = (u64)context->file;
	u32 zero = 0;
	if (!task || !file || task->tgid != current_task()->tgid)
		return 0;
	struct slots *read = map_lookup(&scratch, &zero);
	if (!read)
		return 0;
	u64 inode = follow(file, inode_of_file);
	u64 roots[ROOTS] = {};
	roots[INODE] = inode;
	roots[SUPER] = follow(inode, super_of_inode);
	roots[DENTRY] = follow(file, dentry_of_file);
	roots[MAPPING] = follow(inode, mapping_of_inode);
	u64 type = follow(roots[SUPER], type_of_super);
	u64 line[4] = {context->fd, roots[SUPER], type, follow(type, name_of_type)};
	seq_printf(seq, file_line, sizeof(file_line), line, sizeof(line));
	for (u32 vector = 0; vector < VECTORS; vector++) {
		if (vector >= vectors)
			break;
		u64 root = roots[vector_root[vector] & (ROOTS - 1)];
		write_vector(seq, read, vector, follow(root, vector_offset[vector]));
	}
	return 0;
}

SECTION("iter/task")
int write_words(struct bpf_iter__task *context)
{
	struct seq_file *seq = context->meta->seq;
	struct task_struct *task = context->task;
	if (!task || task != current_task())
		return 0;
	for (u32 index = 0; index < ADDRESSES; index++) {
		u32 key = index;
		u64 *address = map_lookup(&addresses, &key);
		if (!address || !*address)
			continue;
		for (u32 word = 0; word < WORDS; word++) {
			u64 line[3] = {index, word * sizeof(u64),
				       follow(*address, word * sizeof(u64))};
			if (line[2])
				seq_printf(seq, word_line, sizeof(word_line), line, sizeof(line));
		}
	}
	return 0;
}
