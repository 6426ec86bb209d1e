//! Assembles listings of directories from the records of a bulk answer.
//!
//! Records come directory by directory, depth first in path order. A directory is complete once a
//! record of another one arrives; a directory whose turn is over without any record is empty. Both
//! conclusions apply only to directories that certainly had their turn: those that a listing of
//! this answer names and that lie on the top's file system, since others are not entered.
//!
//! Invariants: bytes are untrusted: records out of that order, or of directories that no listing
//! names, or of a directory without end, end the answer with an error.

use trawl_call::{Outcome, RecordRef, Source};
use trawl_model::relative_path::{join, split};
use trawl_sys::Errno;

use super::listing::{Entry, is_directory};

/// Maximum number of bytes of a directory's entries.
const LISTING_MAX_BYTES: usize = 512 << 20;

/// A finished directory: its path below the top, and its entries.
pub(super) type Done = (Vec<u8>, Result<Vec<Entry>, Errno>);

/// A record that is invalid at its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Nonsense;

/// A directory whose turn will come.
struct Due {
    dir: Vec<u8>,
    /// Whether the search certainly enters it.
    is_entered: bool,
}

struct Group {
    dir: Vec<u8>,
    entries: Vec<Entry>,
    bytes: usize,
    trouble: Option<Errno>,
    /// Whether it was not entered.
    is_left_out: bool,
}

/// Assembles listings from records.
pub(super) struct Assembly {
    device: u64,
    /// The directories whose turn will come, the next one last.
    due: Vec<Due>,
    open: Option<Group>,
    /// Maximum number of bytes of a directory's entries.
    most_bytes: usize,
}

/// Returns whether the bytes can be the name of an entry.
pub(super) fn is_name(name: &[u8]) -> bool {
    !matches!(name, b"" | b"." | b"..") && !name.contains(&0) && !name.contains(&b'/')
}

impl Assembly {
    /// Creates an assembly for an answer about a directory on this device.
    pub(super) fn new(device: u64) -> Assembly {
        let top = Due {
            dir: Vec::new(),
            is_entered: true,
        };
        Assembly {
            device,
            due: vec![top],
            open: None,
            most_bytes: LISTING_MAX_BYTES,
        }
    }

    /// Returns the directory whose turn it is.
    pub(super) fn position(&self) -> &[u8] {
        let due = || self.due.last().map(|due| &due.dir[..]);
        let open = self.open.as_ref().map(|group| &group.dir[..]);
        open.or_else(due).unwrap_or_default()
    }

    /// Takes a record, and appends finished directories to `done`.
    pub(super) fn take(
        &mut self,
        record: &RecordRef<'_>,
        done: &mut Vec<Done>,
    ) -> Result<(), Nonsense> {
        let path = match record.path {
            b"." => b"",
            path => path,
        };
        match record.outcome {
            Outcome::Match(Some(attributes)) => self.entry(path, Ok(attributes), done),
            Outcome::Match(None) => Err(Nonsense),
            Outcome::Error(trouble) => match trouble.source {
                Source::Stat if trouble.errno == Errno::NOENT.0 => Ok(()),
                Source::Stat => self.entry(path, Err(Errno(trouble.errno)), done),
                Source::Open | Source::Read => {
                    let group = self.enter(path, done)?;
                    group.trouble = Some(Errno(trouble.errno));
                    Ok(())
                }
                Source::Depth => {
                    self.enter(path, done)?.is_left_out = true;
                    Ok(())
                }
                Source::Close | Source::Loop => Ok(()),
            },
        }
    }

    fn entry(
        &mut self,
        path: &[u8],
        found: Result<trawl_call::Attributes, Errno>,
        done: &mut Vec<Done>,
    ) -> Result<(), Nonsense> {
        let (dir, name) = split(path);
        if !is_name(name) {
            return Err(Nonsense);
        }
        let most_bytes = self.most_bytes;
        let group = self.enter(dir, done)?;
        group.bytes += size_of::<Entry>() + name.len();
        let name = name.into();
        group.entries.push(Entry { name, found });
        match group.bytes <= most_bytes {
            true => Ok(()),
            false => Err(Nonsense),
        }
    }

    /// Finishes the directories before `dir`, and returns its group.
    fn enter(&mut self, dir: &[u8], done: &mut Vec<Done>) -> Result<&mut Group, Nonsense> {
        if self.open.as_ref().is_none_or(|group| group.dir != dir) {
            self.close(done)?;
            loop {
                let due = self.due.pop().ok_or(Nonsense)?;
                if due.dir == dir {
                    break;
                }
                if due.is_entered {
                    done.push((due.dir, Ok(Vec::new())));
                }
            }
        }
        Ok(self.open.get_or_insert_with(|| Group {
            dir: dir.to_vec(),
            entries: Vec::new(),
            bytes: 0,
            trouble: None,
            is_left_out: false,
        }))
    }

