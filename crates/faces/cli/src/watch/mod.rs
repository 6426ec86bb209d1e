//! `trawl watch`, also called as `trawld`: notices changes in sources and brings them into the
//! index, in the foreground, until it is told to stop; and `--status`, which asks the daemons for
//! their state.

mod journal;
mod metrics;
mod status;

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use trawl_daemon::{Daemon, Host, Level, Options, Wish};
use trawl_indexer::Control;
use trawl_profile::own;
use trawl_report::Schema;
use trawl_scan::Xattrs;
use trawl_session::{now, settings};
use trawl_sys::SysError;
use trawl_sys::signal::{self, StopSignals};
use trawl_sys::wait::{self, Waker};

use self::journal::Journal;
use crate::commands::{Class, Setting, Spec};
use crate::documents;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::forms::{FormArgs, Offer};
use crate::output::Output;
use crate::own::published::{self, MetricsFile};

const EXAMPLES: &str = "\
Examples:
  trawl watch /home /srv          watch until stopped; questions wait for it
  trawl watch --poll --interval 5m /mnt/nfs
  trawl watch --status            show how far behind the daemons are
  trawl watch --status --prometheus
  trawl watch --metrics           show how long the daemons' operations take
  trawl watch --socket-unit /home > /etc/systemd/system/trawld.socket

The daemon answers no questions: users read the index themselves, with their
own permissions. Under systemd, the daemon reports when it is ready, and its
queue of changes survives a restart (contrib/systemd/trawld.service).";

/// The forms of `--status`.
#[derive(Clone, Copy, Debug)]
struct Offered;

impl Offer for Offered {
    const JSON: &'static str = "With --status, print one JSON object per line";

    fn restricted(json: clap::Arg) -> clap::Arg {
        json.requires("status").conflicts_with("prometheus")
    }
}

// Options of `trawl watch`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct WatchArgs {
    /// Watch these trees, each as a source of its own
    ///
    /// Trees that are not indexed yet are indexed first.
    #[arg(value_name = "PATH", required_unless_present_any = ["status", "metrics"])]
    paths: Vec<PathBuf>,
    /// Look at all directories at an interval instead of receiving events
    ///
    /// Use this for file systems that other machines change, too.
    #[arg(long)]
    poll: bool,
    /// Set the interval of --poll
    #[arg(long, value_name = "TIME", value_parser = crate::fresh::parse_time, default_value = "30s")]
    interval: Duration,
    /// Apply changes to the index after TIME if nobody asks
    #[arg(long, value_name = "TIME", value_parser = crate::fresh::parse_time, default_value = "5s")]
    apply_after: Duration,
    /// Apply changes sooner if about N entries may have changed
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    max_dirty: usize,
    /// Make a snapshot of changes after TIME, for history
    ///
    /// Until then, changes lie beside the last snapshot. A snapshot is made sooner if there are
    /// many changes, and when the daemon ends.
    #[arg(long, value_name = "TIME", value_parser = crate::fresh::parse_time, default_value = "1h")]
    checkpoint: Duration,
    /// Leave out names or paths that match GLOB
    ///
    /// The default is the patterns of the last scan.
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<OsString>,
    /// Do not read extended attributes [default: as in the last scan]
    #[arg(long)]
    no_xattr: bool,
    /// Print only warnings
    #[arg(short, long)]
    quiet: bool,
    /// Print a systemd socket unit for these trees
    ///
    /// The trees must be indexed already. With the unit, questions start the daemon.
    #[arg(long, conflicts_with = "status")]
    socket_unit: bool,
    /// Show the state of the daemons of all sources, or of these
    #[arg(long)]
    status: bool,
    #[command(flatten)]
    form: FormArgs<Offered>,
    /// Print how long the daemons' own operations took
    ///
    /// Only the superuser and the user of a daemon may ask it.
    #[arg(long, value_name = "FORMAT", value_enum, num_args = 0..=1, require_equals = true,
          default_missing_value = "prometheus", conflicts_with_all = ["status", "socket_unit"])]
    metrics: Option<metrics::Format>,
    /// Write how long the daemon's own operations took to FILE, every 15 seconds
    ///
    /// FILE is in Prometheus' text format, for node_exporter's textfile collector. A new file is
    /// readable for its owner only; the owner and the permissions of an existing file stay.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["status", "metrics", "socket_unit"])]
    metrics_file: Option<PathBuf>,
    /// With --status, print the text format that Prometheus reads
    #[arg(long, requires = "status")]
    prometheus: bool,
}

