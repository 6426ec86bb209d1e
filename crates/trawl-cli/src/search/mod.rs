//! `trawl search`: the search call from the command line.
//!
//! What it prints are the call's records: matches on standard output, errors on standard error
//! (with `--json` both on standard output, as records). `--status` says who answered.

mod answer;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use trawl_call::options::{DEPTH_DEFAULT, DEPTH_PAPER, Flags, Options};
use trawl_call::{Executor, LiveWalk, Pattern, Request, Search, ServedBy};
use trawl_remote::tls::Certificates;
use trawl_remote::{Address, Remote};

use self::answer::Answer;
use crate::arguments::Manner;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::fresh::{DEADLINE, Freshness};
use crate::output::say;
use crate::settings;

const EXAMPLES: &str = "\
PATTERN matches paths by their last components: x, b/x, *.c, src/*.h; with a /
at its beginning from PATH on: /x, /*/x; / alone is all that PATH holds, /. is
PATH itself. * is any run of characters within a name, ? one or none
(--fnmatch: just one, and [...] one of a set), | stands between alternatives,
\\ quotes.

Examples:
  trawl search '*.c|*.h' /usr/src       in a tree
  trawl search / --metadata .           what ls -l asks
  trawl search -f --executable /cc /usr/local/bin /usr/bin
                                        the first in a list of directories
  trawl search --json x . | jq .path    records
  trawl search --remote ssh:host '*.c' /usr/src
                                        on another machine, in one round trip

Exit codes: 0 complete, 1 answered but a part could not be read, 2 wrong usage
or nothing could be done.";

// Options of `trawl search`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SearchArgs {
    /// What to look for
    #[arg(value_name = "PATTERN")]
    pattern: OsString,
    /// Directories to search, the working directory if there are none
    #[arg(value_name = "PATH")]
    paths: Vec<OsString>,
    /// The pattern is as in the paper: ? is one byte or none (the default)
    #[arg(long, overrides_with = "fnmatch")]
    paper: bool,
    /// The pattern is as fnmatch(3) has it: ? is one byte, [...] one of a set
    #[arg(long, overrides_with = "paper")]
    fnmatch: bool,
    /// Stop at the first match, of the earliest PATH that has one
    #[arg(short = 'f', long)]
    stop_at_first: bool,
    /// Say what stat(2) says of each match, symbolic links followed
    #[arg(short, long)]
    metadata: bool,
    /// With --metadata: of symbolic links themselves
    #[arg(short = 'P', long)]
    no_follow: bool,
    /// Print paths that begin with PATH
    #[arg(short = 'r', long)]
    include_root: bool,
    /// Only what this user may read
    #[arg(long)]
    readable: bool,
    /// Only what this user may write
    #[arg(long)]
    writable: bool,
    /// Only what this user may execute or, of directories, search
    #[arg(short = 'x', long)]
    executable: bool,
    /// Only a period in the pattern matches one that begins a name
    #[arg(long)]
    period: bool,
    /// Go into directories that symbolic links lead to
    #[arg(short = 'L', long)]
    follow: bool,
    /// Do not go into other file systems
    #[arg(long)]
    xdev: bool,
    /// Go at most so many levels below PATH, and tell of what is deeper
    #[arg(long, value_name = "NUMBER", default_value_t = DEPTH_DEFAULT, hide_default_value = true)]
    max_depth: usize,
    /// End with an error where something lies more than 16 levels below PATH, as
    /// the paper's search does
    #[arg(long, conflicts_with = "max_depth")]
    depth16: bool,
    /// Who answers: the index where it is known to be as of now, servers about
    /// their mounts and the file system elsewhere (auto), the file system, or the
    /// index as it is
    #[arg(long, value_name = "WHO", value_enum, default_value = "auto")]
    served_by: Who,
    /// Ask a server, in one round trip: unix:PATH, tls:HOST:PORT, ssh:HOST (which
    /// needs trawld there) or command:WORDS; each PATH is one of the server's
    #[arg(long, value_name = "ADDRESS", conflicts_with = "served_by")]
    remote: Option<OsString>,
    /// With --remote tls:…: who may sign the server's certificate [default:
    /// ca.pem in ~/.config/trawl or /etc/trawl]
    #[arg(long, value_name = "FILE", requires = "remote")]
    ca: Option<PathBuf>,
    /// With --remote tls:…: this client's certificate [default: cert.pem there]
    #[arg(long, value_name = "FILE", requires = "remote")]
    cert: Option<PathBuf>,
    /// With --remote tls:…: its key [default: key.pem there]
    #[arg(long, value_name = "FILE", requires = "remote")]
    key: Option<PathBuf>,
    /// A NUL byte behind each path instead of a newline
    #[arg(short = '0', long, conflicts_with = "json")]
    null: bool,
    /// One JSON object a line, errors included
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(crate) manner: Manner,
}

/// Who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Who {
    Auto,
    Live,
    Index,
}

/// Runs the command.
pub(crate) fn run(
    index: Option<PathBuf>,
    args: &SearchArgs,
    manner: Manner,
) -> Result<Exit, Failure> {
    let manner = manner.then(args.manner);
    if manner.at.is_some() {
        let text = "trawl search asks about now: trawl find answers about the past with --at";
        return Err(Failure::Usage(text.into()));
    }
    let request = request(args)?;
    let (executor, fresh) = match &args.remote {
        Some(address) => (remote(address, args)?, None),
        None => executor(index, args.served_by, manner)?,
    };
    let mut answer = Answer::begin(args.json, args.null, &request);
    let search = Search::open(&*executor, request)?;
    let search = match args.depth16 {
        true => search.ending_where_too_deep(),
        false => search,
    };
    let served_by = print(search, &mut answer)?;
    let mut exit = answer.finish()?;
    if manner.status {
        let names: Vec<&str> = served_by.iter().map(|who| who.name()).collect();
        say(format_args!("answered by: {}", names.join(", ")));
    }
    if let Some(mut fresh) = fresh {
        exit = exit.and(fresh.tell(|line| say(line)));
    }
    Ok(exit)
}

/// Prints records as they come; who gave them.
fn print(mut search: Search, answer: &mut Answer) -> Result<BTreeSet<ServedBy>, Failure> {
    let mut served_by = BTreeSet::new();
    while search.advance()? {
        let who = search.served_by().unwrap_or(ServedBy::Live);
        served_by.insert(who);
        if let Some(record) = search.record()? {
            answer.record(&record, who)?;
        }
        if search.is_waiting() {
            answer.pause()?;
        }
    }
    Ok(served_by)
}

fn request(args: &SearchArgs) -> Result<Request, Failure> {
    let bits = [
        (Flags::STOPATFIRST, args.stop_at_first),
        (Flags::METADATA, args.metadata),
        (Flags::NOFOLLOW, args.no_follow),
        (Flags::INCLUDEROOT, args.include_root),
        (Flags::PERIOD, args.period),
        (Flags::R_OK, args.readable),
        (Flags::W_OK, args.writable),
        (Flags::X_OK, args.executable),
        (Flags::FOLLOW, args.follow),
        (Flags::XDEV, args.xdev),
        (Flags::FNMATCH, args.fnmatch),
    ];
    let bits = bits.iter().filter(|(_, is_set)| *is_set);
    let flags = Flags(bits.fold(0, |all, (bit, _)| all | bit));
    let (language, options) = flags.read()?;
    let options = Options {
        max_depth: match args.depth16 {
            true => DEPTH_PAPER,
            false => args.max_depth,
        },
        ..options
    };
    let pattern =
        Pattern::new(args.pattern.as_bytes(), language).map_err(trawl_call::CallError::Pattern)?;
    let paths: Vec<&[u8]> = match &args.paths[..] {
        [] => vec![b"."],
        paths => paths.iter().map(|path| path.as_bytes()).collect(),
    };
    Ok(Request::new(&pattern, &paths, options)?)
}

fn remote(address: &OsString, args: &SearchArgs) -> Result<Box<dyn Executor>, Failure> {
    let certificates = Certificates {
        ca: args.ca.clone(),
        cert: args.cert.clone(),
        key: args.key.clone(),
    };
    let address = Address::parse(address)?.with_certificates(certificates);
    Ok(Box::new(Remote::new(address)))
}

/// Who is asked, and what is to be said of how fresh an index is that is asked in any case.
type Asked = (Box<dyn Executor>, Option<Freshness>);

fn executor(index: Option<PathBuf>, who: Who, manner: Manner) -> Result<Asked, Failure> {
    match who {
        Who::Live => Ok((Box::new(LiveWalk::default()), None)),
        Who::Index => {
            let dirs = settings::indexes_to_ask(index)?;
            let fresh = Freshness::ask(&dirs, manner);
            let index = trawl_ask::search::index(&dirs, fresh.daemons())?;
            Ok((Box::new(index), Some(fresh)))
        }
        Who::Auto => {
            let wait = manner.fresh.fresh.unwrap_or(DEADLINE);
            let wait = (!manner.fresh.no_wait).then_some(wait);
            let here = Box::new(trawl_ask::search::auto(index, wait)?);
            Ok((trawl_ask::mounts::with_servers(here), None))
        }
    }
}
