//! Attaches layers to a subject, and reads them until it ends.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use trawl_histogram::{Capture, Correlated, Profile, Resolution, Slicer};
use trawl_kernel_profile::Filter;
use trawl_sys::held::Held;

use crate::error::ProfileError;
use crate::layer::{Attached, Layer};
use crate::recording::{Machine, Recording};

/// How soon an interrupt, or the end of a process, is noticed.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Maximum number of slices. The last one is as long as the rest of the recording.
const SLICES_MAX: usize = 100_000;

/// The subject of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A command, from its first system call on, and everything that it starts, until it ends.
    Command(Vec<OsString>),
    /// A process and what descends from it, until it ends.
    Process(u32),
    /// The processes of a control group (its directory), for a time.
    Group(PathBuf),
    /// The file system that is mounted at a path or above it, or its devices, for a time.
    Mount(PathBuf),
    /// Everything on the machine, for a time.
    Everything,
}

/// How to record.
#[derive(Clone, Debug)]
pub struct Wishes<'l> {
    /// The layers, in the order of the recording.
    pub layers: Vec<&'l dyn Layer>,
    /// Buckets for each doubling of the latency.
    pub resolution: Resolution,
    /// Length of a slice; one slice if `None`. Where a reading takes longer, calls of several slices
    /// are in the last of these.
    pub interval: Option<Duration>,
    /// Maximum duration.
    pub duration: Option<Duration>,
    /// The command's standard streams.
    pub streams: Streams,
}

/// The standard streams of a command that is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streams {
    /// Those of this process.
    Own,
    /// Nothing is read, and output is thrown away: somebody else uses the terminal.
    Nowhere,
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
    wishes: &Wishes<'_>,
    cancel: &AtomicBool,
) -> Result<Recorded, ProfileError> {
    let mut run = Run::begin(subject, wishes)?;
    let ended = run.follow(wishes, cancel)?;
    let (recording, leaving) = run.finish(wishes)?;
    Ok(Recorded {
        recording,
        ended,
        leaving,
    })
}

/// A recording, and the layers that made it.
#[derive(Debug)]
pub struct Recorded {
    /// The counts.
    pub recording: Recording,
    /// How the subject ended.
    pub ended: Ended,
    /// The layers. Drop them when the recording is written: they may take long to leave the kernel,
    /// and nobody should wait for the result meanwhile.
    pub leaving: Leaving,
}

/// Layers that have been read for the last time. They leave the system when this is dropped.
#[derive(Debug, Default)]
pub struct Leaving(Vec<Box<dyn Attached>>);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.drain(..).for_each(Attached::leave);
    }
}

/// Readings of a subject, one interval after the other.
pub struct Watch {
    run: Run,
    last: Vec<Profile>,
}

impl Watch {
    /// Attaches the layers, and starts the command.
    ///
    /// # Errors
    /// As [`record`].
    pub fn begin(subject: &Subject, wishes: &Wishes<'_>) -> Result<Watch, ProfileError> {
        let run = Run::begin(subject, wishes)?;
        let tracks = run.tracks.iter();
        Ok(Watch {
            last: tracks.map(|track| track.begun.clone()).collect(),
            run,
        })
    }

    /// Returns a descriptor that becomes readable when the command or process ends.
    #[must_use]
    pub fn end(&self) -> Option<BorrowedFd<'_>> {
        match &self.run.watched {
            Watched::Command(_, end) | Watched::Process(end) => Some(end.as_fd()),
            Watched::Nothing => None,
        }
    }

    /// Returns what happened since the last interval, by layer.
    ///
    /// # Errors
    /// Fails if a reading contradicts itself.
    pub fn interval(&mut self) -> Result<Vec<Profile>, ProfileError> {
        let mut differences = Vec::with_capacity(self.last.len());
        for (track, last) in self.run.tracks.iter_mut().zip(&mut self.last) {
            let now = track.attached.read()?;
            differences.push(now.profile.since(last)?);
            *last = now.profile;
            track.losses = now.losses;
        }
        Ok(differences)
    }

    /// Returns what could not be counted until the last interval, in words.
    #[must_use]
    pub fn losses(&self) -> Vec<String> {
        let tracks = self.run.tracks.iter();
        tracks.flat_map(|track| track.losses.clone()).collect()
    }

    /// Returns what is watched, in words.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.run.title
    }

    /// Returns the command's status if it has ended. Otherwise it goes on, unwatched.
    #[must_use]
    pub fn leave(self) -> Option<ExitStatus> {
        let tracks = self.run.tracks.into_iter();
        tracks.for_each(|track| track.attached.leave());
        match self.run.watched {
            Watched::Command(mut child, _) => child.try_wait().ok().flatten(),
            _ => None,
        }
    }
}

