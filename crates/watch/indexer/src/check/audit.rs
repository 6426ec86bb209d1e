//! Check of one source: its sample, its users, its findings.
//!
//! The superuser's view is read here. Every access of another user, to the source and to the index,
//! happens in a thread that has become that user ([`trawl_sys::become_user`]).

use std::collections::{HashMap, HashSet};

use trawl_format::Source;
use trawl_model::guard::{Credentials, Guard};
use trawl_model::{DirAccess, Timestamp, Uid, path};
use trawl_query::{QueryError, SnapshotInfo};
use trawl_sys::SysError;
use trawl_sys::become_user::as_user;

use super::Checker;
use super::compare::{Case, Kind, Reached, Tally};
use super::facts::Entries;
use super::people::{self, Person};
use super::recorded::{Accesses, Judge, chain};
use super::report::{Derivation, Report};
use super::sample::{Sample, choose};
use super::shown::{Reading, Shown};
use super::source::{Attributes, Eyes, access_of};
use crate::error::{IndexerError, Result};
use crate::event::{Event, Listener};
use crate::scan::ID_MAP;

/// Number of directories that are prepared at a time.
const BATCH: usize = 1000;
/// Maximum delay of the kernel's coarse clock, which stamps changes.
const CLOCK_LATE_NS: u32 = 20_000_000;

/// A directory with all that root knows about it.
struct Prepared {
    dir: Vec<u8>,
    all: Entries,
    is_changed: bool,
    ctime: Timestamp,
}

/// One user's part of the check.
struct Part<'a> {
    person: &'a Person,
    who: Credentials,
    reading: Option<Reading<'a>>,
    /// Directories of the sample that a walk of the index reaches.
    in_index: HashSet<Vec<u8>>,
    tally: Tally,
}

/// Check of one source.
pub(super) struct Audit<'a> {
    wanted: &'a Checker<'a>,
    info: SnapshotInfo,
    root: Vec<u8>,
    all: Reading<'a>,
    derivation: Derivation,
    attributes: Attributes,
    /// Guard of the source as a whole.
    above: Guard,
    is_above_changed: bool,
    since: Timestamp,
    known: Accesses,
    /// For each directory that was looked at: whether its permissions differ from those in the
    /// snapshot.
    changed: HashMap<Vec<u8>, bool>,
}

/// Checks the part of a source at and below `top`; returns `None` if the source has no snapshot
/// yet.
pub(super) fn audit(
    wanted: &Checker<'_>,
    source: &Source,
    top: &[u8],
    listener: &mut dyn Listener,
) -> Result<Option<Report>> {
    let Some(id) = source.current_id()? else {
        return Ok(None);
    };
    let info = source.snapshot(id)?.info;
    let (findings, guards) = trawl_writer::verify::check_permissions(&wanted.index, source)?;
    let superuser = Credentials {
        uid: Uid::ROOT,
        groups: Vec::new(),
    };
    let all = Reading::open(wanted.dir(), superuser, wanted.control.cancel)?;
    let derivation = Derivation::of(&info);
    let is_above_changed = derivation == Derivation::Kernel && above_changed(source, &info)?;
    let mut audit = Audit {
        root: source.root().to_vec(),
        attributes: match info.options.contains_key("no-xattr") {
            true => Attributes::Ignored,
            false => Attributes::Compared,
        },
        since: beginning(&info),
        above: source.above()?.unwrap_or_default(),
        wanted,
        info,
        all,
        derivation,
        is_above_changed,
        known: Accesses::new(),
        changed: HashMap::new(),
    };
    let sample = choose(&audit.all, top, wanted.size)?;
    let people = match &wanted.people[..] {
        [] => people::default(&sample.owners),
        named => named.to_vec(),
    };
    let tallies = audit.run(&sample, &people, listener)?;
    Ok(Some(Report {
        root: audit.root,
        top: top.to_vec(),
        info: audit.info,
        derivation,
        looked_at: sample.directories.len() as u64,
        of: sample.of,
        seed: wanted.size.seed,
        guards,
        findings,
        users: people.into_iter().zip(tallies).collect(),
    }))
}

