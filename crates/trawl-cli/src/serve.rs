//! `trawl serve`, also `trawld --stdio` and `trawld --listen`: answers searches of other machines
//! and of programs that have a socket to ask at.

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use trawl_call::LiveWalk;
use trawl_remote::listen::{Crowd, Listening, Worker};
use trawl_remote::transport::Transport;
use trawl_remote::{Export, Exports, Limits, RemoteError, Serving, exports};
use trawl_sys::signal::StopSignals;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::say;

const EXAMPLES: &str = "\
Examples:
  ssh host trawld --stdio                 what trawl search --remote ssh:host runs
  trawl serve --stdio --export src=/srv/src
                                          nothing but that tree, as /src
  trawl serve --listen unix:/run/trawl/search
                                          each client is served as the user it is

What is shown is what the user who is served may see: the work is done by a
process of that user. Nothing can be changed.";

/// Options of `trawl serve`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ServeArgs {
    /// Serve one client on standard input and output
    #[arg(long, required_unless_present = "listen", conflicts_with = "listen")]
    stdio: bool,
    /// Serve who connects to a socket: unix:PATH
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<OsString>,
    /// Show only this tree, under this name; can be given again [default: all
    /// that the user may see, with the paths of this machine]
    #[arg(long, value_name = "NAME=DIR")]
    export: Vec<OsString>,
    /// Show only the trees in /etc/trawl/exports
    #[arg(long, conflicts_with = "export")]
    restrict: bool,
    /// Processes that serve clients, in all
    #[arg(long, value_name = "N", default_value_t = Crowd::default().connections)]
    connections: usize,
    /// Processes that serve clients of one user
    #[arg(long, value_name = "N", default_value_t = Crowd::default().of_one_user)]
    user_connections: usize,
    /// How long a client may take nothing of an answer
    #[arg(long, value_name = "TIME", value_parser = crate::fresh::parse_time, default_value = "60s")]
    stall: Duration,
    /// Begin each request so many milliseconds later, as if clients were far
    /// away
    #[arg(
        long,
        value_name = "MS",
        default_value_t = 0,
        hide_default_value = true
    )]
    delay: u64,
}

/// Runs the command.
pub(crate) fn run(args: &ServeArgs) -> Result<Exit, Failure> {
    match &args.listen {
        Some(address) => listen(args, address),
        None => stdio(args),
    }
}

fn exports(args: &ServeArgs) -> Result<Exports, RemoteError> {
    if args.restrict {
        return Exports::from_file(Path::new(exports::FILE));
    }
    match &args.export[..] {
        [] => Ok(Exports::Everything),
        texts => {
            let exports = texts.iter().map(|text| Export::parse(text.as_bytes()));
            Exports::named(exports.collect::<Result<_, _>>()?)
        }
    }
}

fn stdio(args: &ServeArgs) -> Result<Exit, Failure> {
    let limits = Limits {
        stall: args.stall,
        ..Limits::default()
    };
    let serving = Serving {
        exports: exports(args)?,
        executor: Arc::new(LiveWalk::default()),
        limits,
        delay: Duration::from_millis(args.delay),
    };
    let failed = |source| Failure::File {
        action: "use",
        path: "standard input and output".into(),
        source,
    };
    let input = std::io::stdin().as_fd().try_clone_to_owned();
    let output = std::io::stdout().as_fd().try_clone_to_owned();
    let transport = input.and_then(|input| Transport::over(input, output?));
    trawl_remote::serve(transport.map_err(failed)?, &serving)?;
    Ok(Exit::Complete)
}

fn listen(args: &ServeArgs, address: &OsString) -> Result<Exit, Failure> {
    let Some(path) = address.as_bytes().strip_prefix(b"unix:") else {
        let text = "--listen takes unix:PATH; from other machines ssh runs trawld --stdio";
        return Err(Failure::Usage(text.into()));
    };
    let path = PathBuf::from(OsString::from_vec(path.to_vec()));
    let worker = Worker {
        program: std::env::current_exe().map_err(|source| Failure::File {
            action: "find",
            path: "this program".into(),
            source,
        })?,
        words: words(args)?,
    };
    let crowd = Crowd {
        connections: args.connections,
        of_one_user: args.user_connections,
    };
    let stop = StopSignals::take().map_err(|error| Failure::Usage(error.to_string()))?;
    let listening = Listening::bind(&path)?;
    listening.run(&worker, crowd, &stop, &|text| say(text))?;
    Ok(Exit::Complete)
}

/// What each client's process is started with.
fn words(args: &ServeArgs) -> Result<Vec<OsString>, RemoteError> {
    let mut words: Vec<OsString> = ["serve", "--stdio"].map(OsString::from).into();
    if let Exports::Named(exports) = exports(args)? {
        for export in exports {
            words.extend(["--export".into(), export.to_text()]);
        }
    }
    let number = |name: &str, value: u128| OsString::from(format!("{name}={value}"));
    words.push(number("--delay", args.delay.into()));
    let mut stall = number("--stall", args.stall.as_millis());
    stall.push("ms");
    words.push(stall);
    Ok(words)
}
