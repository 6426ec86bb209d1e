//! `trawl mcp`: its options, and the hand-over to the program `trawl-mcp`, which serves an assistant.
//!
//! That program contains the runtime and the protocol, which no other command needs. It runs this
//! program for each question.

use std::io::IsTerminal;
use std::time::Duration;

use crate::beside;
use crate::commands::{Class, Setting, Spec};
use crate::exit::Exit;
use crate::failure::Failure;

/// Name of the program.
const PROGRAM: &str = "trawl-mcp";

const HELP: &str = "\
Speaks the Model Context Protocol on standard input and output: a client starts
the command. Its tools find, list and rank files, sum up sizes, find duplicates,
query SQL and search contents. All of them only read, as the user who runs the
command. Each question is a command of trawl, run without a shell.

Examples:
  claude mcp add trawl -- trawl mcp    let an assistant ask
  trawl -i DIR mcp                     answer from the index in DIR";

// Options of `trawl mcp`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct McpArgs {
    /// Answer a call after TIME, with what has been found so far [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = crate::fresh::parse_time)]
    time_limit: Option<Duration>,
    /// Close answers that nobody has continued for TIME [default: 5m]
    #[arg(long, value_name = "TIME", value_parser = crate::fresh::parse_time)]
    silence: Option<Duration>,
}

impl Spec for McpArgs {
    const ABOUT: &'static str = "Answer the questions of an assistant (MCP)";
    const CLASS: Class = Class::Server;
    const SEE_ALSO: &'static [&'static str] = &["trawl-find(1)", "trawl-sql(1)", "trawl-serve(1)"];

    fn run(&self, setting: Setting<'_>) -> Result<Exit, Failure> {
        beside::records_nothing(&setting, "mcp")?;
        if std::io::stdin().is_terminal() {
            let text = "mcp speaks to a program on standard input: let a client start it, such as \
                        claude mcp add trawl -- trawl mcp";
            return Err(Failure::Usage(text.into()));
        }
        let limits = [
            ("--time-limit=", self.time_limit),
            ("--silence=", self.silence),
        ];
        let words = limits.map(|(name, time)| (name, time.map(beside::milliseconds)));
        Err(beside::serve(PROGRAM, &setting, words))
    }
}