impl Derivation {
    fn of(info: &SnapshotInfo) -> Derivation {
        if info.options.contains_key("from-trace") {
            Derivation::Recorded
        } else if info.options.contains_key(ID_MAP) {
            Derivation::Mapped
        } else {
            Derivation::Kernel
        }
    }
}

impl<'a> Audit<'a> {
    fn run(
        &mut self,
        sample: &Sample,
        people: &[Person],
        listener: &mut dyn Listener,
    ) -> Result<Vec<Tally>> {
        let wanted: HashSet<&[u8]> = sample.directories.iter().map(|dir| &dir[..]).collect();
        let mut parts = Vec::new();
        for person in people {
            parts.push(self.part(person, &wanted)?);
        }
        let mut done = 0;
        let of = sample.directories.len() as u64 * people.len() as u64;
        for batch in sample.directories.chunks(BATCH) {
            let batch = self.prepare(batch)?;
            for part in &mut parts {
                self.compare(&batch, part)?;
                done += batch.len() as u64;
                let root = &self.root;
                listener.hear(&Event::Compared { root, done, of });
            }
        }
        Ok(parts.into_iter().map(|part| part.tally).collect())
    }

    /// Opens the index as a user.
    fn part<'p>(&self, person: &'p Person, wanted: &HashSet<&[u8]>) -> Result<Part<'p>>
    where
        'a: 'p,
    {
        let who = person.credentials();
        let (dir, cancel) = (self.wanted.dir(), self.wanted.control.cancel);
        let opened = as_user(&person.user, || {
            let reading = Reading::open(dir, who.clone(), cancel)?;
            let in_index = reading.comes_to(&self.root, wanted)?;
            Ok::<_, QueryError>((reading, in_index))
        });
        let mut tally = Tally::default();
        let (reading, in_index) = match opened.map_err(|error| cannot_become(person, error))? {
            Ok((reading, in_index)) => (Some(reading), in_index),
            Err(QueryError::Index(error)) if error.is_denied() => {
                let path = dir.as_os_str().as_encoded_bytes();
                tally.add(Kind::Missing, path, "this user may not open the index");
                (None, HashSet::new())
            }
            Err(error) => return Err(error.into()),
        };
        Ok(Part {
            person,
            who,
            reading,
            in_index,
            tally,
        })
    }

    /// Collects what root knows about these directories.
    fn prepare(&mut self, batch: &[Vec<u8>]) -> Result<Vec<Prepared>> {
        let mut prepared = Vec::with_capacity(batch.len());
        for dir in batch {
            self.wanted.control.check()?;
            let all = match self.all.list(dir)? {
                Shown::Listing(entries) => entries,
                // The directory could not be read when the source was scanned.
                Shown::Nothing | Shown::Live => continue,
            };
            let root = self.root.clone();
            let mut is_changed = self.is_above_changed;
            for above in chain(&root, dir) {
                is_changed |= self.is_changed(above)?;
            }
            let ctime = match self.derivation {
                Derivation::Kernel => access_of(dir).map_or(self.info.finished, |(_, ctime)| ctime),
                _ => self.info.started.minus_secs(1),
            };
            prepared.push(Prepared {
                dir: dir.clone(),
                all,
                is_changed,
                ctime,
            });
        }
        Ok(prepared)
    }

    /// Returns true if a directory's permissions differ from those in the snapshot, and the
    /// directory was changed after the snapshot began.
    fn is_changed(&mut self, dir: &[u8]) -> Result<bool> {
        if let Some(known) = self.changed.get(dir) {
            return Ok(*known);
        }
        let facts = self.all.facts(dir)?;
        let before = facts.map(|facts| facts.access()).unwrap_or_default();
        let is_changed = match self.derivation {
            Derivation::Kernel => match access_of(dir) {
                Ok((now, ctime)) => ctime >= self.since && !self.is_same(&before, &now),
                Err(_) => true,
            },
            _ => false,
        };
        self.known.insert(dir.to_vec(), before);
        self.changed.insert(dir.to_vec(), is_changed);
        Ok(is_changed)
    }

    fn is_same(&self, before: &DirAccess, now: &DirAccess) -> bool {
        let same_acl = before.acl == now.acl || self.attributes == Attributes::Ignored;
        let bits = |access: &DirAccess| (access.mode & 0o777, access.uid, access.gid);
        bits(before) == bits(now) && same_acl
    }

    /// Compares a batch of directories, as a user.
    fn compare(&self, batch: &[Prepared], part: &mut Part<'_>) -> Result<()> {
        let Some(reading) = &part.reading else {
            return Ok(());
        };
        let (tally, in_index, who) = (&mut part.tally, &part.in_index, &part.who);
        let all = as_user(&part.person.user, || {
            let mut eyes = Eyes::new(self.attributes);
            for prepared in batch {
                self.wanted.control.check()?;
                self.compare_one(prepared, &mut eyes, reading, (who, in_index), tally)?;
            }
            Ok(())
        });
        all.map_err(|error| cannot_become(part.person, error))?
    }

    fn compare_one(
        &self,
        prepared: &Prepared,
        eyes: &mut Eyes,
        reading: &Reading<'_>,
        (who, in_index): (&Credentials, &HashSet<Vec<u8>>),
        tally: &mut Tally,
    ) -> Result<()> {
        let dir = &prepared.dir;
        let judge = Judge {
            who,
            root: &self.root,
            above: &self.above,
            known: &self.known,
        };
        let (seen, on_source) = match self.derivation {
            Derivation::Kernel => {
                let seen = eyes.list(dir).map_err(|error| cannot_look(dir, error))?;
                (seen, eyes.comes_to(&self.root, dir))
            }
            _ => (judge.list(dir, &prepared.all), judge.comes_to(dir)),
        };
        let case = Case {
            dir,
            is_changed: prepared.is_changed,
            ctime: prepared.ctime,
            all: &prepared.all,
            since: match self.derivation {
                Derivation::Kernel => self.since,
                _ => Timestamp {
                    secs: i64::MAX,
                    nanos: 0,
                },
            },
        };
        let reached = Reached {
            on_source,
            in_index: in_index.contains(dir),
        };
        case.compare(seen, reading.list(dir)?, reached, tally);
        Ok(())
    }
}

