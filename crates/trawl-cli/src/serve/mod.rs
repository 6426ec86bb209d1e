//! `trawl serve`, also `trawld --stdio` and `trawld --listen`: answers searches of other machines
//! and of programs that have a socket to ask at.

mod answer;
mod sockets;

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use trawl_remote::listen::{Crowd, Worker};
use trawl_remote::transport::Transport;
use trawl_remote::{Export, Exports, Limits, RemoteError, Serving, exports};
use trawl_sys::signal::StopSignals;

use self::answer::FreshOrLive;
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
  trawl serve --listen tls:0.0.0.0:8295   who has a certificate is served as the
                                          user that /etc/trawl/users says

What is shown is what the user who is served may see: the work is done by a
process of that user. Nothing can be changed.";

// Options of `trawl serve`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(group = clap::ArgGroup::new("where").required(true).multiple(true))]
pub(crate) struct ServeArgs {
    /// Serve one client on standard input and output
    #[arg(long, group = "where", conflicts_with_all = ["listen", "listen_chirp"])]
    stdio: bool,
    /// Serve who connects to a socket: unix:PATH, tls:ADDRESS:PORT, or systemd
    /// (the sockets that a service manager opened); can be given again
    #[arg(long, value_name = "ADDRESS", group = "where")]
    listen: Vec<OsString>,
    /// Answer Chirp's line search, for anybody who connects, as --chirp-user
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        group = "where",
        requires = "chirp_user"
    )]
    listen_chirp: Option<String>,
    /// The user that Chirp's clients are served as
    #[arg(long, value_name = "USER", requires = "listen_chirp")]
    chirp_user: Option<String>,
    /// With tls: the server's certificate, then those in between (PEM)
    #[arg(long, value_name = "FILE", default_value = "/etc/trawl/server.pem")]
    cert: PathBuf,
    /// With tls: its key
    #[arg(long, value_name = "FILE", default_value = "/etc/trawl/server.key")]
    key: PathBuf,
    /// With tls: who may sign clients' certificates
    #[arg(long, value_name = "FILE", default_value = "/etc/trawl/clients.pem")]
    client_ca: PathBuf,
    /// With tls: which user a certificate stands for; lines sha256:…=USER,
    /// san:NAME=USER, cn:NAME=USER
    #[arg(long, value_name = "FILE", default_value = trawl_remote::tls::users::FILE)]
    users: PathBuf,
    /// With tls: the user of the process that ends TLS
    #[arg(long, value_name = "USER", default_value = "nobody")]
    tls_user: String,
    /// Show only this tree, under this name; can be given again [default: all
    /// that the user may see, with the paths of this machine]
    #[arg(long, value_name = "NAME=DIR")]
    export: Vec<OsString>,
    /// Show only the trees in /etc/trawl/exports
    #[arg(long, conflicts_with = "export")]
    restrict: bool,
    /// Connections in all
    #[arg(long, value_name = "N", default_value_t = Crowd::default().connections)]
    connections: usize,
    /// Connections of one user
    #[arg(long, value_name = "N", default_value_t = Crowd::default().of_one_user)]
    user_connections: usize,
    /// Connections that are served at the same time
    #[arg(long, value_name = "N", default_value_t = Crowd::default().served)]
    served: usize,
    /// Connections of one user that are served at the same time
    #[arg(long, value_name = "N", default_value_t = Crowd::default().served_of_one_user)]
    user_served: usize,
    /// How long a connection may wait to be served
    #[arg(long, value_name = "TIME", value_parser = crate::fresh::parse_time, default_value = "30s")]
    patience: Duration,
    /// How long a client may take nothing of an answer
    #[arg(long, value_name = "TIME", value_parser = crate::fresh::parse_time, default_value = "60s")]
    stall: Duration,
    /// Directories that are watched for a client that keeps what is in them; 0:
    /// none are
    #[arg(long, value_name = "N", default_value_t = Limits::default().directories)]
    watched_directories: usize,
    /// Begin each request so many milliseconds later, as if clients were far
    /// away
    #[arg(
        long,
        value_name = "MS",
        default_value_t = 0,
        hide_default_value = true
    )]
    delay: u64,
    /// Serve the connections that come over standard input: what --listen starts
    /// for each user
    #[arg(long, hide = true, group = "where", conflicts_with_all = ["stdio", "listen", "listen_chirp"])]
    worker: bool,
    /// End TLS for who is at standard input: what --listen tls: starts
    #[arg(long, hide = true, group = "where", conflicts_with_all = ["stdio", "listen", "listen_chirp", "worker"])]
    tls_front: bool,
}