    fn close(&mut self, done: &mut Vec<Done>) -> Result<(), Nonsense> {
        let Some(mut group) = self.open.take() else {
            return Ok(());
        };
        // An error about a name may come before the matches.
        group.entries.sort_by(|a, b| a.name.cmp(&b.name));
        if group
            .entries
            .windows(2)
            .any(|two| two[0].name == two[1].name)
        {
            return Err(Nonsense);
        }
        for entry in group.entries.iter().rev() {
            let is_entered = match &entry.found {
                Ok(attributes) if !is_directory(attributes) => continue,
                Ok(attributes) => attributes.dev == self.device,
                Err(_) => false,
            };
            let dir = join(&group.dir, &entry.name);
            self.due.push(Due { dir, is_entered });
        }
        match group.trouble {
            _ if group.is_left_out => {}
            None => done.push((group.dir, Ok(group.entries))),
            Some(errno) => done.push((group.dir, Err(errno))),
        }
        Ok(())
    }

    /// Ends the complete answer.
    pub(super) fn finish(mut self, done: &mut Vec<Done>) -> Result<(), Nonsense> {
        self.close(done)?;
        let rest = self.due.into_iter().rev().filter(|due| due.is_entered);
        done.extend(rest.map(|due| (due.dir, Ok(Vec::new()))));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_call::{Attributes, Trouble};

    fn attributes(mode: u32, dev: u64) -> Outcome {
        Outcome::Match(Some(Attributes {
            mode,
            dev,
            ..Attributes::default()
        }))
    }

    fn told(records: &[(&str, Outcome)]) -> Result<Vec<String>, Nonsense> {
        let (mut assembly, mut done) = (Assembly::new(1), Vec::new());
        for (path, outcome) in records {
            let record = RecordRef {
                root: 0,
                path: path.as_bytes(),
                outcome: *outcome,
            };
            assembly.take(&record, &mut done)?;
        }
        assembly.finish(&mut done)?;
        let text = |(dir, found): Done| {
            let dir = String::from_utf8(dir).unwrap();
            match found {
                Err(errno) => format!("{dir}!{}", errno.0),
                Ok(entries) => {
                    let names = entries.iter().map(|e| String::from_utf8_lossy(&e.name));
                    format!("{dir}:{}", names.collect::<Vec<_>>().join(","))
                }
            }
        };
        Ok(done.into_iter().map(text).collect())
    }

    #[test]
    fn a_directory_without_end_fills_no_memory() {
        let (mut assembly, mut done) = (Assembly::new(1), Vec::new());
        assembly.most_bytes = 1 << 20;
        let mut take = |path: String| {
            let record = RecordRef {
                root: 0,
                path: path.as_bytes(),
                outcome: attributes(0o100_644, 1),
            };
            assembly.take(&record, &mut done)
        };
        let taken = (0..1 << 20).take_while(|at| take(format!("{at:08}")).is_ok());
        let taken = taken.count();
        assert!(
            taken > 1000 && taken * size_of::<Entry>() < 1 << 20,
            "{taken}"
        );
    }

    #[test]
    fn directories_are_done_when_their_turn_is_over() {
        let dir = attributes(0o040_755, 1);
        let other = attributes(0o040_755, 2);
        let file = attributes(0o100_644, 1);
        let shut = Outcome::Error(Trouble {
            source: Source::Open,
            errno: 13,
        });
        let records = [
            ("a", dir),
            ("b", dir),
            ("c", other),
            ("d", dir),
            ("x", file),
            ("b/e", dir),
            ("b/f", file),
            ("d", shut),
        ];
        // Directories on another device are not known to be empty.
        let wanted = [":a,b,c,d,x", "a:", "b:e,f", "b/e:", "d!13"];
        assert_eq!(told(&records).unwrap(), wanted);
        assert_eq!(told(&[]).unwrap(), [":"]);
        assert_eq!(told(&[(".", shut)]).unwrap(), ["!13"]);
    }

    #[test]
    fn nonsense_is_found() {
        let (dir, file) = (attributes(0o040_755, 1), attributes(0o100_644, 1));
        for records in [
            &[("a/b", file)][..],
            &[("a", dir), ("b", dir), ("b/x", file), ("a/x", file)],
            &[("a", file), ("a/x", file)],
            &[("a", file), ("a", file)],
            &[("a/", file)],
            &[("..", file)],
            &[("a", Outcome::Match(None))],
        ] {
            assert_eq!(told(records), Err(Nonsense), "{records:?}");
        }
    }
}
