//! `trawl serve`, also called as `trawld --stdio`, `trawld --listen` and `trawld --http`: answers
//! searches of other machines, and of programs and browsers that connect to a socket.

mod http;
mod metrics;

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use trawl_profile::own;
use trawl_remote::listen::{Crowd, Told, Worker};
use trawl_remote::transport::Transport;
use trawl_remote::{Commands, Exports, Limits, RemoteError, Serving};
use trawl_run::serve::{self as serves, Served, Sockets};

use crate::arguments::ANSWER;
use crate::commands::{Class, Setting, Spec};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::own::published::{self, MetricsFile};
use crate::run::teller;
use metrics::Processes;

/// Usual place of the authorities that sign certificates of clients.
const CLIENT_CA: &str = "/etc/trawl/clients.pem";

const EXAMPLES: &str = "\
Examples:
  ssh host trawld --stdio                 serve trawl search --remote ssh:host
  trawl serve --stdio --export src=/srv/src
                                          serve only that tree, as /src
  trawl serve --listen unix:/run/trawl/search
                                          serve each client as its own user
  trawl serve --listen tls:0.0.0.0:8295   serve clients with certificates as the
                                          users that /etc/trawl/users assigns
  trawl serve --http 0.0.0.0:8443 --pam trawl
                                          serve browsers: each user logs in, and
                                          is shown what this user may see

Each client sees what its user may see: a process of that user does the work.
Clients cannot change anything.";

// Options of `trawl serve`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(group = clap::ArgGroup::new("where").required(true).multiple(true))]
pub(crate) struct ServeArgs {
    /// Serve one client on standard input and output
    #[arg(long, group = "where", conflicts_with_all = ["listen", "listen_chirp"])]
    stdio: bool,
    /// Serve clients that connect to ADDRESS
    ///
    /// ADDRESS is unix:PATH, tls:ADDRESS:PORT, or systemd for the sockets that a service manager
    /// opened. May be given several times.
    #[arg(long, value_name = "ADDRESS", group = "where")]
    listen: Vec<OsString>,
    /// Answer Chirp's line search for any client, as --chirp-user
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        group = "where",
        requires = "chirp_user",
        conflicts_with = "http"
    )]
    listen_chirp: Option<String>,
    /// Serve Chirp's clients as USER
    #[arg(
        long,
        value_name = "USER",
        requires = "listen_chirp",
        conflicts_with = "http"
    )]
    chirp_user: Option<String>,
    /// For tls and http, use this server certificate, then intermediate ones (PEM)
    #[arg(long, value_name = "FILE", default_value = "/etc/trawl/server.pem")]
    cert: PathBuf,
    /// For tls and http, use the server key in FILE
    #[arg(long, value_name = "FILE", default_value = "/etc/trawl/server.key")]
    key: PathBuf,
    /// For tls and http, accept client certificates signed by the CA in FILE
    ///
    /// For http, clients may show one if FILE exists.
    #[arg(long, value_name = "FILE", default_value = CLIENT_CA)]
    client_ca: PathBuf,
    /// For tls and http, read the users of certificates from FILE
    ///
    /// The lines are sha256:…=USER, san:NAME=USER, or cn:NAME=USER.
    #[arg(long, value_name = "FILE", default_value = trawl_remote::tls::users::FILE)]
    users: PathBuf,
    /// For tls and http, run the process that ends TLS as USER
    #[arg(long, value_name = "USER", default_value = "nobody")]
    tls_user: String,
    #[command(flatten)]
    http: http::HttpArgs,
    /// Show only the tree DIR, under NAME
    ///
    /// May be given several times. By default clients see all that their user may see, with the
    /// paths of this machine.
    #[arg(long, value_name = "NAME=DIR", conflicts_with = "http")]
    export: Vec<OsString>,
    /// Show only the trees in /etc/trawl/exports
    #[arg(long, conflicts_with_all = ["export", "http"])]
    restrict: bool,
    /// Allow N connections in all
    #[arg(long, value_name = "N", default_value_t = Crowd::default().connections, conflicts_with = "http")]
    connections: usize,
    /// Allow N connections of one user
    #[arg(long, value_name = "N", default_value_t = Crowd::default().of_one_user, conflicts_with = "http")]
    user_connections: usize,
    /// Serve N connections at the same time
    #[arg(long, value_name = "N", default_value_t = Crowd::default().served, conflicts_with = "http")]
    served: usize,
    /// Serve N connections of one user at the same time
    #[arg(long, value_name = "N", default_value_t = Crowd::default().served_of_one_user, conflicts_with = "http")]
    user_served: usize,
    /// Let a connection wait up to TIME to be served
    #[arg(long, value_name = "TIME", value_parser = crate::fresh::parse_time, default_value = "30s", conflicts_with = "http")]
    patience: Duration,
    /// Let a client pause up to TIME while it receives an answer
    #[arg(long, value_name = "TIME", value_parser = crate::fresh::parse_time, default_value = "60s", conflicts_with = "http")]
    stall: Duration,
    /// Watch N directories for a client that caches them; 0 watches none
    #[arg(long, value_name = "N", default_value_t = Limits::default().directories, conflicts_with = "http")]
    watched_directories: usize,
    /// Write how long the server's own operations took to FILE, every 15 seconds
    ///
    /// FILE is the sum over all processes, in Prometheus' text format, for node_exporter's textfile
    /// collector. A new file is readable for its owner only; the owner and the permissions of an
    /// existing file stay.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["stdio", "http"])]
    metrics_file: Option<PathBuf>,
    /// Delay each request by MS milliseconds, to simulate distant clients
    #[arg(
        long,
        value_name = "MS",
        default_value_t = 0,
        hide_default_value = true,
        conflicts_with = "http"
    )]
    delay: u64,
    /// Serve connections that come over standard input; --listen starts this
    #[arg(long, hide = true, group = "where", conflicts_with_all = ["stdio", "listen", "listen_chirp"])]
    worker: bool,
    /// End TLS for the process at standard input; --listen tls: starts this
    #[arg(long, hide = true, group = "where", conflicts_with_all = ["stdio", "listen", "listen_chirp", "worker"])]
    tls_front: bool,
}

