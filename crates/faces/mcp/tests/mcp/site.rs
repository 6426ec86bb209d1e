//! The server, and what asks it.

use std::ffi::OsStr;

use serde_json::{Map, Value};
use trawl_testkit::oracle::{self, Identity};
use trawl_testkit::site::{Site, StandIn};

use crate::client::Client;

/// The server.
pub(crate) const SERVER: &str = env!("CARGO_BIN_EXE_trawl-mcp");

/// Questions to a tree, through `trawl mcp` and on the command line.
pub(crate) trait Ask {
    /// Starts `trawl mcp`.
    fn client(&self) -> Client;

    /// Returns the rows that a command line prints.
    fn rows<A: AsRef<OsStr>>(&self, words: &[A]) -> Vec<Map<String, Value>>;
}

impl Ask for Site {
    fn client(&self) -> Client {
        Client::start(self.command(&Identity::Ourselves).arg("mcp"))
    }

    #[track_caller]
    fn rows<A: AsRef<OsStr>>(&self, words: &[A]) -> Vec<Map<String, Value>> {
        let ran = oracle::run(self.command(&Identity::Ourselves).args(words));
        let lines = ran.stdout.split(|byte| *byte == b'\n');
        let lines = lines.filter(|line| !line.is_empty());
        lines
            .map(|line| serde_json::from_slice(line).expect("JSON"))
            .collect()
    }
}

/// Starts the server with a stand-in.
pub(crate) fn stand_in_client(stand_in: &StandIn, options: &[&str]) -> Client {
    Client::start(&mut stand_in.command(SERVER, options))
}
