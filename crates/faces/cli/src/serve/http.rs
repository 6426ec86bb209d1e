//! `trawl serve --http`: its options, and the hand-over to the program `trawl-http`, which serves many
//! users.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::beside;
use crate::commands::Setting;
use crate::failure::Failure;

use super::ServeArgs;

/// Name of the program.
const PROGRAM: &str = "trawl-http";
/// The word that makes it serve many users.
const MANY: &str = "--many";

// The options of `trawl serve --http`.
#[derive(Debug, clap::Args)]
pub(super) struct HttpArgs {
    /// Serve a page and an API over HTTPS, to each user as that user (docs/web.md)
    ///
    /// ADDRESS is ADDRESS:PORT, or unix:PATH for a proxy, which names its users in the header
    /// --proxy-header and is believed. May be given several times.
    #[arg(
        long,
        value_name = "ADDRESS",
        group = "where",
        value_parser = Address::parse,
        conflicts_with_all = ["stdio", "listen", "listen_chirp"]
    )]
    pub(super) http: Vec<Address>,
    /// For http, let users log in with their passwords, checked by the PAM service SERVICE
    #[arg(long, value_name = "SERVICE", requires = "http")]
    pam: Option<String>,
    /// Read the configuration of PAM services from DIR
    #[arg(long, value_name = "DIR", requires = "pam", hide = true)]
    pam_directory: Option<PathBuf>,
    /// For http, let users log in at the provider of OpenID Connect that FILE names (docs/web.md)
    #[arg(long, value_name = "FILE", requires = "http")]
    oidc: Option<PathBuf>,
    /// For http, believe proxies which user asks in the header NAME [default: x-remote-user]
    #[arg(long, value_name = "NAME", requires = "http")]
    proxy_header: Option<String>,
    /// For http, keep sessions and tokens in DIR [default: /var/lib/trawl-http]
    #[arg(long, value_name = "DIR", requires = "http")]
    sessions: Option<PathBuf>,
    /// For http, append a line of JSON for each question and login to FILE
    ///
    /// It says who asked what, when, for how long and with how many rows, and contains no answers.
    #[arg(long, value_name = "FILE", requires = "http")]
    record: Option<PathBuf>,
    /// For http, answer a question after TIME, with what has been found so far [default: 30s]
    #[arg(long, value_name = "TIME", requires = "http", value_parser = crate::web::parse_limit)]
    time_limit: Option<Duration>,
    /// For http, send each user at most SIZE in an hour [default: no limit]
    ///
    /// Beyond that, questions are refused until a part of the hour has passed, and whole answers break
    /// off. The suffixes k, M, G and T stand for powers of 1024.
    #[arg(long, value_name = "SIZE", requires = "http", value_parser = crate::duplicates::size)]
    hourly_bytes: Option<u64>,
    /// For http, send each user at most NUMBER rows of answers in an hour [default: no limit]
    ///
    /// It holds as --hourly-bytes does, and both can be given.
    #[arg(
        long,
        value_name = "NUMBER",
        requires = "http",
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    hourly_rows: Option<u64>,
}

/// Where HTTP is spoken.
#[derive(Clone, Debug)]
pub(super) enum Address {
    /// TLS over TCP.
    Tls(SocketAddr),
    /// A socket for a proxy.
    Proxy(PathBuf),
}

impl Address {
    fn parse(text: &str) -> Result<Address, String> {
        match text.strip_prefix("unix:") {
            Some(path) if Path::new(path).is_absolute() => Ok(Address::Proxy(path.into())),
            Some(_) => Err("the path after unix: must be absolute".to_owned()),
            None => text.parse().map(Address::Tls).map_err(|_| {
                "it must be ADDRESS:PORT, such as 0.0.0.0:8443 or [::]:8443, or unix:PATH"
                    .to_owned()
            }),
        }
    }
}

/// Replaces this process by the program. Returns only if that fails.
pub(super) fn serve(setting: &Setting<'_>, args: &ServeArgs) -> Result<Failure, Failure> {
    beside::records_nothing(setting, "serve --http")?;
    let http = &args.http;
    let name = |path: &Path| Some(path.as_os_str().to_owned());
    let text = |text: &Option<String>| text.as_ref().map(OsString::from);
    let addresses = http.http.iter().map(|address| match address {
        Address::Tls(address) => ("--listen=", Some(address.to_string().into())),
        Address::Proxy(path) => ("--proxy=", name(path)),
    });
    // The authorities in the usual place count if they are there.
    let is_usual = args.client_ca == Path::new(super::CLIENT_CA);
    let client_ca = (!is_usual || args.client_ca.exists()).then_some(&*args.client_ca);
    let words = [
        ("--cert=", name(&args.cert)),
        ("--key=", name(&args.key)),
        ("--client-ca=", client_ca.and_then(name)),
        ("--users=", name(&args.users)),
        ("--user=", Some(args.tls_user.clone().into())),
        ("--pam=", text(&http.pam)),
        (
            "--pam-directory=",
            http.pam_directory.as_deref().and_then(name),
        ),
        ("--oidc=", http.oidc.as_deref().and_then(name)),
        ("--proxy-header=", text(&http.proxy_header)),
        ("--state=", http.sessions.as_deref().and_then(name)),
        ("--record=", http.record.as_deref().and_then(name)),
        ("--time-limit=", http.time_limit.map(beside::milliseconds)),
        (
            "--hourly-bytes=",
            http.hourly_bytes.map(|bytes| bytes.to_string().into()),
        ),
        (
            "--hourly-rows=",
            http.hourly_rows.map(|rows| rows.to_string().into()),
        ),
    ];
    Ok(beside::serve_as(
        PROGRAM,
        Some(MANY),
        setting,
        words.into_iter().chain(addresses),
    ))
}
