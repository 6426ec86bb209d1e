//! Attaches layers to a subject, and reads them until it ends.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use trawl_histogram::{Capture, Resolution, Slicer};
use trawl_kernel_profile::Filter;
use trawl_sys::held::Held;

use crate::error::ProfileError;
use crate::layer::{Attached, Layer, Reading};
use crate::recording::{Machine, Recording};

/// How soon an interrupt, or the end of a process, is noticed.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Maximum number of slices, with which a recording ends.
const SLICES_MAX: usize = 100_000;

/// What is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A command, from its first system call on, and everything that it starts, until it ends.
    Command(Vec<OsString>),
    /// A process and what descends from it, until it ends.
    Process(u32),
    /// The processes of a control group (its directory), for a time.
    Group(PathBuf),
    /// Everything on the machine, for a time.
    Everything,
}

/// How to record.
#[derive(Clone, Debug)]
pub struct Wishes {
    /// The layers, in the order of the recording.
    pub layers: Vec<&'static dyn Layer>,
    /// Buckets for each doubling of the latency.
    pub resolution: Resolution,
    /// Length of a slice; one slice if `None`.
    pub interval: Option<Duration>,
    /// Maximum duration.
    pub duration: Option<Duration>,
}

/// How the subject ended.
#[derive(Debug)]
pub enum Ended {
    /// The command ended.
    Command(ExitStatus),
    /// The process ended, or the duration was over.
    Over,
    /// The recording was cancelled. A command was waited for.
    Cancelled,
}

/// Records until the subject ends, the duration is over or `cancel` is set. A command that is still
/// running then is waited for: it is the user's, and an interrupt from the terminal has reached it.
///
/// # Errors
/// Fails if a layer cannot be attached, a reading contradicts itself, or the command cannot be run.
pub fn record(
    subject: &Subject,
    wishes: &Wishes,
    cancel: &AtomicBool,
) -> Result<(Recording, Ended), ProfileError> {
    let mut run = Run::begin(subject, wishes)?;
    let ended = run.follow(wishes, cancel)?;
    let recording = run.finish(subject, wishes)?;
    Ok((recording, ended))
}

/// A layer that is being read.
struct Track {
    attached: Box<dyn Attached>,
    slicer: Slicer,
    losses: Vec<String>,
}

/// What ends a recording.
enum Watched {
    Command(Child, OwnedFd),
    Process(OwnedFd),
    Nothing,
}

struct Run {
    tracks: Vec<Track>,
    watched: Watched,
    begun: Instant,
    /// Number of slices that were read.
    slices: usize,
}

impl Run {
    fn begin(subject: &Subject, wishes: &Wishes) -> Result<Run, ProfileError> {
        let watch = |process: u32| move |source| ProfileError::Watch { process, source };
        let (tracks, watched) = match subject {
            Subject::Command(words) => {
                let mut command = command(words);
                let prepared = prepare(&mut command, wishes)?;
                let held = Held::start(command).map_err(|source| start_error(words, source))?;
                let process = held.pid();
                let tracks = attach_rest(prepared, &Filter::Tree(process), wishes)?;
                let child = held
                    .release()
                    .map_err(|source| start_error(words, source))?;
                let end = trawl_sys::command::watch_end(&child).map_err(watch(process))?;
                (tracks, Watched::Command(child, end))
            }
            Subject::Process(process) => {
                let end = trawl_sys::command::watch_process(*process).map_err(watch(*process))?;
                let tracks = attach(&Filter::Tree(*process), wishes)?;
                (tracks, Watched::Process(end))
            }
            Subject::Group(path) => (
                attach(&Filter::Cgroup(path.clone()), wishes)?,
                Watched::Nothing,
            ),
            Subject::Everything => (attach(&Filter::Everything, wishes)?, Watched::Nothing),
        };
        Ok(Run {
            tracks,
            watched,
            begun: Instant::now(),
            slices: 0,
        })
    }

    /// Reads slices until the recording ends.
    fn follow(&mut self, wishes: &Wishes, cancel: &AtomicBool) -> Result<Ended, ProfileError> {
        let mut next = wishes.interval;
        loop {
            let at = self.begun.elapsed();
            if let (Some(due), Some(interval)) = (next, wishes.interval)
                && at >= due
            {
                self.slice()?;
                next = Some(due + interval);
                continue;
            }
            let is_cancelled = cancel.load(Ordering::Relaxed);
            let is_full = self.slices + 1 >= SLICES_MAX;
            if is_cancelled || is_full || wishes.duration.is_some_and(|most| at >= most) {
                self.slice()?;
                return Ok(self.leave(is_cancelled));
            }
            let until = [next, wishes.duration].into_iter().flatten().min();
            let wait = until.map_or(LOOK_AGAIN, |until| LOOK_AGAIN.min(until.saturating_sub(at)));
            if self.has_ended(wait) {
                self.tracks.iter_mut().for_each(|one| one.attached.settle());
                self.slice()?;
                return Ok(self.leave(false));
            }
        }
    }

