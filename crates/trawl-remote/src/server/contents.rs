//! Answers `read`, and `fetch`, which adds the version of the file that the bytes belong to.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use trawl_call::Attributes;
use trawl_sys::SysError;
use trawl_sys::confined::open_file_anywhere;
use trawl_sys::stat::{Stat, Time, stat_fd};

use super::answer::{BLOCK_BYTES, bad, whole};
use super::outlet::{Outlet, refusal};
use crate::exports::{Exports, Place, Places};
use crate::wire::version::Version;
use crate::wire::{Code, Message, READ_MAX_BYTES};

/// Number of attempts to read a file that changes meanwhile.
const TRIES: usize = 3;
/// Coarsest resolution of the clock that stamps times of change …
const TICK: Duration = Duration::from_millis(50);
/// … and of file systems that store whole seconds.
const COARSE_TICK: Duration = Duration::from_millis(2_050);

fn open(exports: &Exports, path: &[u8], length: u32) -> Result<File, Message> {
    if length > READ_MAX_BYTES {
        return Err(bad("too many bytes are requested at once"));
    }
    let opened = match Places::new(exports).find(path) {
        Place::Anywhere(path) => open_file_anywhere(&path),
        Place::Confined(confined) => confined.open_file(),
    };
    opened.map(File::from).map_err(of_system)
}

fn of_system(error: SysError) -> Message {
    refusal(Code::System, error.errno.0, &error.to_string())
}

fn of_file(error: io::Error) -> Message {
    let errno = error.raw_os_error().unwrap_or(0);
    refusal(Code::System, errno, &error.to_string())
}

/// Fills a buffer from a file; a shorter result means the end of the file.
fn fill(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        let at = offset.saturating_add(filled as u64);
        match file.read_at(&mut buffer[filled..], at) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Sends a part of a file.
pub(super) fn read(
    outlet: &Outlet,
    id: u32,
    exports: &Exports,
    path: &[u8],
    (offset, length): (u64, u32),
) -> Result<Message, Message> {
    let file = open(exports, path, length)?;
    let mut bytes = vec![0; BLOCK_BYTES];
    let (mut at, mut left, mut sent) = (offset, length as usize, 0u64);
    while left > 0 {
        let most = left.min(BLOCK_BYTES);
        let count = fill(&file, &mut bytes[..most], at).map_err(of_file)?;
        if count > 0 {
            outlet.say(id, &Message::Data(bytes[..count].to_vec()));
        }
        at = at.saturating_add(count as u64);
        left -= count;
        sent += count as u64;
        if count < most {
            break;
        }
    }
    Ok(whole(sent))
}

/// Sends a part of a file, preceded by the version of the file that it belongs to.
pub(super) fn fetch(
    outlet: &Outlet,
    id: u32,
    exports: &Exports,
    path: &[u8],
    (offset, length): (u64, u32),
) -> Result<Message, Message> {
    let file = open(exports, path, length)?;
    let mut buffer = vec![0; length as usize];
    let mut tries = TRIES;
    let (version, count) = loop {
        let began = SystemTime::now();
        let before = stat_fd(&file).map_err(of_system)?;
        let count = fill(&file, &mut buffer, offset).map_err(of_file)?;
        let is_whole = changes(&before) == changes(&stat_fd(&file).map_err(of_system)?);
        tries -= 1;
        if is_whole || tries == 0 {
            let version = Version {
                attributes: Attributes::from(&before),
                born: before.btime.unwrap_or_default(),
                is_settled: is_whole && is_settled(before.ctime, began),
            };
            break (version, count);
        }
    };
    let mut bytes = Vec::new();
    version.encode(&mut bytes);
    bytes.extend_from_slice(&buffer[..count]);
    for piece in bytes.chunks(BLOCK_BYTES) {
        outlet.say(id, &Message::Data(piece.to_vec()));
    }
    Ok(whole(bytes.len() as u64))
}

/// Returns the attributes that every change of the contents changes.
fn changes(stat: &Stat) -> (u64, Time, Time) {
    (stat.size, stat.mtime, stat.ctime)
}

/// Returns whether any change after this moment gets a different time of change.
fn is_settled(changed: Time, now: SystemTime) -> bool {
    let tick = match changed.nanos {
        0 => COARSE_TICK,
        _ => TICK,
    };
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let changed = match u64::try_from(changed.secs) {
        Ok(secs) => Duration::new(secs, changed.nanos),
        Err(_) => return true,
    };
    changed.checked_add(tick).is_some_and(|until| until < now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_settles_once_the_clock_has_gone_on() {
        let now = UNIX_EPOCH + Duration::from_secs(1_000);
        let at = |secs, nanos| is_settled(Time { secs, nanos }, now);
        assert!(at(-5, 1) && at(0, 0) && at(999, 1) && at(997, 0));
        assert!(!at(999, 990_000_000) && !at(998, 0) && !at(1_000, 1) && !at(2_000, 1));
        assert!(!at(i64::MAX, 1));
    }
}
