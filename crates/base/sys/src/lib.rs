//! Safe wrappers for the system calls that Trawl needs: the only crate with `unsafe`.
//!
//! Every function makes one system call or library call (the documentation links to its manual
//! page), with typed arguments and a [`SysError`] that names the call and keeps its errno. No
//! function allocates to report an error. No function takes a path if a directory descriptor and a
//! single name are enough; callers add the path that they know to the error.
//!
//! | module | content |
//! |---|---|
//! | [`directory`] | opening directories without following links, getdents64 |
//! | [`far`] | entries at paths of any length |
//! | [`ahead`] | opening and reading only what is in memory, reading ahead, first extents |
//! | [`confined`] | paths that cannot lead out of a directory |
//! | [`access`] | whether the caller may read, write or execute |
//! | [`stat`] | statx of a name or a descriptor |
//! | [`stat_layout`] | results of stat and statx as bytes |
//! | [`seccomp`] | intercepting system calls of other programs before they are executed |
//! | [`lease`] | whether a file is open for writing |
//! | [`link`] | readlinkat |
//! | [`xattr`] | listing and reading extended attributes relative to a directory descriptor |
//! | [`project`] | project ids and the flag that inherits them |
//! | [`quota`] | quotas of users, groups and projects |
//! | [`filesystem`] | statfs: the file system of a descriptor |
//! | [`file`] | fsync, syncfs, flock, rename, link, unlink, mkdir, fadvise |
//! | [`fanotify`] | marks, the event queue and its parser |
//! | [`handle`] | file handles: of a name, of a descriptor, opened |
//! | [`bpf`] | programs for the kernel's task iterators |
//! | [`mapping`] | memory mappings of a process through which files can be written |
//! | [`mount`] | mounts that no other process sees |
//! | [`mount_table`] | the table of mounts |
//! | [`timer`] | a descriptor that becomes readable at an interval |
//! | [`device`] | conversion between device numbers and major and minor numbers |
//! | [`identity`] | users and groups by id and by name, the caller's own ids |
//! | [`btrfs`] | inodes of a subvolume that changed since a transaction |
//! | [`xfs`] | all inodes of a file system in order of their numbers |
//! | [`ring`] | statx of many files with few calls |
//! | [`acting`] | single calls for another user, a thread's own umask |
//! | [`become_user`] | work done as another user |
//! | [`child`] | starting commands beside this process, signalling and awaiting them |
//! | [`command`] | running commands and waiting for them |
//! | [`held`] | commands that wait before they execute |
//! | [`enclosure`] | commands in a mount namespace of their own |
//! | [`own_id()`] | the id of this process, without a system call |
//! | [`priority`] | the priority of the calling thread |
//! | [`process`] | limits, resource use, the clock |
//! | [`signal`] | an interrupt flag, signals as a descriptor, the broken-pipe signal |
//! | [`settings`] | the directory of a user's settings |
//! | [`shared`] | files written through shared memory mappings |
//! | [`shared_words`] | shared memory as atomic words |
//! | [`terminal`] | keys of a terminal as they are typed |
//! | [`wait`] | waiting for descriptors, and waking a waiting thread |
//! | [`listening`] | Unix sockets whose names appear only when they listen |
//! | [`peer`] | the user at the other end of a socket |
//! | [`inherited`] | descriptors that the process was started with |
//! | [`message`] | datagrams with descriptors |
//! | [`pam`] | passwords, checked as the system does |
//! | [`pattern`] | fnmatch |
//! | [`replaced`] | files that are replaced as a whole, by one writer at a time |
//! | [`restricted`] | processes that gave up their rights |
//! | [`regex`] | regular expressions with back-references |
//! | [`lock`] | locks on open files |
//!
//! The crate does not retry, walk or cache, and does not decide what an error means.

#![cfg(target_os = "linux")]

pub mod access;
pub mod acting;
pub mod ahead;
pub mod background_close;
pub mod become_user;
pub mod bpf;
pub mod btrfs;
pub mod child;
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
pub mod held;
pub mod identity;
pub mod inherited;
pub mod lease;
pub mod link;
pub mod listening;
pub mod lock;
pub mod mapping;
pub mod message;
pub mod mount;
pub mod mount_table;
mod own_id;
pub mod pam;
pub mod pattern;
pub mod peer;
pub mod priority;
pub mod process;
pub mod project;
pub mod pseudo_terminal;
pub mod quota;
pub mod regex;
pub mod replaced;
pub mod restricted;
pub mod ring;
pub mod seccomp;
pub mod settings;
pub mod shared;
pub mod shared_words;
pub mod signal;
mod spawn;
pub mod stat;
pub mod stat_layout;
pub mod terminal;
pub mod timer;
pub mod wait;
pub mod xattr;
pub mod xfs;

pub use error::{Errno, Op, SysError};
pub use own_id::own_id;
pub use rustix::fs::CWD;
pub use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

/// Returns true if something holds soon after a descriptor was closed: until they run their programs,
/// the children that other tests have started have a copy of it.
#[cfg(test)]
pub(crate) fn soon(mut holds: impl FnMut() -> bool) -> bool {
    (0..10_000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(1));
        holds()
    })
}
