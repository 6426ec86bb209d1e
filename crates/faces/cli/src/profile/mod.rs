//! `trawl profile`: records latency profiles ([`trawl_profile`]), and shows what the analysis
//! ([`trawl_analysis`]) finds in them.

mod bars;
mod compared;
mod correlated;
mod export;
mod layers;
mod mixed;
mod mounted;
mod parquet;
mod parts;
mod recorded;
mod report;
mod short;
mod subject;
mod watch;

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use trawl_analysis::compare::Method;
use trawl_histogram::{INPUT_BYTES_MAX, Resolution};
use trawl_profile::{By, ProfileError, Recording, Wanted};
use trawl_report::Schema;

use subject::{LayerArgs, SubjectArgs};

use crate::beside;
use crate::commands::{Class, IndexOption, Setting, Spec};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::forms::{FormArgs, Objects};

const EXAMPLES: &str = "\
Examples:
  trawl profile -- grep -r x /usr                 show where a command's time goes
  trawl profile record -- grep -r x /usr          record it
  trawl profile report trawl.profile              show where its time went
  trawl profile record -o b -- grep -r x /usr     record it again
  trawl profile diff trawl.profile b              show what is different
  trawl profile record --all --duration 10s       record the whole machine
  trawl profile watch --all                       watch the whole machine

A profile counts, for every operation, how many calls took about how long: one
bucket for each doubling of the latency. Recording system calls needs root, or
CAP_BPF and CAP_PERFMON; the layer user and the other commands need no rights.";

/// The file that is written unless another is named.
const FILE: &str = "trawl.profile";

// Options of `trawl profile`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct ProfileArgs {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    short: ShortArgs,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Record a command, a process, a control group or the whole machine
    Record(RecordArgs),
    /// Mount a directory at another place, and record what its users do there
    Mount(MountArgs),
    /// Show the operations of a recording, the greatest total latency first
    Report(ReportArgs),
    /// Compare two recordings, and show the operations that differ
    Diff(DiffArgs),
    /// Show which values of calls go with which latency peak
    Correlate(CorrelateArgs),
    /// Show of which operations a recording consists, by phase
    Mix(MixArgs),
    /// Show the operations of the last second, again and again
    Watch(WatchArgs),
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
    #[command(flatten)]
    subject: SubjectArgs,
    #[command(flatten)]
    layers: LayerArgs,
    /// Stop after TIME [default: when the command or process ends, or at an interrupt]
    #[arg(long, value_name = "TIME", value_parser = crate::fresh::parse_time)]
    duration: Option<Duration>,
    /// Keep a timeline with a slice for each TIME
    #[arg(long, value_name = "TIME", value_parser = parse_interval)]
    slices: Option<Duration>,
    /// Tell calls apart by WHAT: program, thread or, at the layer user, call-site
    #[arg(long, value_name = "WHAT", value_parser = subject::parse_by)]
    by: Option<By>,
    /// Record a value of system calls, too: result, size or offset; may be repeated
    #[arg(long, value_name = "OPERATION:VALUE", value_parser = subject::parse_wanted)]
    correlate: Vec<Wanted>,
    /// Record the file system at DIR: all of it, or what COMMAND does there
    ///
    /// All of it is recorded by the layer file-system, unless --layer names block. What COMMAND does
    /// below DIR is recorded by the layer stackable.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["pid", "cgroup", "all"])]
    mount: Option<PathBuf>,
    #[command(flatten)]
    stacking: StackingArgs,
    /// Print no summary
    #[arg(short, long)]
    quiet: bool,
}

// Options of `trawl profile -- COMMAND`.
#[derive(Debug, clap::Args)]
struct ShortArgs {
    /// Keep the recording in FILE [default: none is kept]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Record this layer [default: user; system-calls where that one does not work]
    #[arg(long, value_name = "NAME")]
    layer: Option<String>,
    /// Tell calls apart by WHAT: program, thread or, at the layer user, call-site
    #[arg(long, value_name = "WHAT", value_parser = subject::parse_by)]
    by: Option<By>,
    /// Record this command, and print the report on standard error
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Options of `trawl profile watch`.
#[derive(Debug, clap::Args)]
struct WatchArgs {
    #[command(flatten)]
    subject: SubjectArgs,
    #[command(flatten)]
    layers: LayerArgs,
    /// Show the calls of the last TIME
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_interval)]
    interval: Duration,
    /// Stop after N intervals
    #[arg(long, value_name = "N")]
    count: Option<u64>,
}

/// Options of `trawl profile correlate`.
#[derive(Debug, clap::Args)]
struct CorrelateArgs {
    /// Show this recording
    #[arg(value_name = "FILE", default_value = FILE)]
    file: PathBuf,
    /// Show these operations, and no others
    #[arg(long, value_name = "OPERATION")]
    operation: Vec<String>,
    #[command(flatten)]
    form: FormArgs<Objects>,
}