/// Returns true if the directories above the root guard it differently than before, and one of them
/// was changed after the snapshot began.
fn above_changed(source: &Source, info: &SnapshotInfo) -> Result<bool> {
    let mut above = Vec::new();
    let mut is_later = false;
    let mut dir = path::split(source.root()).map(|(dir, _)| dir);
    while let Some(at) = dir {
        let (access, ctime) = access_of(at).map_err(|error| cannot_look(at, error))?;
        is_later |= ctime >= beginning(info);
        above.push(access);
        dir = path::split(at).map(|(dir, _)| dir);
    }
    above.reverse();
    Ok(is_later && !source.lies_behind(&above))
}

/// Returns the time from which changes may be missing from the snapshot.
fn beginning(info: &SnapshotInfo) -> Timestamp {
    let Timestamp { secs, nanos } = info.started;
    match nanos.checked_sub(CLOCK_LATE_NS) {
        Some(nanos) => Timestamp { secs, nanos },
        None => Timestamp {
            secs: secs - 1,
            nanos: nanos + 1_000_000_000 - CLOCK_LATE_NS,
        },
    }
}

fn cannot_become(person: &Person, source: SysError) -> IndexerError {
    IndexerError::CannotBecome {
        user: person.label(),
        source,
    }
}

fn cannot_look(dir: &[u8], source: SysError) -> IndexerError {
    IndexerError::CannotLook {
        dir: dir.to_vec(),
        source,
    }
}
