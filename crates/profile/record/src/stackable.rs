//! The stackable layer: a directory is mounted over itself, and what passes through is measured (§4).
//! Unlike other layers it has a place instead of processes.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use trawl_histogram::{Capture, Resolution, Slicer};
use trawl_kernel_profile::Filter;
use trawl_stackable::{Options, Serving, StackableError};

use crate::error::ProfileError;
use crate::layer::{Attached, Cost, Layer, Reading};
use crate::recording::{Machine, Recording};

/// How soon an interrupt, or the end of a mount, is noticed.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// How long the mount of a command that has ended may still be in use by what it has left behind.
const FAREWELL: Duration = Duration::from_millis(500);

/// The layer, over a directory or, in the list of layers, over none.
#[derive(Debug)]
pub(crate) struct StackableLayer {
    place: Option<(PathBuf, Options)>,
}

/// The layer in the list.
pub(crate) static STACKABLE: StackableLayer = StackableLayer { place: None };

/// Returns the stackable layer over a directory; its resolution is that of the recording. Like the
/// other layers it lives as long as the program.
pub fn over(directory: PathBuf, options: Options) -> &'static dyn Layer {
    Box::leak(Box::new(StackableLayer {
        place: Some((directory, options)),
    }))
}

impl Layer for StackableLayer {
    fn name(&self) -> &'static str {
        "stackable"
    }

    fn about(&self) -> &'static str {
        "operations of the file system below a directory, by a mount over it"
    }

    /// Tries it: makes a mount for a command that does nothing.
    fn availability(&self) -> Result<Cost, ProfileError> {
        let directory = std::env::temp_dir();
        let mut command = Command::new("/bin/true");
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let serving = trawl_stackable::enclose(&mut command, &directory, &Options::default())?;
        let status = command.status();
        serving.wait()?;
        match status {
            Ok(_) => Ok(Cost::default()),
            Err(source) => Err(StackableError::Point {
                point: directory,
                source,
                advice: "",
            }
            .into()),
        }
    }

    fn prepare(
        &self,
        command: &mut Command,
        resolution: Resolution,
    ) -> Result<Option<Box<dyn Attached>>, ProfileError> {
        let layer = self.name();
        let (directory, options) = self.place.as_ref().ok_or(ProfileError::NoPlace { layer })?;
        // What a command's process cannot do, it could not say.
        self.availability()?;
        let options = Options {
            resolution,
            ..*options
        };
        let serving = trawl_stackable::enclose(command, directory, &options)?;
        Ok(Some(Box::new(Mounted(serving))))
    }

    fn attach(&self, _: &Filter, _: Resolution) -> Result<Box<dyn Attached>, ProfileError> {
        let layer = self.name();
        Err(ProfileError::NoPlace { layer })
    }
}

/// A mount for a command.
#[derive(Debug)]
struct Mounted(Serving);

impl Attached for Mounted {
    fn read(&mut self) -> Result<Reading, ProfileError> {
        Ok(Reading::new(self.0.read()?, Vec::new()))
    }

    /// The kernel releases the files of an ended process a moment later.
    fn settle(&mut self) {
        self.0.wait_for(FAREWELL);
    }
}

/// Options of a recording by a mount that others use.
#[derive(Clone, Debug)]
pub struct Mounting {
    /// The directory below.
    pub source: PathBuf,
    /// Where it is mounted.
    pub point: PathBuf,
    /// How the layer works.
    pub options: Options,
    /// Length of a slice; one slice if `None`.
    pub interval: Option<Duration>,
    /// Maximum duration.
    pub duration: Option<Duration>,
}

/// Mounts a directory through the layer and records until it is unmounted, the duration is over or
/// `cancel` is set; then unmounts it. `ready` is called when it is mounted.
///
/// # Errors
/// Fails if it cannot be mounted or served, or the counts contradict themselves.
pub fn record_mount(
    mounting: &Mounting,
    cancel: &AtomicBool,
    ready: impl FnOnce(&Path),
) -> Result<Recording, ProfileError> {
    let options = &mounting.options;
    let mut serving = trawl_stackable::mount(&mounting.source, &mounting.point, options)?;
    let interval = mounting.interval.unwrap_or(Duration::from_secs(1));
    let interval_ns = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX);
    let mut slicer = Slicer::new(serving.begun().clone(), interval_ns);
    ready(&mounting.point);
    let begun = Instant::now();
    let mut next = mounting.interval;
    let is_over = |at| mounting.duration.is_some_and(|most| at >= most);
    while serving.is_served() && !cancel.load(Ordering::Relaxed) && !is_over(begun.elapsed()) {
        let at = begun.elapsed();
        if next.is_some_and(|due| at >= due) {
            slicer.push(serving.read()?)?;
            next = next.map(|due| due + interval);
            continue;
        }
        let until = [next, mounting.duration].into_iter().flatten().min();
        let most = until.map_or(LOOK_AGAIN, |until| LOOK_AGAIN.min(until.saturating_sub(at)));
        serving.wait_for(most);
    }
    let mut losses = Vec::new();
    let mut profile = match serving.is_served() && serving.unmount().is_err() {
        false => serving.wait()?,
        true => {
            let point = mounting.point.display();
            losses.push(format!("{point} was still in use, and was taken away"));
            serving.read()?
        }
    };
    let subject = format!("the mount of {}", mounting.source.display());
    subject.clone_into(&mut profile.title);
    slicer.push(profile)?;
    let recorded = slicer.finish()?;
    let capture = match mounting.interval {
        Some(_) => Capture::from(recorded),
        None => Capture::from(recorded.into_whole()),
    };
    Ok(Recording {
        captures: vec![capture],
        machine: Machine::of_this(),
        subject,
        losses,
    })
}