/// A layer that is being read.
struct Track {
    attached: Box<dyn Attached>,
    /// Counts from before the command or the recording began.
    begun: Profile,
    slicer: Slicer,
    first: Details,
    last: Details,
    losses: Vec<String>,
}

/// The parts of a reading besides its profile.
struct Details {
    parts: Vec<Profile>,
    correlated: Vec<Correlated>,
}

impl Track {
    fn begin(mut attached: Box<dyn Attached>, interval_ns: u64) -> Result<Track, ProfileError> {
        let reading = attached.read()?;
        Ok(Track {
            attached,
            begun: reading.profile.clone(),
            slicer: Slicer::new(reading.profile, interval_ns),
            first: Details {
                parts: reading.parts,
                correlated: reading.correlated,
            },
            last: Details {
                parts: Vec::new(),
                correlated: Vec::new(),
            },
            losses: Vec::new(),
        })
    }

    fn slice(&mut self, title: &str) -> Result<(), ProfileError> {
        let mut reading = self.attached.read()?;
        title.clone_into(&mut reading.profile.title);
        self.slicer.push(reading.profile)?;
        self.last = Details {
            parts: reading.parts,
            correlated: reading.correlated,
        };
        self.losses = reading.losses;
        Ok(())
    }

    /// Adds the layer to the captures, and its parts behind it. Returns the layer.
    fn finish(
        self,
        wishes: &Wishes<'_>,
        title: &str,
        captures: &mut Vec<Capture>,
    ) -> Result<Box<dyn Attached>, ProfileError> {
        let mut capture = Capture::from(self.slicer.finish()?);
        if wishes.interval.is_none() {
            capture = Capture::from(capture.profile.into_whole());
        }
        for last in &self.last.correlated {
            let mut firsts = self.first.correlated.iter();
            let first = firsts.find(|first| first.value() == last.value());
            capture.correlated.push(match first {
                Some(first) => last.since(first)?,
                None => last.clone(),
            });
        }
        captures.push(capture);
        for last in self.last.parts {
            let mut firsts = self.first.parts.iter();
            let first = firsts.find(|first| first.layer == last.layer);
            let mut part = match first {
                Some(first) => last.since(first)?,
                None => last,
            };
            title.clone_into(&mut part.title);
            captures.push(part.into());
        }
        Ok(self.attached)
    }
}

/// The event that ends a recording.
enum Watched {
    Command(Child, OwnedFd),
    Process(OwnedFd),
    Nothing,
}

struct Run {
    title: String,
    tracks: Vec<Track>,
    watched: Watched,
    begun: Instant,
    /// Number of slices that are over.
    slices: usize,
    /// Whether the last slice is longer than the others.
    is_cut: bool,
}

/// Returns how many slices of this length are over after a time.
fn slices_in(time: Duration, each: Duration) -> usize {
    let number = time.as_nanos() / each.as_nanos().max(1);
    usize::try_from(number).unwrap_or(usize::MAX - 1)
}