    /// Waits for the subject's end for a time; returns whether it has come.
    fn has_ended(&self, wait: Duration) -> bool {
        match &self.watched {
            Watched::Command(_, end) | Watched::Process(end) => {
                let ready = trawl_sys::wait::readable([end.as_fd()], Some(wait));
                ready.is_ok_and(|[ended]| ended)
            }
            Watched::Nothing => {
                std::thread::sleep(wait);
                false
            }
        }
    }

    fn slice(&mut self) -> Result<(), ProfileError> {
        for track in &mut self.tracks {
            let Reading { profile, losses } = track.attached.read()?;
            track.losses = losses;
            track.slicer.push(profile)?;
        }
        self.slices += 1;
        Ok(())
    }

    fn leave(&mut self, is_cancelled: bool) -> Ended {
        let watched = std::mem::replace(&mut self.watched, Watched::Nothing);
        match (watched, is_cancelled) {
            (Watched::Command(mut child, _), false) => match child.wait() {
                Ok(status) => Ended::Command(status),
                Err(_) => Ended::Over,
            },
            (Watched::Command(mut child, _), true) => {
                let _ = child.wait();
                Ended::Cancelled
            }
            (_, true) => Ended::Cancelled,
            (_, false) => Ended::Over,
        }
    }

    fn finish(self, subject: &Subject, wishes: &Wishes) -> Result<Recording, ProfileError> {
        let mut recording = Recording {
            subject: describe(subject),
            machine: Machine::of_this(),
            losses: Vec::new(),
            captures: Vec::new(),
        };
        for track in self.tracks {
            recording.losses.extend(track.losses);
            let capture = recorded(track.slicer, wishes.interval, &recording.subject)?;
            recording.captures.push(capture);
        }
        Ok(recording)
    }
}

/// Returns what a layer recorded; without an interval, as one slice.
pub(crate) fn recorded(
    slicer: Slicer,
    interval: Option<Duration>,
    title: &str,
) -> Result<Capture, ProfileError> {
    let mut capture = Capture::from(slicer.finish()?);
    if interval.is_none() {
        capture = Capture::from(capture.profile.into_whole());
    }
    titled(capture, title)
}

/// Returns the capture with a title.
fn titled(capture: Capture, title: &str) -> Result<Capture, ProfileError> {
    let (interval, slices) = (
        capture.profile.interval_ns(),
        capture.profile.slices().to_vec(),
    );
    let mut whole = capture.profile.into_whole();
    title.clone_into(&mut whole.title);
    let profile = trawl_histogram::Sliced::new(whole, interval, slices)?;
    Ok(Capture {
        profile,
        correlated: capture.correlated,
    })
}

fn attach(filter: &Filter, wishes: &Wishes) -> Result<Vec<Track>, ProfileError> {
    let none = wishes.layers.iter().map(|_| None);
    attach_rest(none.collect(), filter, wishes)
}

/// Lets each layer prepare the command.
fn prepare(command: &mut Command, wishes: &Wishes) -> Result<Prepared, ProfileError> {
    let layers = wishes.layers.iter();
    layers
        .map(|layer| layer.prepare(command, wishes.resolution))
        .collect()
}

/// What each layer attached by itself.
type Prepared = Vec<Option<Box<dyn Attached>>>;

/// Attaches the layers that have not attached themselves, and begins to read all.
fn attach_rest(
    prepared: Prepared,
    filter: &Filter,
    wishes: &Wishes,
) -> Result<Vec<Track>, ProfileError> {
    let interval = wishes.interval.unwrap_or(Duration::from_secs(1));
    let interval_ns = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX);
    let one = |(layer, prepared): (&&'static dyn Layer, Option<Box<dyn Attached>>)| {
        let mut attached = match prepared {
            Some(attached) => attached,
            None => layer.attach(filter, wishes.resolution)?,
        };
        let first = attached.read()?.profile;
        Ok(Track {
            attached,
            slicer: Slicer::new(first, interval_ns),
            losses: Vec::new(),
        })
    };
    wishes.layers.iter().zip(prepared).map(one).collect()
}

fn command(words: &[OsString]) -> Command {
    let (program, arguments) = match words.split_first() {
        Some((program, arguments)) => (program.clone(), arguments),
        None => (OsString::new(), words),
    };
    let mut command = Command::new(program);
    command.args(arguments);
    command
}

fn start_error(words: &[OsString], source: io::Error) -> ProfileError {
    ProfileError::Start {
        program: words.first().cloned().unwrap_or_default(),
        source,
    }
}

fn describe(subject: &Subject) -> String {
    match subject {
        Subject::Command(words) => {
            let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
            words.join(" ")
        }
        Subject::Process(process) => format!("process {process}"),
        Subject::Group(path) => format!("control group {}", path.display()),
        Subject::Everything => "the whole machine".to_owned(),
    }
}
