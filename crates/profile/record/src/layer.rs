//! The layers at which latencies are measured (§3.1.4: "Our infrastructure allows profiling at the
//! user, file system, driver, and network levels").

use std::fmt;
use std::process::Command;

use trawl_histogram::{Correlated, Profile, Resolution};
use trawl_kernel_profile::{Apart, FileSystems, Filter, SystemCalls, Wanted};

use crate::block::BlockLayer;
use crate::detail::{By, Detail, Refused};
use crate::error::ProfileError;
use crate::own::OwnLayer;
use crate::parts::{Parts, thread_name};
use crate::rpc::RpcLayer;
use crate::stackable::STACKABLE;
use crate::user;

/// A layer that was attached, and counts.
pub trait Attached: fmt::Debug {
    /// Returns what was counted since the layer was attached.
    ///
    /// # Errors
    /// Fails if the counts cannot be read, or contradict themselves.
    fn read(&mut self) -> Result<Reading, ProfileError>;

    /// Waits a moment for what follows the end of a subject, before the last reading.
    fn settle(&mut self) {}

    /// Leaves the system, without waiting for what can be left to another process.
    fn leave(self: Box<Self>) {}
}

/// The counts of a layer.
#[derive(Debug)]
pub struct Reading {
    /// The operations.
    pub profile: Profile,
    /// The operations again, told apart by [`Detail::by`]: profiles whose layers are named
    /// `LAYER:PART`, as [`crate::detail::part_name`] returns them. Empty unless that was asked for.
    pub parts: Vec<Profile>,
    /// Values of calls by their latency, cumulative like the profile: for each operation one
    /// [`trawl_histogram::Peak`] for each latency bucket that holds something
    /// ([`Correlated::from_buckets`]). Neighbouring buckets are joined to peaks when the recording
    /// is read. Empty unless values were asked for, or the layer always knows them.
    pub correlated: Vec<Correlated>,
    /// Events that the layer could not count, in words; empty if it counted all.
    pub losses: Vec<String>,
}

impl Reading {
    /// Returns a reading without parts and correlated values.
    pub fn new(profile: Profile, losses: Vec<String>) -> Reading {
        Reading {
            profile,
            parts: Vec::new(),
            correlated: Vec::new(),
            losses,
        }
    }
}

/// Cost of recording a call.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Time in nanoseconds, if it was measured.
    pub each_ns: Option<f64>,
}

/// A layer.
pub trait Layer: fmt::Debug + Sync {
    /// Returns the layer's name in commands and profiles.
    fn name(&self) -> &'static str;

    /// Returns what the layer measures, in a few words.
    fn about(&self) -> &'static str;

    /// Returns what a call costs if the layer works here, and otherwise why it does not.
    ///
    /// # Errors
    /// As [`Layer::attach`].
    fn availability(&self) -> Result<Cost, ProfileError>;

    /// Prepares a command that is about to be started, and begins to count; `None` if the layer is
    /// attached to its process instead.
    ///
    /// # Errors
    /// As [`Layer::attach`].
    fn prepare(
        &self,
        _command: &mut Command,
        _resolution: Resolution,
    ) -> Result<Option<Box<dyn Attached>>, ProfileError> {
        Ok(None)
    }

    /// Returns this layer, recording in more detail.
    ///
    /// # Errors
    /// Fails if the layer cannot tell calls apart in this way, or does not know these values.
    fn in_detail(&self, detail: &Detail) -> Result<Box<dyn Layer>, ProfileError> {
        Err(detail.refused_by(self.name()))
    }

    /// Begins to count.
    ///
    /// # Errors
    /// Says what this machine or this process lacks, or why the filter means nothing at this layer.
    fn attach(
        &self,
        filter: &Filter,
        resolution: Resolution,
    ) -> Result<Box<dyn Attached>, ProfileError>;
}

/// All layers, from programs down to devices.
pub static LAYERS: &[&dyn Layer] = &[
    &OwnLayer,
    &user::USER,
    &SYSTEM_CALLS,
    &FILE_SYSTEMS,
    &STACKABLE,
    &RpcLayer,
    &BlockLayer,
];

/// The layer that is recorded unless others are named: it needs nothing in the programs.
pub static USUAL: &dyn Layer = &SYSTEM_CALLS;

static SYSTEM_CALLS: SystemCallLayer = SystemCallLayer {
    apart: None,
    values: Vec::new(),
};

/// Name of the layer of system calls.
const SYSTEM_CALLS_NAME: &str = "system-calls";

static FILE_SYSTEMS: FileSystemLayer = FileSystemLayer;

/// Returns the layer of this name.
pub fn find(name: &str) -> Option<&'static dyn Layer> {
    LAYERS.iter().copied().find(|layer| layer.name() == name)
}

