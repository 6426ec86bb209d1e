//! The user behind a request of the kernel.
//!
//! The kernel names a thread and its file-system ids. The thread's supplementary groups are in
//! `/proc/PID/status`; the thread waits for our answer, so its number is its own, unless it was killed,
//! and then nobody receives the answer. The question is asked with exactly these ids, without a
//! capability that the thread lacks, and only for processes that see the same files under the same
//! paths as this one: a process in another mount namespace, or below another root, could learn names
//! that it cannot reach. A capability counts only in the user namespace of its process, so this must be
//! ours, too.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::sync::OnceLock;

use trawl_sys::become_user::User;

/// Arguments of the processes that answer questions, after the program's name.
pub(crate) const ANSWERING: [&str; 2] = ["view", "answer"];
/// `CAP_DAC_READ_SEARCH` of capabilities(7): the superuser's right to look into every directory.
const LOOKS_EVERYWHERE: u64 = 1 << 2;
/// The superuser.
const ROOT: u32 = 0;
/// More bytes than `/proc/PID/status` has, but for a thread with very many groups.
const STATUS_BYTES: usize = 8 << 10;
/// SIGKILL in a set of signals.
const KILLED: u64 = 1 << 8;

/// The process sees other files than we do, or cannot be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Elsewhere;

/// What `/proc/PID/status` says.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Status {
    user: User,
    capabilities: u64,
    pending: u64,
}

impl Status {
    fn read(thread: u32) -> io::Result<Status> {
        // Each look-up reads it. A buffer that begins small would be filled by many reads, and `File`
        // itself would ask for its size and position first.
        let mut text = Vec::with_capacity(STATUS_BYTES);
        let file = File::open(format!("/proc/{thread}/status"))?;
        file.take(u64::MAX).read_to_end(&mut text)?;
        let text = String::from_utf8_lossy(&text);
        Status::parse(&text).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    fn parse(text: &str) -> Option<Status> {
        let value = |name: &str| {
            let mut values = text.lines().filter_map(|line| line.strip_prefix(name));
            values.next()?.strip_prefix(':').map(str::trim)
        };
        // Real, effective, saved and file-system ids.
        let id = |name| value(name)?.split_whitespace().nth(3)?.parse().ok();
        let set = |name| u64::from_str_radix(value(name)?, 16).ok();
        let groups = value("Groups")?.split_whitespace();
        Some(Status {
            user: User {
                uid: id("Uid")?,
                gid: id("Gid")?,
                groups: groups
                    .map(|group| group.parse().ok())
                    .collect::<Option<_>>()?,
            },
            capabilities: set("CapEff")?,
            pending: set("SigPnd")? | set("ShdPnd")?,
        })
    }
}

/// Returns true if the thread was killed, so that nobody waits for an answer.
pub(crate) fn is_killed(thread: u32) -> bool {
    match Status::read(thread) {
        Ok(status) => status.pending & KILLED != 0,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Returns the user behind a request of this thread with these ids.
pub(crate) fn asker(thread: u32, uid: u32, gid: u32) -> Result<User, Elsewhere> {
    let status = Status::read(thread).map_err(|_| Elsewhere)?;
    let is_same = status.user.uid == uid && status.user.gid == gid;
    let lacks_rights = uid == ROOT && status.capabilities & LOOKS_EVERYWHERE == 0;
    if !is_same || lacks_rights || !sees_the_same(thread).unwrap_or(false) {
        return Err(Elsewhere);
    }
    Ok(status.user)
}

/// Files below `/proc/PID` that are the same for two processes that see the same files under the same
/// paths. The root directory is compared last: a process in a user namespace of its own can choose any,
/// and stat(2) of one in our mount would wait for our own answer.
const SIGHT: [&str; 3] = ["ns/mnt", "ns/user", "root/"];

/// Returns the device and inode of a part of what a process sees.
fn sight(process: &str, part: &str) -> io::Result<(u64, u64)> {
    let attributes = fs::metadata(format!("/proc/{process}/{part}"))?;
    Ok((attributes.dev(), attributes.ino()))
}

/// Returns true if a thread has our namespaces and root directory, which never change.
fn sees_the_same(thread: u32) -> io::Result<bool> {
    static OURS: OnceLock<[Option<(u64, u64)>; 3]> = OnceLock::new();
    let ours = OURS.get_or_init(|| SIGHT.map(|part| sight("self", part).ok()));
    for (part, own) in SIGHT.iter().zip(ours) {
        if *own != Some(sight(&thread.to_string(), part)?) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns true for a thread of a process that answers questions, of any mount of views: a question
/// of such a process would be about itself. The process can make this wait.
pub(crate) fn is_answering(thread: u32) -> bool {
    let words = fs::read(format!("/proc/{thread}/cmdline")).unwrap_or_default();
    let mut words = words.split(|byte| *byte == 0).skip(1);
    ANSWERING
        .iter()
        .all(|word| words.next() == Some(word.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Name:\tls\nTgid:\t70\nPid:\t71\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\n\
                        Groups:\t9 10 \nSigPnd:\t0000000000000000\nShdPnd:\t0000000000000100\n\
                        CapEff:\t0000000000000004\n";

    #[test]
    fn the_ids_are_those_for_the_file_system() {
        let status = Status::parse(TEXT).unwrap();
        let user = User {
            uid: 4,
            gid: 8,
            groups: vec![9, 10],
        };
        assert_eq!(&status.user, &user);
        assert_eq!((status.capabilities, status.pending & KILLED), (4, KILLED));
        for name in ["Uid", "Gid", "Groups", "CapEff", "SigPnd"] {
            assert_eq!(Status::parse(&TEXT.replace(name, "X")), None, "{name}");
        }
    }

    #[test]
    fn this_process_sees_what_it_sees() {
        let (thread, uid) = (std::process::id(), trawl_sys::identity::effective_uid());
        let gid = trawl_sys::identity::effective_gid();
        assert!(!is_killed(thread) && sees_the_same(thread).unwrap());
        assert!(!is_answering(thread));
        assert_eq!(asker(thread, uid.wrapping_add(1), gid), Err(Elsewhere));
        assert_eq!(asker(0, uid, gid), Err(Elsewhere));
        assert!(is_killed(u32::MAX));
    }
}