/// Runs the command.
pub(crate) fn run(index: Option<PathBuf>, args: &ServeArgs) -> Result<Exit, Failure> {
    match () {
        () if args.stdio => stdio(index, args),
        () if args.worker => {
            let serving = serving(index, args)?;
            trawl_remote::listen::work(input()?, &serving)?;
            Ok(Exit::Complete)
        }
        () if args.tls_front => {
            trawl_remote::tls::front(input()?)?;
            Ok(Exit::Complete)
        }
        () => listen(index, args),
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

fn serving(index: Option<PathBuf>, args: &ServeArgs) -> Result<Serving, Failure> {
    let limits = Limits {
        stall: args.stall,
        directories: args.watched_directories,
        ..Limits::default()
    };
    Ok(Serving {
        exports: exports(args)?,
        executor: Arc::new(FreshOrLive { index }),
        limits,
        delay: Duration::from_millis(args.delay),
    })
}

fn unusable(source: std::io::Error) -> Failure {
    Failure::File {
        action: "use",
        path: "standard input and output".into(),
        source,
    }
}

fn input() -> Result<std::os::fd::OwnedFd, Failure> {
    let input = std::io::stdin().as_fd().try_clone_to_owned();
    input.map_err(unusable)
}

fn stdio(index: Option<PathBuf>, args: &ServeArgs) -> Result<Exit, Failure> {
    let serving = serving(index, args)?;
    let output = std::io::stdout().as_fd().try_clone_to_owned();
    let input = input()?;
    let transport = output.and_then(|output| Transport::over(input, output));
    trawl_remote::serve(transport.map_err(unusable)?, &serving)?;
    Ok(Exit::Complete)
}

fn listen(index: Option<PathBuf>, args: &ServeArgs) -> Result<Exit, Failure> {
    let program = std::env::current_exe().map_err(|source| Failure::File {
        action: "find",
        path: "this program".into(),
        source,
    })?;
    let worker = Worker {
        words: words(index, args)?,
        program: program.clone(),
    };
    let crowd = Crowd {
        connections: args.connections,
        of_one_user: args.user_connections,
        served: args.served,
        served_of_one_user: args.user_served,
        patience: args.patience,
    };
    let stop = StopSignals::take().map_err(|error| Failure::Usage(error.to_string()))?;
    let mut listening = sockets::open(args, program)?;
    for address in listening.addresses() {
        say(format_args!("listens at {address}"));
    }
    listening.run(&worker, crowd, &stop, &|text| say(text))?;
    Ok(Exit::Complete)
}

/// What each user's process is started with.
fn words(index: Option<PathBuf>, args: &ServeArgs) -> Result<Vec<OsString>, RemoteError> {
    let mut words = Vec::new();
    if let Some(index) = index {
        words.extend(["--index".into(), index.into_os_string()]);
    }
    words.extend(["serve", "--worker"].map(OsString::from));
    if let Exports::Named(exports) = exports(args)? {
        for export in exports {
            words.extend(["--export".into(), export.to_text()]);
        }
    }
    let number = |name: &str, value: u128| OsString::from(format!("{name}={value}"));
    words.push(number("--delay", args.delay.into()));
    words.push(number(
        "--watched-directories",
        args.watched_directories as u128,
    ));
    let mut stall = number("--stall", args.stall.as_millis());
    stall.push("ms");
    words.push(stall);
    Ok(words)
}
