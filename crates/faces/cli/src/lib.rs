//! The `trawl` program: parses the command line, runs a command and reports how it ended.
//!
//! | module | contents |
//! |---|---|
//! | [`exit`] | exit codes and how they combine |
//! | `commands` | what commands declare, for the table of commands below |
//! | `forms` | `--json` and other options about the form of answers |
//! | `arguments` | the command line, and the arguments that belong to `find` |
//! | `output`, `failure` | standard output, error messages |
//! | `own` | recording the operations of this process: `--profile`, metrics of daemons and servers |
//! | `again` | asking again when index files disappear |
//! | `scope` | sessions of questions ([`trawl_session`]) that report on standard error and end in an exit code |
//! | `live` | signals of questions |
//! | `answer` | receiving typed answers ([`trawl_answers`]) |
//! | `serve` | answering searches from other machines |
//! | `remote` | command lines that another machine answers, or is answered here |
//! | `run` | commands that see trees of other machines |
//! | `index`, `sources`, `watch` | writing the index, managing it, keeping it up to date |
//! | `set` | sets: their members, and a command for each |
//! | `find`, `grep`, `locate`, `search`, `ls`, `stat`, `du`, `stats`, `top`, `duplicates`, `getfattr`, `quota` | the questions |
//! | `diff`, `history`, `growth` | questions about several snapshots |
//! | `hooks` | hooks that find attributes and words in files |
//! | `related` | files related to a file |
//! | `groups` | files that belong together |
//! | `view` | questions that are directories |
//! | `profile` | latency profiles: recorded, shown, compared |
//! | `report` | a report as a page or as mail |
//! | [`sql`] | options of `sql` and `export`, which the program `trawl-sql` runs |
//! | `mcp`, `web` | options of `mcp` and `web`, which the programs `trawl-mcp` and `trawl-http` run |
//! | `token` | secrets of the service for many users |
//! | `beside` | programs beside `trawl`, and hand-overs to them |
//! | `rows` | formats of answers, besides those of `trawl-report` |
//! | [`reports`] | what commands print for programs |
//! | [`generate`], `manual` | completions and man pages, and the sections of man pages besides options |
//!
//! Invariants: results go to standard output, everything else to standard error; every command ends
//! as an [`exit::Exit`]; no module knows how the index is stored.

#![forbid(unsafe_code)]

mod again;
mod answer;
mod arguments;
mod attr;
mod attributes;
mod beside;
mod commands;
mod diff;
mod documents;
mod du;
mod duplicates;
pub mod exit;
pub mod export;
mod failure;
mod find;
mod foresight;
mod forms;
pub mod generate;
mod getfattr;
mod grep;
mod groups;
mod growth;
mod history;
mod hooks;
mod index;
mod live;
mod locate;
mod ls;
mod manual;
mod mcp;
mod members;
mod output;
mod own;
mod profile;
mod quota;
mod related;
mod remote;
mod report;
pub mod reports;
mod rows;
mod run;
mod scope;
mod search;
mod serve;
mod set;
mod snapshots;
mod sources;
pub mod sql;
mod stat;
mod stats;
mod token;
mod top;
mod unlocked;
mod view;
mod watch;
mod web;

use std::ffi::OsString;

use trawl_report::{block_size, csv, table, time_look, width};
use trawl_session::{at, freshness as fresh, settings};

use arguments::Arguments;
use beside::More;
use commands::{Class, Setting};
use exit::Exit;
use failure::Failure;
use output::{end_quietly_on_closed_pipe, print_about_words, say};

// The commands, in the order of the list of commands. A new one is a module above and a row here.
commands::commands! {
    "index" Index index::IndexArgs;
    "sources" Sources sources::SourcesArgs;
    "watch" Watch watch::WatchArgs;
    "serve" Serve serve::ServeArgs;
    "run" Run run::RunArgs;
    "mount" Mount run::MountArgs;
    "unmount" Unmount run::UnmountArgs;
    "view" View view::ViewArgs;
    "verify" Verify index::upkeep::VerifyArgs;
    "gc" Gc index::upkeep::GcArgs;
    "find" Find find::FindArgs;
    "locate" Locate locate::LocateArgs;
    "grep" Grep grep::GrepArgs;
    "search" Search search::SearchArgs;
    "set" Set set::SetArgs;
    "ls" Ls ls::LsArgs;
    "stat" Stat stat::StatArgs;
    "du" Du du::DuArgs;
    "getfattr" Getfattr getfattr::GetfattrArgs;
    "stats" Stats stats::StatsArgs;
    "report" Report report::ReportArgs;
    "web" Web web::WebArgs;
    "token" Token token::TokenArgs;
    "mcp" Mcp mcp::McpArgs;
    "sql" Sql sql::SqlArgs;
    "export" Export sql::ExportArgs;
    "top" Top top::TopArgs;
    "quota" Quota quota::QuotaArgs;
    "duplicates" Duplicates duplicates::DuplicatesArgs;
    "diff" Diff diff::DiffArgs;
    "history" History history::HistoryArgs;
    "growth" Growth growth::GrowthArgs;
    "groups" Groups groups::GroupsArgs;
    "hooks" Hooks hooks::HooksArgs;
    "related" Related related::RelatedArgs;
    "attr" Attr attr::AttrArgs;
    "profile" Profile profile::ProfileArgs;
    "help" Help arguments::HelpArgs;
    "completions" Completions generate::CompletionsArgs;
    "man" Man generate::ManArgs;
}

