//! The layer of programs: calls of the C library, seen by a library that is loaded into them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use trawl_histogram::{Profile, Resolution};
use trawl_kernel_profile::Filter;
use trawl_user_profile::unseen::{self, Unseen};
use trawl_user_profile::{CallSite, CallSites, Options, Session, Symbols, Thread, Threads};

use crate::detail::{By, Detail};
use crate::error::ProfileError;
use crate::layer::{Attached, Cost, Layer, Reading};
use crate::parts::{Parts, thread_name};

/// Paths of the library relative to the program's directory: where it is installed, and where cargo
/// builds it.
const LIBRARIES: [&str; 2] = ["../lib/trawl/libtrawl-profile.so", "libtrawl_profile.so"];

/// The layer, which tells nothing apart.
pub(crate) static USER: UserLayer = UserLayer { by: None };

/// Name of the layer.
const NAME: &str = "user";

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
            call_sites: match self.by {
                Some(By::CallSite) => CallSites::Apart,
                _ => CallSites::Ignored,
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
            symbols: Symbols::default(),
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
    symbols: Symbols,
    /// Why the command itself is not seen.
    unseen: Option<Unseen>,
    begun: Instant,
    start_unix_ns: Option<u64>,
}

impl Attached for Recorded {
    fn read(&mut self) -> Result<Reading, ProfileError> {
        let reading = self.session.read();
        let duration_ns = u64::try_from(self.begun.elapsed().as_nanos()).ok();
        let timed = |mut profile: Profile| {
            profile.start_unix_ns = self.start_unix_ns;
            profile.duration_ns = duration_ns;
            profile
        };
        let mut parts = Parts::default();
        match self.by {
            None => {}
            Some(By::Program) => {
                for (name, profile) in reading.programs {
                    parts.add(name, profile)?;
                }
            }
            Some(By::Thread) => add_threads(&mut parts, reading.threads)?,
            Some(By::CallSite) => {
                add_sites(&mut parts, &mut self.symbols, reading.call_sites)?;
                if !reading.other_sites.is_empty() {
                    parts.add_others(reading.other_sites)?;
                }
            }
        }
        let parts = parts.of_layer(NAME)?.into_iter().map(timed);
        let mut profile = timed(reading.whole);
        NAME.clone_into(&mut profile.layer);
        profile.check()?;
        let mut losses = Vec::new();
        if reading.without_region > 0 {
            let calls = reading.without_region;
            losses.push(format!(
                "{calls} calls of threads without a region: none was left, or children of vfork(2) made \
                 them"
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

fn add_threads(parts: &mut Parts, threads: Vec<Thread>) -> Result<(), ProfileError> {
    for one in threads {
        let name = thread_name(&one.program, one.process, one.thread);
        parts.add(name, one.profile)?;
    }
    Ok(())
}

fn add_sites(
    parts: &mut Parts,
    symbols: &mut Symbols,
    sites: Vec<CallSite>,
) -> Result<(), ProfileError> {
    for one in sites {
        let name = match one.module.as_os_str().is_empty() {
            true => "?".to_owned(),
            false => symbols.name(&one.module, one.offset),
        };
        parts.add(name, one.profile)?;
    }
    Ok(())
}
