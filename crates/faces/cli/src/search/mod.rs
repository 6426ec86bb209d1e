//! `trawl search`: the search call from the command line.
//!
//! Prints the call's records: matches on standard output, errors on standard error (with `--json`
//! both on standard output, as records). `--status` reports who answered.

mod answer;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use trawl_call::options::{DEPTH_DEFAULT, DEPTH_PAPER, Flags, Options};
use trawl_call::{CallError, Executor, Pattern, Request, Search, ServedBy};
use trawl_model::mapped;
use trawl_open::search::AskedSource;
use trawl_remote::tls::Certificates;
use trawl_remote::{Address, Remote};
use trawl_report::Schema;
use trawl_session::call::{Asked, executor};

use self::answer::Answer;
use crate::arguments::Manner;
use crate::commands::{Setting, Spec};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::forms::{FormArgs, Offer};
use crate::output::say;
use crate::scope::say_notice;

const EXAMPLES: &str = "\
PATTERN matches the last components of paths: x, b/x, *.c, src/*.h. With a
leading / it matches from PATH on: /x, /*/x. / alone matches all entries of
PATH, and /. matches PATH itself. * matches any characters within a name, and ?
matches one character or none (with --fnmatch exactly one, and [...] one of a
set). | separates alternatives, \\ quotes.

Examples:
  trawl search '*.c|*.h' /usr/src       search a tree
  trawl search / --metadata .           list a directory with attributes
  trawl search -f --executable /cc /usr/local/bin /usr/bin
                                        find the first in several directories
  trawl search --json x . | jq .path    print records
  trawl search --remote ssh:host '*.c' /usr/src
                                        search another machine in one round trip

Exit codes: 0 complete, 1 answered but a part could not be read, 2 wrong usage
or a fatal error.";

/// The forms of the answer.
#[derive(Clone, Copy, Debug)]
struct Offered;

impl Offer for Offered {
    const JSON: &'static str = "Print one JSON object per line, including errors";
}

// Options of `trawl search`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SearchArgs {
    /// Look for PATTERN
    #[arg(value_name = "PATTERN")]
    pattern: OsString,
    /// Search these directories [default: the working directory]
    #[arg(value_name = "PATH")]
    paths: Vec<OsString>,
    /// Read PATTERN as in the paper: ? is one byte or none (the default)
    #[arg(long, overrides_with = "fnmatch")]
    paper: bool,
    /// Read PATTERN as fnmatch(3) does: ? is one byte, [...] one of a set
    #[arg(long, overrides_with = "paper")]
    fnmatch: bool,
    /// Stop at the first match, in the first PATH that has one
    #[arg(short = 'f', long)]
    stop_at_first: bool,
    /// Show stat(2) attributes of matches, following symbolic links
    #[arg(short, long)]
    metadata: bool,
    /// With --metadata, show the attributes of symbolic links themselves
    #[arg(short = 'P', long)]
    no_follow: bool,
    /// Print paths that begin with PATH
    #[arg(short = 'r', long)]
    include_root: bool,
    /// Show only files that this user may read
    #[arg(long)]
    readable: bool,
    /// Show only files that this user may write
    #[arg(long)]
    writable: bool,
    /// Show only what this user may execute (for directories: search)
    #[arg(short = 'x', long)]
    executable: bool,
    /// Match a leading period only with a period in the pattern
    #[arg(long)]
    period: bool,
    /// Enter directories that symbolic links lead to
    #[arg(short = 'L', long)]
    follow: bool,
    /// Do not enter other file systems
    #[arg(long)]
    xdev: bool,
    /// Enter at most NUMBER levels below PATH, and report deeper ones
    #[arg(long, value_name = "NUMBER", default_value_t = DEPTH_DEFAULT, hide_default_value = true)]
    max_depth: usize,
    /// End with an error if entries lie more than 16 levels below PATH
    ///
    /// The paper's search does this.
    #[arg(long, conflicts_with = "max_depth")]
    depth16: bool,
    /// Ask this source: auto, live, or index
    ///
    /// auto asks the index where it is known to be up to date, servers about their mounts, and the
    /// file system elsewhere. live asks the file system; index asks the index as it is.
    #[arg(long, value_name = "WHO", value_enum, default_value = "auto")]
    served_by: Who,
    /// Ask the server at ADDRESS, in one round trip
    ///
    /// ADDRESS is unix:PATH, tls:HOST:PORT, ssh:HOST (which needs trawld on the host), or
    /// command:WORDS. Each PATH is one of the server's.
    #[arg(long, value_name = "ADDRESS", conflicts_with = "served_by")]
    remote: Option<OsString>,
    /// With --remote tls:…, trust certificates signed by the CA in FILE
    ///
    /// Defaults to ca.pem in ~/.config/trawl or /etc/trawl.
    #[arg(long, value_name = "FILE", requires = "remote")]
    ca: Option<PathBuf>,
    /// With --remote tls:…, use the client certificate in FILE
    ///
    /// Defaults to cert.pem in ~/.config/trawl or /etc/trawl.
    #[arg(long, value_name = "FILE", requires = "remote")]
    cert: Option<PathBuf>,
    /// With --remote tls:…, use the client key in FILE
    ///
    /// Defaults to key.pem in ~/.config/trawl or /etc/trawl.
    #[arg(long, value_name = "FILE", requires = "remote")]
    key: Option<PathBuf>,
    /// End each path with a NUL byte instead of a newline
    #[arg(short = '0', long, conflicts_with = "json")]
    null: bool,
    #[command(flatten)]
    form: FormArgs<Offered>,
    #[command(flatten)]
    pub(crate) manner: Manner,
}

impl Spec for SearchArgs {
    const ABOUT: &'static str =
        "Search directories for a pattern, live or from an up-to-date index";
    const SEE_ALSO: &'static [&'static str] = &["trawl-find(1)", "trawl-serve(1)", "opensearch(3)"];
    const REPORTS: &'static [&'static Schema] = &[&answer::SCHEMA];

    fn run(&self, setting: Setting<'_>) -> Result<Exit, Failure> {
        run(setting.index, self, setting.manner)
    }
}

/// Source that is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Who {
    Auto,
    Live,
    Index,
}

impl From<Who> for AskedSource {
    fn from(who: Who) -> AskedSource {
        match who {
            Who::Auto => AskedSource::Auto,
            Who::Live => AskedSource::Live,
            Who::Index => AskedSource::Index,
        }
    }
}

/// Runs the command.
pub(crate) fn run(
    index: Option<PathBuf>,
    args: &SearchArgs,
    manner: Manner,
) -> Result<Exit, Failure> {
    let manner = manner.then(args.manner);
    if manner.at.is_some() {
        let text = "trawl search answers only about now: use trawl find with --at for the past";
        return Err(Failure::Usage(text.into()));
    }
    let (language, options) = args.flags().read()?;
    let pattern = Pattern::new(args.pattern.as_bytes(), language).map_err(CallError::Pattern)?;
    let request = args.request(&pattern, options)?;
    let asked = match &args.remote {
        Some(address) => Asked {
            executor: remote(address, args)?,
            freshness: None,
        },
        None => {
            let with_servers = trawl_remote::mounts::with_servers;
            executor(
                index,
                args.served_by.into(),
                manner.when(),
                &pattern,
                with_servers,
            )?
        }
    };
    let mut answer = Answer::begin(args.form.form(), args.null, &request);
    let search = Search::open(&*asked.executor, request)?;
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
    if let Some(mut fresh) = asked.freshness {
        exit = exit.and(Exit::from_issues(fresh.tell(&say_notice)));
    }
    Ok(exit)
}

/// Prints records as they arrive, and returns who provided them.
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

impl SearchArgs {
    /// Returns the flags of the paper's call that these options stand for.
    fn flags(&self) -> Flags {
        let bits = [
            (Flags::STOPATFIRST, self.stop_at_first),
            (Flags::METADATA, self.metadata),
            (Flags::NOFOLLOW, self.no_follow),
            (Flags::INCLUDEROOT, self.include_root),
            (Flags::PERIOD, self.period),
            (Flags::R_OK, self.readable),
            (Flags::W_OK, self.writable),
            (Flags::X_OK, self.executable),
            (Flags::FOLLOW, self.follow),
            (Flags::XDEV, self.xdev),
            (Flags::FNMATCH, self.fnmatch),
        ];
        let bits = bits.iter().filter(|(_, is_set)| *is_set);
        Flags(bits.fold(0, |all, (bit, _)| all | bit))
    }

    fn request(&self, pattern: &Pattern, options: Options) -> Result<Request, Failure> {
        let options = Options {
            max_depth: match self.depth16 {
                true => DEPTH_PAPER,
                false => self.max_depth,
            },
            ..options
        };
        let paths: Vec<&[u8]> = match &self.paths[..] {
            [] => vec![b"."],
            paths => paths.iter().map(|path| path.as_bytes()).collect(),
        };
        let known = paths
            .iter()
            .filter_map(|path| Some((mapped::ours(path)?, *path)));
        let (ours, names): (Vec<Cow<'_, [u8]>>, Vec<&[u8]>) = known.unzip();
        Ok(Request::new(pattern, &ours, options)?.named(&names))
    }
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