impl Command {
    /// Returns whether another program executes the command, and so records it.
    fn is_handed_over(&self) -> bool {
        matches!(
            self,
            Command::Sql(_) | Command::Export(_) | Command::Mcp(_) | Command::Web(_)
        )
    }
}

/// Minimum stack size in bytes: with less, the program runs on a thread that has this much. Scripts
/// lower the limit to make find build shorter command lines.
const STACK_BYTES: usize = 4 << 20;

/// What only `trawl-more` contains. `trawl` does not refer to it, so the linker leaves it out there.
static MORE: More = More {
    profile: profile::run,
    queries: members::queries,
    arrow: rows::arrow,
};

/// Runs the program `trawl`, and returns how it ended.
pub fn trawl() -> Exit {
    on_enough_stack(|| run_as(std::env::args_os().collect()))
}

/// Runs the program `trawl-more`, to which `trawl` hands over, and returns how it ended.
pub fn trawl_more() -> Exit {
    on_enough_stack(|| run(std::env::args_os().collect()))
}

fn on_enough_stack(run: fn() -> Exit) -> Exit {
    if trawl_sys::process::stack_limit() >= STACK_BYTES as u64 {
        return run();
    }
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
    match thread.spawn(run).map(std::thread::JoinHandle::join) {
        Ok(Ok(exit)) => exit,
        Ok(Err(panic)) => std::panic::resume_unwind(panic),
        Err(_) => run(),
    }
}

/// Runs the program with these words, the first being its own name, and returns how it ended. No
/// other program is needed but `trawl-sql`.
pub fn run(words: Vec<OsString>) -> Exit {
    beside::have(&MORE);
    run_as(words)
}

fn run_as(words: Vec<OsString>) -> Exit {
    let exit = loop {
        match ask(words.clone()) {
            Some(exit) => break exit,
            None => again::begin(),
        }
    };
    again::write_held_back();
    output::write_gathered();
    own::finish();
    exit
}

/// Runs the program once; `None` if the question must be asked again.
fn ask(words: Vec<OsString>) -> Option<Exit> {
    let given = words.clone();
    let arguments = match arguments::parse(words) {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version are not errors and go to standard output.
            if !error.use_stderr() {
                if trawl_sys::process::stdout_is_closed() {
                    say("cannot write to standard output: bad file descriptor");
                    return Some(Exit::Fatal);
                }
                end_quietly_on_closed_pipe();
            }
            let written = print_about_words(&error);
            if let Err(why) = &written
                && !error.use_stderr()
            {
                let why = failure::cause(why);
                say(format_args!("cannot write to standard output: {why}"));
            }
            if error.use_stderr()
                && let Some(hint) = arguments::hint(&given)
            {
                say(hint);
            }
            return Some(match error.use_stderr() || written.is_err() {
                true => Exit::Fatal,
                false => Exit::Complete,
            });
        }
    };
    match remote::elsewhere(&arguments, &given) {
        Ok(None) => {}
        Ok(Some(exit)) => return Some(exit),
        Err(failure) if failure.is_closed_pipe() => return Some(Exit::Complete),
        Err(failure) => {
            say(&failure);
            return Some(failure.exit());
        }
    }
    let class = arguments.command.class();
    let writes = class == Class::Writer;
    let is_question = class == Class::Question;
    Some(match dispatch(arguments, &given) {
        Err(failure) if is_question && again::is_possible(&failure) => return None,
        // Interrupts are recorded only where there was something to clean up.
        Ok(_) if !writes && live::is_interrupted() => Exit::Interrupted,
        Ok(exit) => exit,
        // SIGPIPE could not end the process where there was something to clean up.
        Err(failure) if failure.is_closed_pipe() && !writes => Exit::Complete,
        Err(failure) => {
            say(&failure);
            failure.exit()
        }
    })
}

fn dispatch(arguments: Arguments, words: &[OsString]) -> Result<Exit, Failure> {
    let Arguments {
        index,
        manner,
        profile,
        command,
        answers,
        ..
    } = arguments;
    let setting = Setting {
        index,
        manner,
        words,
        answers,
    };
    let profile = profile.filter(|_| !command.is_handed_over());
    if profile.is_some() || words.iter().any(|word| word == "--arrow") {
        beside::need_more(&setting)?;
    }
    if let Some(path) = profile {
        own::begin(&path, words)?;
    }
    if manner.at.is_some() && command.class() != Class::Question {
        let text = "--at is only for questions about files: leave it out";
        return Err(Failure::Usage(text.into()));
    }
    if !matches!(command.class(), Class::Writer | Class::Server) {
        end_quietly_on_closed_pipe();
    }
    command.run(setting)
}
