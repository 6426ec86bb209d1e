//! `trawl watch`, also called as `trawld`: notices what changes in sources and brings it into the
//! index, in the foreground, until it is told to stop; and `--status`, which asks how that goes.

mod checkpoint;
mod daemon;
mod journal;
mod moments;
mod open;
mod parts;
pub(crate) mod plain;
mod socket_unit;
mod status;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::exit::Exit;
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  trawl watch /home /srv          until it is stopped; questions wait for it
  trawl watch --poll --interval 5m /mnt/nfs
  trawl watch --status            how far behind it is
  trawl watch --status --prometheus
  trawl watch --socket-unit /home > /etc/systemd/system/trawld.socket

It reads no question: whoever asks reads the index as themselves. Under
systemd it says when it is ready, and its queue outlives it
(contrib/systemd/trawld.service).";

// Options of `trawl watch`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct WatchArgs {
    /// Trees to watch, each a source of its own; indexed first if they are not
    #[arg(value_name = "PATH", required_unless_present = "status")]
    paths: Vec<PathBuf>,
    /// Look at all directories at an interval, instead of being told of
    /// changes: for file systems that others change, too
    #[arg(long)]
    poll: bool,
    /// That interval
    #[arg(long, value_name = "TIME", value_parser = crate::fresh::parse_time, default_value = "30s")]
    interval: Duration,
    /// How long changes wait to be brought into the index if nobody asks
    #[arg(long, value_name = "TIME", value_parser = crate::fresh::parse_time, default_value = "5s")]
    apply_after: Duration,
    /// How many things may have changed, about, before that is done sooner
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    max_dirty: usize,
    /// How long changes lie beside the last snapshot before they become one of
    /// their own, for history; sooner where they are many, and when the daemon
    /// ends
    #[arg(long, value_name = "TIME", value_parser = crate::fresh::parse_time, default_value = "1h")]
    checkpoint: Duration,
    /// Leave out what this shell pattern matches [default: what the last scan
    /// left out]
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<OsString>,
    /// Do not read extended attributes [default: as the last scan]
    #[arg(long)]
    no_xattr: bool,
    /// Say only what is wrong
    #[arg(short, long)]
    quiet: bool,
    /// Print a socket unit of systemd for these trees, which are indexed
    /// already: with it questions start the daemon
    #[arg(long, conflicts_with = "status")]
    socket_unit: bool,
    /// Ask the daemons of all sources, or of these, how they are
    #[arg(long)]
    status: bool,
    /// With --status: one JSON object a line
    #[arg(long, requires = "status", conflicts_with = "prometheus")]
    json: bool,
    /// With --status: the text that Prometheus reads
    #[arg(long, requires = "status")]
    prometheus: bool,
}

/// Runs the command.
pub(crate) fn run(index: Option<PathBuf>, args: &WatchArgs) -> Result<Exit, Failure> {
    match (args.status, args.socket_unit) {
        (true, _) => status::run(index, args),
        (_, true) => socket_unit::run(index, args),
        _ => daemon::run(index, args),
    }
}