impl Spec for WatchArgs {
    const ABOUT: &'static str = "Watch trees and keep their index up to date";
    const CLASS: Class = Class::Writer;
    const SEE_ALSO: &'static [&'static str] = &[
        "trawl-index(1)",
        "trawl-sources(1)",
        "fanotify(7)",
        "systemd.service(5)",
    ];
    const REPORTS: &'static [&'static Schema] = &[&status::SCHEMA];

    fn run(&self, setting: Setting<'_>) -> Result<Exit, Failure> {
        run(setting.index, self)
    }
}

/// Runs the command.
pub(crate) fn run(index: Option<PathBuf>, args: &WatchArgs) -> Result<Exit, Failure> {
    if let Some(format) = args.metrics {
        return metrics::run(index, args, format);
    }
    match (args.status, args.socket_unit) {
        (true, _) => status::run(index, args),
        (_, true) => print_socket_unit(index, args),
        _ => watch(index, args),
    }
}

/// Watches the trees until a signal asks it to stop.
fn watch(index: Option<PathBuf>, args: &WatchArgs) -> Result<Exit, Failure> {
    let dir = settings::index_dir(index.clone())?;
    if index.is_none() {
        settings::make_parents(&dir)?;
    }
    let stop = stop_on_signals()
        .map_err(|error| Failure::Usage(format!("cannot watch for signals: {error}")))?;
    let journal = Journal::new(args.quiet);
    let cancel = signal::interrupted();
    let own = own::start().map_err(|error| Failure::Usage(error.to_string()))?;
    let title = args.title();
    let host = Host {
        control: Control { cancel, clock: now },
        log: journal.log(),
        metrics: Arc::new({
            let title = title.clone();
            move || published::reply(own, &title)
        }),
        documents: documents::loaded()?,
    };
    let file = args.metrics_file.as_ref();
    let read = move || own.read(&title).map_err(|error| error.to_string());
    let file = file.map(|path| MetricsFile::keep(path, Arc::new(read)));
    let file = file.transpose()?;
    let mut daemon = Daemon::new(dir, args.options(), host)?;
    let mut exit = Exit::Complete;
    for path in &args.paths {
        if cancel.load(Ordering::Relaxed) {
            break;
        }
        if let Err(error) = daemon.watch(path) {
            journal.say(Level::Warning, &error.to_string());
            exit = exit.and(Exit::Issues);
        }
    }
    if daemon.is_idle() {
        return Ok(exit.and(Exit::Fatal));
    }
    daemon.serve(&stop);
    if let Some(file) = file {
        file.renew();
    }
    Ok(exit)
}

impl WatchArgs {
    /// Returns the title of the daemon's profile.
    fn title(&self) -> String {
        let paths = self.paths.iter().map(|path| path.display().to_string());
        format!("trawl watch {}", paths.collect::<Vec<_>>().join(" "))
    }

    fn options(&self) -> Options {
        let patterns = self.exclude.iter().cloned().map(OsString::into_vec);
        Options {
            wish: match self.poll {
                true => Wish::Polling,
                false => Wish::Best,
            },
            interval: self.interval,
            apply_after: self.apply_after,
            max_dirty: self.max_dirty,
            checkpoint: self.checkpoint,
            exclude: patterns.collect(),
            xattrs: match self.no_xattr {
                true => Xattrs::Skip,
                false => Xattrs::Read,
            },
        }
    }
}

/// Starts a thread that, on a signal, sets the flag that stops all scans and wakes the main thread.
/// A second signal ends the process as usual.
fn stop_on_signals() -> Result<Arc<Waker>, SysError> {
    // A scan that writes too much must still be able to remove its files.
    signal::ignore_file_size_limit()?;
    let signals = StopSignals::take()?;
    let waker = Arc::new(Waker::new()?);
    let ours = Arc::clone(&waker);
    let wait = move || {
        while !wait::readable([signals.as_fd()], None).is_ok_and(|[came]| came) {}
        signals.stop();
        ours.wake();
        loop {
            std::thread::park();
        }
    };
    let thread = std::thread::Builder::new().name("signals".into());
    thread.spawn(wait).map_err(|error| {
        let errno = trawl_sys::Errno(error.raw_os_error().unwrap_or(0));
        SysError::new(trawl_sys::Op::Clone, errno)
    })?;
    Ok(waker)
}

/// Prints a unit with which systemd listens for the daemon and starts it when somebody asks.
fn print_socket_unit(index: Option<PathBuf>, args: &WatchArgs) -> Result<Exit, Failure> {
    let dir = settings::index_dir(index)?;
    let dir = dir.canonicalize().map_err(|source| Failure::File {
        action: "open",
        path: dir,
        source,
    })?;
    let unit = trawl_daemon::socket_unit(&dir, &status::wanted(&args.paths))?;
    let mut output = Output::stdout();
    output.put(unit)?;
    output.finish()?;
    Ok(Exit::Complete)
}
