//! `trawl profile`: records latency profiles ([`trawl_profile`]), and shows what the analysis
//! ([`trawl_analysis`]) finds in them.

mod compared;
mod export;
mod layers;
mod recorded;
mod report;
mod words;

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use trawl_analysis::compare::Method;
use trawl_histogram::{INPUT_BYTES_MAX, Resolution};
use trawl_profile::{ProfileError, Recording};
use trawl_report::Schema;

use crate::commands::{Class, IndexOption, Setting, Spec};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::forms::{FormArgs, Objects};

const EXAMPLES: &str = "\
Examples:
  trawl profile record -- grep -r x /usr          record a command
  trawl profile report trawl.profile              show where its time went
  trawl profile record -o b -- grep -r x /usr     record it again
  trawl profile diff trawl.profile b              show what is different
  trawl profile record --all --duration 10s       record the whole machine

A profile counts, for every operation, how many calls took about how long: one
bucket for each doubling of the latency. Recording needs root, or CAP_BPF and
CAP_PERFMON; the other commands need no rights.";

/// The file that is written unless another is named.
const FILE: &str = "trawl.profile";

// Options of `trawl profile`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ProfileArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Record a command, a process, a control group or the whole machine
    Record(RecordArgs),
    /// Show the operations of a recording, the greatest total latency first
    Report(ReportArgs),
    /// Compare two recordings, and show the operations that differ
    Diff(DiffArgs),
    /// Write a recording in the format of another program
    Export(ExportArgs),
    /// List the layers, and what each can see on this machine
    Layers(LayersArgs),
}

/// Options of `trawl profile record`.
#[derive(Debug, clap::Args)]
struct RecordArgs {
    /// Write the recording to FILE
    #[arg(short, long, value_name = "FILE", default_value = FILE)]
    output: PathBuf,
    /// Record this process and everything that it starts from now on
    #[arg(long, value_name = "PROCESS", conflicts_with_all = ["cgroup", "all", "command"])]
    pid: Option<u32>,
    /// Record the processes of the control group DIR
    #[arg(long, value_name = "DIR", conflicts_with_all = ["all", "command"])]
    cgroup: Option<PathBuf>,
    /// Record the whole machine
    #[arg(long, conflicts_with = "command")]
    all: bool,
    /// Stop after TIME [default: when the command or process ends, or at an interrupt]
    #[arg(long, value_name = "TIME", value_parser = crate::fresh::parse_time)]
    duration: Option<Duration>,
    /// Keep a timeline with a slice for each TIME
    #[arg(long, value_name = "TIME", value_parser = crate::fresh::parse_time)]
    slices: Option<Duration>,
    /// Use N buckets for each doubling of the latency, 1 to 8
    #[arg(short, long, value_name = "N", default_value = "1", value_parser = parse_resolution)]
    resolution: Resolution,
    /// Record only this layer; may be repeated [default: system-calls]
    #[arg(long, value_name = "NAME")]
    layer: Vec<String>,
    /// Print no summary
    #[arg(short, long)]
    quiet: bool,
    /// Record this command
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Options of `trawl profile report`.
#[derive(Debug, clap::Args)]
struct ReportArgs {
    /// Show this recording
    #[arg(value_name = "FILE", default_value = FILE)]
    file: PathBuf,
    /// Show these operations in full, and no others
    #[arg(long, value_name = "OPERATION")]
    operation: Vec<String>,
    /// Leave out operations with less than this share of the total latency, in percent
    #[arg(long, value_name = "PERCENT", default_value = "0.1", value_parser = parse_percent)]
    least: f64,
    #[command(flatten)]
    form: FormArgs<Objects>,
}

/// Options of `trawl profile diff`.
#[derive(Debug, clap::Args)]
struct DiffArgs {
    /// Compare this recording
    #[arg(value_name = "FIRST")]
    first: PathBuf,
    /// Compare it with this recording
    #[arg(value_name = "SECOND")]
    second: PathBuf,
    /// Rate differences by this method
    #[arg(long, value_name = "METHOD", default_value = "groupshift", value_parser = parse_method)]
    method: Method,
    /// Show operations that differ by more than this [default: the method's own threshold]
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    threshold: Option<f64>,
    /// Show all operations
    #[arg(long)]
    everything: bool,
    #[command(flatten)]
    form: FormArgs<Objects>,
}

/// Options of `trawl profile export`.
#[derive(Debug, clap::Args)]
struct ExportArgs {
    /// Write this recording
    #[arg(value_name = "FILE", default_value = FILE)]
    file: PathBuf,
    /// Write it in this format
    #[arg(long = "as", value_name = "FORMAT", value_enum)]
    format: export::Format,
    /// Write this layer [default: the first]
    #[arg(long, value_name = "NAME")]
    layer: Option<String>,
    /// With svg and png, draw this operation [default: all]
    #[arg(long, value_name = "OPERATION")]
    operation: Option<String>,
    /// With html, svg and png, show this recording beside it
    #[arg(long, value_name = "FILE", conflicts_with = "operation")]
    second: Option<PathBuf>,
    /// Write to FILE instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Options of `trawl profile layers`.
#[derive(Debug, clap::Args)]
struct LayersArgs {
    #[command(flatten)]
    form: FormArgs<Objects>,
}

impl Spec for ProfileArgs {
    const ABOUT: &'static str = "Record and compare latencies of system calls and other operations";
    const CLASS: Class = Class::Other;
    const INDEX: IndexOption = IndexOption::None;
    const SEE_ALSO: &'static [&'static str] = &["strace(1)", "perf-trace(1)", "trawl-run(1)"];
    const REPORTS: &'static [&'static Schema] =
        &[&report::SCHEMA, &compared::SCHEMA, &layers::SCHEMA];

    fn run(&self, _: Setting<'_>) -> Result<Exit, Failure> {
        match &self.action {
            Action::Record(args) => recorded::run(args),
            Action::Report(args) => report::run(args),
            Action::Diff(args) => compared::run(args),
            Action::Export(args) => export::run(args),
            Action::Layers(args) => layers::run(args),
        }
    }
}

fn parse_resolution(text: &str) -> Result<Resolution, String> {
    let number = text.parse().map_err(|_| "it is not a number from 1 to 8")?;
    Resolution::new(number).map_err(|error| error.to_string())
}

fn parse_percent(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.parse().ok();
    let number = number.filter(|number| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "it is not a percentage".to_owned())
}

fn parse_method(text: &str) -> Result<Method, String> {
    let is_meant = |method: &Method| method.name().eq_ignore_ascii_case(text);
    Method::ALL.into_iter().find(is_meant).ok_or_else(|| {
        let names: Vec<String> = Method::ALL.map(|one| one.name().to_lowercase()).into();
        format!("the methods are {}", names.join(", "))
    })
}

fn failed(error: ProfileError) -> Failure {
    Failure::Usage(error.to_string())
}

/// Reads a recording.
fn open(path: &Path) -> Result<Recording, Failure> {
    let action = "read";
    let problem = |source| Failure::File {
        action,
        path: path.to_owned(),
        source,
    };
    let file = File::open(path).map_err(problem)?;
    let mut bytes = Vec::new();
    file.take(INPUT_BYTES_MAX as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(problem)?;
    Recording::read(&bytes)
        .map(Recording::with_times)
        .map_err(|error| Failure::Usage(format!("cannot read {}: {error}", path.display())))
}
