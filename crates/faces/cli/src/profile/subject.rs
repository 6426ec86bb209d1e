//! The subject and the details of a recording: the options that `record`, `watch` and the short form share.

use std::ffi::OsString;
use std::path::PathBuf;

use trawl_histogram::Resolution;
use trawl_profile::detail::Detail;
use trawl_profile::{By, LAYERS, Layer, Subject, Wanted, layer};

use super::failed;
use crate::failure::Failure;

// Options that name processes.
#[derive(Debug, clap::Args)]
pub(super) struct SubjectArgs {
    /// Record this process and everything that it starts from now on
    #[arg(long, value_name = "PROCESS", conflicts_with_all = ["cgroup", "all", "command"])]
    pid: Option<u32>,
    /// Record the processes of the control group DIR
    #[arg(long, value_name = "DIR", conflicts_with_all = ["all", "command"])]
    cgroup: Option<PathBuf>,
    /// Record the whole machine
    #[arg(long, conflicts_with = "command")]
    all: bool,
    /// Record this command
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

// Options that name layers and what they record.
#[derive(Debug, clap::Args)]
pub(super) struct LayerArgs {
    /// Use N buckets for each doubling of the latency, 1 to 8
    #[arg(short, long, value_name = "N", default_value = "1", value_parser = super::parse_resolution)]
    pub(super) resolution: Resolution,
    /// Record only this layer; may be repeated [default: system-calls]
    #[arg(long, value_name = "NAME")]
    layer: Vec<String>,
}

/// A layer that need not be named.
#[derive(Clone, Copy)]
pub(super) enum Usual {
    /// It is recorded unless others are named.
    Instead(&'static dyn Layer),
    /// It is recorded beside others that are named.
    Always(&'static dyn Layer),
}

impl SubjectArgs {
    /// Returns whether a command is recorded.
    pub(super) fn has_command(&self) -> bool {
        !self.command.is_empty()
    }

    /// Returns what is recorded.
    pub(super) fn subject(&self) -> Result<Subject, Failure> {
        Ok(match (self.pid, &self.cgroup, self.all) {
            (Some(process), _, _) => Subject::Process(process),
            (_, Some(group), _) => Subject::Group(group.clone()),
            (_, _, true) => Subject::Everything,
            _ if self.command.is_empty() => {
                let text = "name what to record: -- COMMAND, --pid, --cgroup or --all";
                return Err(Failure::Usage(text.into()));
            }
            _ => Subject::Command(self.command.clone()),
        })
    }
}

impl LayerArgs {
    /// Returns the layers that were named, and the usual one where it is not left out.
    pub(super) fn layers(&self, usual: Usual) -> Result<Vec<&'static dyn Layer>, Failure> {
        let (Usual::Instead(layer) | Usual::Always(layer)) = usual;
        if self.layer.is_empty() {
            return Ok(vec![layer]);
        }
        let find = |name: &String| match layer.name() == name {
            true => Ok(layer),
            false => named(name),
        };
        let mut layers = self.layer.iter().map(find).collect::<Result<Vec<_>, _>>()?;
        let is_named = layers.iter().any(|one| one.name() == layer.name());
        if matches!(usual, Usual::Always(_)) && !is_named {
            layers.push(layer);
        }
        Ok(layers)
    }
}

/// Returns the layer of this name.
pub(super) fn named(name: &str) -> Result<&'static dyn Layer, Failure> {
    layer::find(name).ok_or_else(|| {
        let names: Vec<&str> = LAYERS.iter().map(|layer| layer.name()).collect();
        let names = names.join(", ");
        Failure::Usage(format!("there is no layer {name}; there are: {names}"))
    })
}

/// Layers that record in more detail.
pub(super) struct Detailed(Vec<Box<dyn Layer>>);

impl Detailed {
    /// Asks each layer to record in this detail; an empty detail needs no other layers.
    pub(super) fn new(layers: &[&dyn Layer], detail: &Detail) -> Result<Detailed, Failure> {
        if detail.is_none() {
            return Ok(Detailed(Vec::new()));
        }
        let finer = layers.iter().map(|layer| layer.in_detail(detail));
        let finer: Result<_, _> = finer.collect();
        finer.map(Detailed).map_err(failed)
    }

    /// Returns the layers to record: those in detail, or the plain ones.
    pub(super) fn layers<'l>(&'l self, plain: &[&'l dyn Layer]) -> Vec<&'l dyn Layer> {
        match self.0.is_empty() {
            true => plain.to_vec(),
            false => self.0.iter().map(|layer| &**layer).collect(),
        }
    }
}

pub(super) fn parse_by(text: &str) -> Result<By, String> {
    By::ALL
        .into_iter()
        .find(|by| by.name() == text)
        .ok_or_else(|| {
            let names = By::ALL.map(By::name).join(", ");
            format!("calls are told apart by {names}")
        })
}

pub(super) fn parse_wanted(text: &str) -> Result<Wanted, String> {
    text.parse()
}