impl Spec for ServeArgs {
    const ABOUT: &'static str =
        "Answer searches from other machines, over ssh or a socket, and browsers";
    const CLASS: Class = Class::Server;
    const SEE_ALSO: &'static [&'static str] = &["trawl-search(1)", "trawl-run(1)", "ssh(1)"];

    fn run(&self, setting: Setting<'_>) -> Result<Exit, Failure> {
        match self.http.http.is_empty() {
            true => run(setting.index, self),
            false => Err(http::serve(&setting, self)?),
        }
    }
}

/// Runs the command.
pub(crate) fn run(index: Option<PathBuf>, args: &ServeArgs) -> Result<Exit, Failure> {
    match () {
        () if args.stdio => stdio(index, args),
        () if args.worker => {
            let serving = serving(index, args)?;
            own::start().map_err(unrecorded)?;
            trawl_remote::listen::work(input()?, &serving, published::worker_profile)?;
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
    serves::exports(args.restrict, &args.export)
}

fn serving(index: Option<PathBuf>, args: &ServeArgs) -> Result<Serving, Failure> {
    let commands = commands(index.as_deref())?;
    let served = Served {
        index,
        exports: exports(args)?,
        stall: args.stall,
        directories: args.watched_directories,
        delay: Duration::from_millis(args.delay),
        commands,
    };
    Ok(served.serving())
}

/// Variables of a server that the programs it starts need: where the user's index is, and where
/// programs are.
const KEPT_VARIABLES: [&str; 6] = [
    "HOME",
    "LOGNAME",
    "PATH",
    "TRAWL_INDEX",
    "USER",
    "XDG_DATA_HOME",
];

/// Returns how command lines are answered: by this program, which is told so and then refuses
/// everything but questions.
fn commands(index: Option<&Path>) -> Result<Commands, Failure> {
    let kept = KEPT_VARIABLES
        .iter()
        .filter_map(|name| Some((name.into(), std::env::var_os(name)?)));
    let index = index.map(|index| ["--index".into(), index.into()]);
    let words = index.into_iter().flatten().chain([ANSWER.into()]);
    Ok(Commands {
        program: own_program()?,
        words: words.collect(),
        variables: kept.collect(),
    })
}

fn own_program() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|source| Failure::File {
        action: "find",
        path: "this program".into(),
        source,
    })
}

fn unusable(source: std::io::Error) -> Failure {
    Failure::File {
        action: "use",
        path: "standard input and output".into(),
        source,
    }
}

fn unrecorded(error: trawl_profile::ProfileError) -> Failure {
    Failure::Usage(error.to_string())
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
    let program = own_program()?;
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
    let processes = Arc::new(Processes::new(own::start().map_err(unrecorded)?));
    let ours = Arc::clone(&processes);
    let read = move || ours.read("trawl serve");
    let file = args.metrics_file.as_ref();
    let file = file.map(|path| MetricsFile::keep(path, Arc::new(read)));
    let file = file.transpose()?;
    let learn = |told: Told<'_>| processes.learn(&told);
    serves::listen(&sockets(args, program), &worker, crowd, &teller(), &learn)?;
    if let Some(file) = file {
        file.renew();
    }
    Ok(Exit::Complete)
}

fn sockets(args: &ServeArgs, program: PathBuf) -> Sockets {
    Sockets {
        listen: args.listen.clone(),
        listen_chirp: args.listen_chirp.clone(),
        chirp_user: args.chirp_user.clone(),
        cert: args.cert.clone(),
        key: args.key.clone(),
        client_ca: args.client_ca.clone(),
        users: args.users.clone(),
        tls_user: args.tls_user.clone(),
        front: Worker {
            program,
            words: ["serve", "--tls-front"].map(OsString::from).into(),
        },
        connections: args.connections,
    }
}

/// Returns the words with which each user's process is started.
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