/// Options of `trawl profile mix`.
#[derive(Debug, clap::Args)]
struct MixArgs {
    /// Show these recordings; each of several is one phase
    #[arg(value_name = "FILE", default_value = FILE)]
    files: Vec<PathBuf>,
    /// Show this layer [default: the first]
    #[arg(long, value_name = "NAME")]
    layer: Option<String>,
    /// Draw the mix into FILE: *.svg or *.png
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
    #[command(flatten)]
    form: FormArgs<Objects>,
}

/// Options of the layer stackable.
#[derive(Debug, clap::Args)]
struct StackingArgs {
    /// Let the kernel use names and attributes for TIME without asking again [default: 0s]
    #[arg(long, value_name = "TIME", value_parser = crate::fresh::parse_time)]
    cache: Option<Duration>,
    /// Let the kernel pass on data itself, and record no reads and writes
    #[arg(long)]
    passthrough: bool,
}

/// Options of `trawl profile mount`.
#[derive(Debug, clap::Args)]
struct MountArgs {
    /// Mount this directory
    #[arg(value_name = "SOURCE")]
    source: PathBuf,
    /// Mount it on this directory
    #[arg(value_name = "MOUNTPOINT")]
    point: PathBuf,
    /// Write the recording to FILE
    #[arg(short, long, value_name = "FILE", default_value = FILE)]
    output: PathBuf,
    /// Let all users use the mount, each with their own permissions (root only)
    #[arg(long)]
    all_users: bool,
    /// Stop after TIME [default: when it is unmounted, or at an interrupt]
    #[arg(long, value_name = "TIME", value_parser = crate::fresh::parse_time)]
    duration: Option<Duration>,
    /// Keep a timeline with a slice for each TIME
    #[arg(long, value_name = "TIME", value_parser = parse_interval)]
    slices: Option<Duration>,
    /// Use N buckets for each doubling of the latency, 1 to 8
    #[arg(short, long, value_name = "N", default_value = "1", value_parser = parse_resolution)]
    resolution: Resolution,
    #[command(flatten)]
    stacking: StackingArgs,
    /// Print no summary
    #[arg(short, long)]
    quiet: bool,
}

/// Options of `trawl profile report`.
#[derive(Debug, clap::Args)]
struct ReportArgs {
    /// Show this recording
    #[arg(value_name = "FILE", default_value = FILE)]
    file: PathBuf,
    /// Show this layer, or this part of a layer, and no others
    #[arg(long, value_name = "NAME")]
    layer: Option<String>,
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
    const REPORTS: &'static [&'static Schema] = &[
        &report::SCHEMA,
        &compared::SCHEMA,
        &correlated::SCHEMA,
        &mixed::SCHEMA,
        &layers::SCHEMA,
    ];

    fn run(&self, setting: Setting<'_>) -> Result<Exit, Failure> {
        (beside::need_more(&setting)?.profile)(self)
    }
}

/// Runs the command; only `trawl-more` contains this.
pub(crate) fn run(args: &ProfileArgs) -> Result<Exit, Failure> {
    let Some(action) = &args.action else {
        return short::run(&args.short);
    };
    match action {
        Action::Record(args) => recorded::run(args),
        Action::Mount(args) => mounted::run(args),
        Action::Report(args) => report::run(args),
        Action::Diff(args) => compared::run(args),
        Action::Correlate(args) => correlated::run(args),
        Action::Mix(args) => mixed::run(args),
        Action::Watch(args) => watch::run(args),
        Action::Export(args) => export::run(args),
        Action::Layers(args) => layers::run(args),
    }
}

fn parse_interval(text: &str) -> Result<Duration, String> {
    let interval = crate::fresh::parse_time(text).map_err(|why| why.to_string())?;
    match interval.is_zero() {
        true => Err("it must not be 0".to_owned()),
        false => Ok(interval),
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

/// Returns the width of a column of these names: 20, or that of the longest.
fn name_width<'n>(names: impl Iterator<Item = &'n str>) -> usize {
    names.map(|name| name.chars().count()).fold(20, usize::max)
}

/// Reads a recording.
fn open(path: &Path) -> Result<Recording, Failure> {
    let action = "read";
    let problem = |source| Failure::File {
        action,
        path: path.to_owned(),
        source,
    };
    let mut file = File::open(path).map_err(problem)?;
    let unreadable =
        |error: String| Failure::Usage(format!("cannot read {}: {error}", path.display()));
    if let Some(recording) = parquet::read(&mut file) {
        return recording.map_err(unreadable);
    }
    let mut bytes = Vec::new();
    file.take(INPUT_BYTES_MAX as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(problem)?;
    Recording::read(&bytes)
        .map(Recording::with_times)
        .map_err(|error| unreadable(error.to_string()))
}
