//! `trawl web`: its options, and the hand-over to the program `trawl-http`, which serves a browser.
//!
//! That program contains the HTTP server and the page, which no other command needs. It runs this
//! program for each question.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::beside;
use crate::commands::{Class, Setting, Spec};
use crate::exit::Exit;
use crate::failure::Failure;

/// Name of the program.
const PROGRAM: &str = "trawl-http";

const HELP: &str = "\
Prints a link, and serves a page and an API (docs/web.md) until Ctrl-C: search as
you type, where the space has gone, what changed, SQL. Whoever opens the link asks
as the user who runs the command. The link holds once, for 10 minutes; on a
terminal, Enter prints another one. Nothing can be changed through the page.

Only this machine can reach the server. From elsewhere:
  ssh -t -L 8300:127.0.0.1:8300 SERVER trawl web --listen 127.0.0.1:8300

Examples:
  trawl web                            print a link for a browser
  trawl -i DIR web                     answer from the index in DIR
  trawl web --token-file ~/.trawl-token --listen 127.0.0.1:8300
                                       let programs ask, too, such as curl with
                                       the header Authorization: Bearer TOKEN";

// Options of `trawl web`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct WebArgs {
    /// Listen on this address of this machine; port 0 is any free one [default: 127.0.0.1:0]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Accept the token in FILE from programs; only its owner may read FILE
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Answer a question after TIME, with what has been found so far [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = parse_limit)]
    time_limit: Option<Duration>,
}

/// Parses the time that an answer may take.
pub(crate) fn parse_limit(text: &str) -> Result<Duration, String> {
    match crate::fresh::parse_time(text)? {
        Duration::ZERO => Err("it must be longer than 0".to_owned()),
        time => Ok(time),
    }
}

impl Spec for WebArgs {
    const ABOUT: &'static str = "Search and look around in a browser";
    const CLASS: Class = Class::Server;
    const SEE_ALSO: &'static [&'static str] = &["trawl-find(1)", "trawl-mcp(1)", "trawl-sql(1)"];

    fn run(&self, setting: Setting<'_>) -> Result<Exit, Failure> {
        beside::records_nothing(&setting, "web")?;
        let listen = self.listen.map(|address| address.to_string().into());
        let token_file = self.token_file.clone().map(PathBuf::into_os_string);
        let words = [
            ("--listen=", listen),
            ("--token-file=", token_file),
            ("--time-limit=", self.time_limit.map(beside::milliseconds)),
        ];
        Err(beside::serve(PROGRAM, &setting, words))
    }
}
