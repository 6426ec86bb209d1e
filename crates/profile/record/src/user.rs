//! The layer of programs: calls of the C library, seen by a library that is loaded into them.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use trawl_histogram::{Profile, Resolution};
use trawl_kernel_profile::Filter;
use trawl_user_profile::unseen::{self, Unseen};
use trawl_user_profile::{Options, Session, Thread, Threads};

use crate::detail::{By, Detail, part_name};
use crate::error::ProfileError;
use crate::layer::{Attached, Cost, Layer, Reading};

/// Paths of the library relative to the program's directory: where it is installed, and where cargo
/// builds it.
const LIBRARIES: [&str; 2] = ["../lib/trawl/libtrawl-profile.so", "libtrawl_profile.so"];

/// The layer, which tells nothing apart.
pub(crate) static USER: UserLayer = UserLayer { by: None };

/// Name of the layer.
const NAME: &str = "user";

/// Maximum number of programs or threads that are told apart; those with the least total latency
/// are one part of their own.
const PARTS_MAX: usize = 256;

/// Name of the part with all others.
const OTHERS: &str = "(others)";

#[derive(Debug)]
pub(crate) struct UserLayer {
    by: Option<By>,
}

/// Returns the library.
fn library() -> Result<PathBuf, ProfileError> {
    let program = std::env::current_exe().ok();
    let beside = program.as_deref().and_then(Path::parent);
    let places = LIBRARIES.iter().filter_map(|name| Some(beside?.join(name)));
    let mut found = places.filter_map(|place| place.canonicalize().ok());
    found.next().ok_or(ProfileError::NoLibrary)
}

impl Layer for UserLayer {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "file functions of the C library, as programs call them"
    }

    fn availability(&self) -> Result<Cost, ProfileError> {
        let probe = trawl_user_profile::availability(&library()?)?;
        Ok(Cost {
            each_ns: Some(probe.cost_ns),
        })
    }

    fn prepare(
        &self,
        command: &mut Command,
        resolution: Resolution,
    ) -> Result<Option<Box<dyn Attached>>, ProfileError> {
        let library = library()?;
        let probe = trawl_user_profile::probe::clock(&library)?;
        let options = Options {
            resolution,
            threads: match self.by {
                Some(By::Thread) => Threads::Apart,
                _ => Threads::Merged,
            },
            ..Options::default()
        };
        let session = Session::start(&library, &probe, &options)?;
        command.envs(session.environment(std::env::var_os("LD_PRELOAD").as_deref()));
        let unseen = unseen::reason(&in_path(Path::new(command.get_program())));
        let since = SystemTime::now().duration_since(UNIX_EPOCH).ok();
        Ok(Some(Box::new(Recorded {
            by: self.by,
            session,
            unseen,
            begun: Instant::now(),
            start_unix_ns: since.and_then(|since| u64::try_from(since.as_nanos()).ok()),
        })))
    }

    fn in_detail(&self, detail: &Detail) -> Result<Box<dyn Layer>, ProfileError> {
        match detail.values.is_empty() {
            true => Ok(Box::new(UserLayer { by: detail.by })),
            false => Err(detail.refused_by(NAME)),
        }
    }

    fn attach(&self, _: &Filter, _: Resolution) -> Result<Box<dyn Attached>, ProfileError> {
        Err(ProfileError::OnlyCommands { layer: self.name() })
    }
}

/// Returns the file of a program, as execvp(3) finds it.
fn in_path(program: &Path) -> PathBuf {
    if program.components().count() > 1 {
        return program.to_owned();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&path).map(|directory| directory.join(program));
    let found = places.find(|place| place.is_file());
    found.unwrap_or_else(|| program.to_owned())
}

#[derive(Debug)]
struct Recorded {
    by: Option<By>,
    session: Session,
    /// Why the command itself is not seen.
    unseen: Option<Unseen>,
    begun: Instant,
    start_unix_ns: Option<u64>,
}

impl Attached for Recorded {
    fn read(&mut self) -> Result<Reading, ProfileError> {
        let reading = self.session.read();
        let duration_ns = u64::try_from(self.begun.elapsed().as_nanos()).ok();
        let timed = |layer: String, mut profile: Profile| {
            profile.layer = layer;
            profile.start_unix_ns = self.start_unix_ns;
            profile.duration_ns = duration_ns;
            profile
        };
        let parts = self.parts(reading.programs, reading.threads)?;
        let parts = parts.into_iter();
        let parts = parts.map(|(name, profile)| timed(part_name(NAME, &name), profile));
        let profile = timed(NAME.to_owned(), reading.whole);
        profile.check()?;
        let mut losses = Vec::new();
        if reading.without_region > 0 {
            let calls = reading.without_region;
            losses.push(format!(
                "{calls} calls of threads for which there was no memory"
            ));
        }
        for damage in &reading.damaged {
            let (program, operation) = (&damage.program, damage.operation);
            losses.push(format!("{operation} of {program}: {}", damage.cause));
        }
        losses.extend(self.unseen.map(|why| {
            let why = match why {
                Unseen::Static => "it is statically linked",
                Unseen::OtherRights => "it runs with other rights",
            };
            format!("the calls of the command itself are not seen: {why}")
        }));
        Ok(Reading {
            parts: parts.collect(),
            ..Reading::new(profile, losses)
        })
    }
}

impl Recorded {
    /// Returns the parts by name, the greatest total latency first.
    fn parts(
        &self,
        programs: BTreeMap<String, Profile>,
        threads: Vec<Thread>,
    ) -> Result<Vec<(String, Profile)>, ProfileError> {
        let mut named: BTreeMap<String, Profile> = match self.by {
            Some(By::Program) => programs,
            _ => BTreeMap::new(),
        };
        for one in threads {
            let name = format!("{}/{}/{}", one.program, one.process, one.thread);
            match named.entry(name) {
                // Numbers of threads are used again.
                Entry::Occupied(mut earlier) => earlier.get_mut().merge(&one.profile)?,
                Entry::Vacant(place) => {
                    place.insert(one.profile);
                }
            }
        }
        let mut all: Vec<(String, Profile)> = named.into_iter().collect();
        all.sort_by_cached_key(|(_, profile)| Reverse(total(profile)));
        let mut others: Option<Profile> = None;
        for (_, profile) in all.drain(PARTS_MAX.min(all.len())..) {
            match &mut others {
                Some(others) => others.merge(&profile)?,
                None => others = Some(profile),
            }
        }
        all.extend(others.map(|profile| (OTHERS.to_owned(), profile)));
        Ok(all)
    }
}

/// Returns the total latency of all operations.
fn total(profile: &Profile) -> u128 {
    let operations = profile.operations();
    operations.fold(0, |sum, (_, one)| sum.saturating_add(one.counts().total))
}