impl Run {
    fn begin(subject: &Subject, wishes: &Wishes<'_>) -> Result<Run, ProfileError> {
        let watch = |process: u32| move |source| ProfileError::Watch { process, source };
        let (tracks, watched) = match subject {
            Subject::Command(words) => {
                let mut command = command(words, wishes.streams);
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
            Subject::Mount(path) => (
                attach(&Filter::Mount(path.clone()), wishes)?,
                Watched::Nothing,
            ),
            Subject::Everything => (attach(&Filter::Everything, wishes)?, Watched::Nothing),
        };
        Ok(Run {
            title: describe(subject),
            tracks,
            watched,
            begun: Instant::now(),
            slices: 0,
            is_cut: false,
        })
    }

    /// Reads slices until the recording ends.
    fn follow(&mut self, wishes: &Wishes<'_>, cancel: &AtomicBool) -> Result<Ended, ProfileError> {
        loop {
            let at = self.begun.elapsed();
            let is_cancelled = cancel.load(Ordering::Relaxed);
            if is_cancelled || wishes.duration.is_some_and(|most| at >= most) {
                self.last_slice(wishes, at)?;
                return Ok(self.leave(is_cancelled));
            }
            let over = wishes.interval.map_or(0, |each| slices_in(at, each));
            if over > self.slices && self.slices + 1 < SLICES_MAX {
                self.slice(over.min(SLICES_MAX - 1))?;
            }
            // The end is looked for after each slice, also if reading takes longer than a slice.
            let wait = self.until_next(wishes).min(LOOK_AGAIN);
            if self.has_ended(wait) {
                let at = self.begun.elapsed();
                self.tracks.iter_mut().for_each(|one| one.attached.settle());
                self.last_slice(wishes, at)?;
                return Ok(self.leave(false));
            }
        }
    }

    /// Returns the time until a slice or the recording must end.
    fn until_next(&self, wishes: &Wishes<'_>) -> Duration {
        let is_full = self.slices + 1 >= SLICES_MAX;
        let interval = wishes.interval.filter(|_| !is_full);
        let number = u32::try_from(self.slices + 1).unwrap_or(u32::MAX);
        let slice = interval.map(|each| each.saturating_mul(number));
        let until = [slice, wishes.duration].into_iter().flatten().min();
        until.map_or(Duration::MAX, |until| {
            until.saturating_sub(self.begun.elapsed())
        })
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

    /// Reads, and ends the slice with this number, counted from 1. Slices before it that could not be
    /// read in time are empty.
    fn slice(&mut self, number: usize) -> Result<(), ProfileError> {
        let missed = number.saturating_sub(self.slices + 1);
        for track in &mut self.tracks {
            track.slicer.skip(missed);
            track.slice(&self.title)?;
        }
        self.slices += missed + 1;
        Ok(())
    }

    /// Ends the slice in which the recording ended.
    fn last_slice(&mut self, wishes: &Wishes<'_>, at: Duration) -> Result<(), ProfileError> {
        let interval = wishes.interval;
        let number = interval.map_or(1, |each| slices_in(at, each) + 1);
        self.is_cut = number > SLICES_MAX;
        self.slice(number.min(SLICES_MAX))
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

    fn finish(self, wishes: &Wishes<'_>) -> Result<(Recording, Leaving), ProfileError> {
        let mut recording = Recording {
            subject: self.title,
            machine: Machine::of_this(),
            losses: Vec::new(),
            captures: Vec::new(),
        };
        if self.is_cut {
            recording.losses.push(format!(
                "its timeline has {SLICES_MAX} slices at most, so the last one is longer"
            ));
        }
        let mut leaving = Leaving::default();
        for mut track in self.tracks {
            recording.losses.append(&mut track.losses);
            let attached = track.finish(wishes, &recording.subject, &mut recording.captures)?;
            leaving.0.push(attached);
        }
        Ok((recording, leaving))
    }
}

fn attach(filter: &Filter, wishes: &Wishes<'_>) -> Result<Vec<Track>, ProfileError> {
    let none = wishes.layers.iter().map(|_| None);
    attach_rest(none.collect(), filter, wishes)
}

/// Lets each layer prepare the command.
fn prepare(command: &mut Command, wishes: &Wishes<'_>) -> Result<Prepared, ProfileError> {
    let layers = wishes.layers.iter();
    layers
        .map(|layer| layer.prepare(command, wishes.resolution))
        .collect()
}

/// Layers that attached themselves while the command was prepared.
type Prepared = Vec<Option<Box<dyn Attached>>>;

/// Attaches the layers that have not attached themselves, and begins to read all.
fn attach_rest(
    prepared: Prepared,
    filter: &Filter,
    wishes: &Wishes<'_>,
) -> Result<Vec<Track>, ProfileError> {
    let interval = wishes.interval.unwrap_or(Duration::from_secs(1));
    let interval_ns = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX);
    let one = |(layer, prepared): (&&dyn Layer, Option<Box<dyn Attached>>)| {
        let attached = match prepared {
            Some(attached) => attached,
            None => layer.attach(filter, wishes.resolution)?,
        };
        Track::begin(attached, interval_ns)
    };
    wishes.layers.iter().zip(prepared).map(one).collect()
}

fn command(words: &[OsString], streams: Streams) -> Command {
    let (program, arguments) = match words.split_first() {
        Some((program, arguments)) => (program.clone(), arguments),
        None => (OsString::new(), words),
    };
    let mut command = Command::new(program);
    command.args(arguments);
    if streams == Streams::Nowhere {
        command.stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null());
    }
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
        Subject::Mount(path) => format!("the file system at {}", path.display()),
        Subject::Everything => "the whole machine".to_owned(),
    }
}

#[cfg(test)]
mod tests;