/// System calls, seen by BPF programs in the kernel.
#[derive(Debug)]
struct SystemCallLayer {
    apart: Option<Apart>,
    values: Vec<Wanted>,
}

fn failed(source: trawl_kernel_profile::KernelError) -> ProfileError {
    ProfileError::Layer {
        layer: SYSTEM_CALLS_NAME,
        source: Box::new(source),
    }
}

impl Layer for SystemCallLayer {
    fn name(&self) -> &'static str {
        SYSTEM_CALLS_NAME
    }

    fn about(&self) -> &'static str {
        "every system call, from entering the kernel to leaving it"
    }

    fn availability(&self) -> Result<Cost, ProfileError> {
        let own = Filter::Tree(std::process::id());
        self.attach(&own, Resolution::ONE)?;
        Ok(Cost::default())
    }

    fn in_detail(&self, detail: &Detail) -> Result<Box<dyn Layer>, ProfileError> {
        let apart = match detail.by {
            None => None,
            Some(By::Program) => Some(Apart::Programs),
            Some(By::Thread) => Some(Apart::Threads),
            Some(by @ By::CallSite) => {
                return Err(ProfileError::Detail {
                    layer: SYSTEM_CALLS_NAME,
                    detail: Refused::By(by),
                });
            }
        };
        Ok(Box::new(SystemCallLayer {
            apart,
            values: detail.values.clone(),
        }))
    }

    fn attach(
        &self,
        filter: &Filter,
        resolution: Resolution,
    ) -> Result<Box<dyn Attached>, ProfileError> {
        let attached = SystemCalls::attach_with(filter, resolution, self.apart, &self.values);
        Ok(Box::new(attached.map_err(failed)?))
    }
}

/// Returns in words what a layer of the kernel could not count.
pub(crate) fn losses(reading: &trawl_kernel_profile::Reading) -> Vec<String> {
    let losses = [
        (reading.missed, "events for which the kernel ran no program"),
        (
            reading.lost_tasks,
            "processes that could not be followed, for want of memory",
        ),
    ];
    in_words(losses)
}

/// Returns numbers of events in words, without those that are 0.
pub(crate) fn in_words<const N: usize>(losses: [(u64, &str); N]) -> Vec<String> {
    let told = losses.into_iter().filter(|(count, _)| *count > 0);
    told.map(|(count, what)| format!("{count} {what}"))
        .collect()
}

impl Attached for SystemCalls {
    fn read(&mut self) -> Result<Reading, ProfileError> {
        let reading = SystemCalls::read(self).map_err(failed)?;
        let losses = losses(&reading);
        let mut parts = Parts::default();
        for part in reading.parts {
            let name = match part.thread {
                0 => part.program,
                thread => thread_name(&part.program, part.process, thread),
            };
            parts.add(name, part.profile)?;
        }
        if let Some(others) = reading.others {
            parts.add_others(others)?;
        }
        Ok(Reading {
            parts: parts.of_layer(SYSTEM_CALLS_NAME)?,
            correlated: reading.correlated,
            ..Reading::new(reading.profile, losses)
        })
    }
}

/// The operations of mounted file systems, seen by BPF programs in the kernel.
#[derive(Debug)]
struct FileSystemLayer;

fn file_system_failed(source: trawl_kernel_profile::KernelError) -> ProfileError {
    ProfileError::Layer {
        layer: FileSystemLayer.name(),
        source: Box::new(source),
    }
}

impl Layer for FileSystemLayer {
    fn name(&self) -> &'static str {
        "file-system"
    }

    fn about(&self) -> &'static str {
        "every operation of the mounted file systems, found in the kernel"
    }

    fn availability(&self) -> Result<Cost, ProfileError> {
        FileSystems::probe().map_err(file_system_failed)?;
        Ok(Cost::default())
    }

    fn attach(
        &self,
        filter: &Filter,
        resolution: Resolution,
    ) -> Result<Box<dyn Attached>, ProfileError> {
        let attached = FileSystems::attach(filter, resolution).map_err(file_system_failed)?;
        Ok(Box::new(attached))
    }
}

impl Attached for FileSystems {
    fn leave(self: Box<Self>) {
        FileSystems::leave(*self);
    }

    fn read(&mut self) -> Result<Reading, ProfileError> {
        let reading = FileSystems::read(self).map_err(file_system_failed)?;
        let mut losses = losses(&reading);
        let unseen = &self.coverage().unseen;
        if !unseen.is_empty() {
            losses.push(format!(
                "{} functions cannot be traced: {}",
                unseen.len(),
                unseen.join("; ")
            ));
        }
        Ok(Reading {
            correlated: reading.correlated,
            ..Reading::new(reading.profile, losses)
        })
    }
}
