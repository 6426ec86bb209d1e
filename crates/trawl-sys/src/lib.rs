//! The system calls Trawl needs, behind safe functions: the only crate with `unsafe`.
//!
//! Every function is one system call or library call (a page of the Linux manual is linked from
//! each) with typed arguments and a [`SysError`] that names the call and keeps its errno. No
//! function allocates to report an error, and none takes a path where a directory descriptor and
//! a single name will do: callers add the path they know.
//!
//! | module | what it holds |
//! |---|---|
//! | [`directory`] | open a directory without following links, getdents64 |
//! | [`far`] | entries at paths of any length |
//! | [`confined`] | paths that lead out of no directory |
//! | [`access`] | whether the caller may read, write or execute |
//! | [`stat`] | statx of a name or a descriptor |
//! | [`stat_layout`] | what stat and statx say, as bytes |
//! | [`seccomp`] | system calls of other programs, asked about before they are done |
//! | [`link`] | readlinkat |
//! | [`xattr`] | list and read extended attributes beside a directory descriptor |
//! | [`project`] | project ids and the flag that inherits them |
//! | [`filesystem`] | statfs: what kind of file system a descriptor lies on |
//! | [`file`] | fsync, syncfs, flock, rename, link, unlink, mkdir, fadvise |
//! | [`fanotify`] | marks, the queue of events and its parser |
//! | [`handle`] | file handles: of a name, of a descriptor, opened |
//! | [`bpf`] | programs for the kernel's iterators over tasks |
//! | [`mapping`] | which parts of a process's memory write to files |
//! | [`mount`] | mounts that nobody else sees |
//! | [`mount_table`] | what is mounted where |
//! | [`timer`] | a descriptor that becomes readable at an interval |
//! | [`device`] | device numbers to major and minor and back |
//! | [`identity`] | users and groups by id and by name, the caller's own ids |
//! | [`btrfs`] | which inodes of a subvolume changed since a transaction |
//! | [`xfs`] | all inodes of a file system in order of their numbers |
//! | [`ring`] | many files looked at with few calls |
//! | [`become_user`] | work done as another user |
//! | [`command`] | commands run and waited for |
//! | [`enclosure`] | commands in mounts of their own |
//! | [`process`] | limits, resource use, the clock |
//! | [`signal`] | an interrupt flag, signals as a descriptor, the broken-pipe signal |
//! | [`shared`] | a file that is changed through memory |
//! | [`wait`] | waiting for descriptors, and waking who waits |
//! | [`peer`] | who is at the other end of a socket |
//! | [`inherited`] | descriptors that the process was started with |
//! | [`message`] | datagrams with descriptors |
//! | [`pattern`] | fnmatch |
//! | [`regex`] | regular expressions with back-references |
//! | [`lock`] | locks on open files |
//!
//! What it does not do: retry, walk, cache, or decide what an error means.

#![cfg(target_os = "linux")]

pub mod access;
pub mod become_user;
pub mod bpf;
pub mod btrfs;
pub mod command;
pub mod confined;
pub mod device;
pub mod directory;
pub mod enclosure;
mod error;
pub mod fanotify;
pub mod far;
pub mod file;
pub mod filesystem;
pub mod handle;
pub mod identity;
pub mod inherited;
pub mod link;
pub mod listening;
pub mod lock;
pub mod mapping;
pub mod message;
pub mod mount;
pub mod mount_table;
pub mod pattern;
pub mod peer;
pub mod process;
pub mod project;
pub mod regex;
pub mod ring;
pub mod seccomp;
pub mod shared;
pub mod shared_words;
pub mod signal;
mod spawn;
pub mod stat;
pub mod stat_layout;
pub mod timer;
pub mod wait;
pub mod xattr;
pub mod xfs;

pub use error::{Errno, Op, SysError};
pub use rustix::fs::CWD;
pub use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
