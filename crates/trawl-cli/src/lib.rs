//! The `trawl` program: parses the command line, runs a command and reports how it ended.
//!
//! | module | contents |
//! |---|---|
//! | [`exit`] | exit codes and how they combine |
//! | `arguments` | the command line, and the arguments that belong to `find` |
//! | `output`, `failure` | standard output, error messages |
//! | `again` | asking again when index files disappear |
//! | `scope` | sessions of questions ([`trawl_session`]) that report on standard error and end in an exit code |
//! | `live` | signals of questions |
//! | `answer` | receiving typed answers ([`trawl_answers`]) |
//! | `serve` | answering searches from other machines |
//! | `run` | commands that see trees of other machines |
//! | `index`, `sources`, `watch` | writing the index, managing it, keeping it up to date |
//! | `find`, `locate`, `search`, `ls`, `stat`, `du`, `stats`, `top`, `duplicates`, `getfattr` | the questions |
//! | `diff`, `history`, `growth` | questions about several snapshots |
//! | [`sql`] | options of `sql` and `export`, and starting the program that runs them |
//! | `table`, `rows`, `csv`, `block_size`, `time_look`, `width` | formats of answers |
//! | [`generate`], `manual` | completions and man pages, and the sections of man pages besides options |
//!
//! Invariants: results go to standard output, everything else to standard error; every command ends
//! as an [`exit::Exit`]; no module knows how the index is stored.

#![forbid(unsafe_code)]

mod again;
mod answer;
mod arguments;
mod block_size;
mod csv;
mod diff;
mod du;
mod duplicates;
pub mod exit;
mod failure;
mod find;
pub mod generate;
mod getfattr;
mod growth;
mod history;
mod index;
mod live;
mod locate;
mod ls;
mod manual;
mod output;
mod rows;
mod run;
mod scope;
mod search;
mod serve;
mod snapshots;
mod sources;
pub mod sql;
mod stat;
mod stats;
mod table;
mod time_look;
mod top;
mod watch;
mod width;

use std::ffi::OsString;

use trawl_find::resolve;
use trawl_session::{at, freshness as fresh, settings};

use arguments::{Arguments, Command};
use exit::Exit;
use failure::Failure;
use output::{end_quietly_on_closed_pipe, print_about_words, say};

/// Runs the program with these words, the first being its own name, and returns how it ended.
pub fn run(words: Vec<OsString>) -> Exit {
    let exit = loop {
        match ask(words.clone()) {
            Some(exit) => break exit,
            None => again::begin(),
        }
    };
    again::write_held_back();
    exit
}

/// Runs the program once; `None` if the question must be asked again.
fn ask(words: Vec<OsString>) -> Option<Exit> {
    let given = words.clone();
    let arguments = match arguments::parse(words) {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version are not errors and go to standard output.
            if !error.use_stderr() && trawl_sys::process::stdout_is_closed() {
                say("cannot write to standard output: bad file descriptor");
                return Some(Exit::Fatal);
            }
            let written = print_about_words(&error);
            if let Err(why) = &written
                && !error.use_stderr()
            {
                say(format_args!("cannot write to standard output: {why}"));
            }
            if error.use_stderr()
                && let Some(hint) = arguments::expression_hint(&given)
            {
                say(hint);
            }
            return Some(match error.use_stderr() || written.is_err() {
                true => Exit::Fatal,
                false => Exit::Complete,
            });
        }
    };
    let writes = matches!(arguments.command, Command::Index(_) | Command::Watch(_));
    let is_question = arguments.command.is_question();
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
        command,
    } = arguments;
    if manner.at.is_some() && !command.is_question() {
        let text = "--at is only for questions about files: leave it out";
        return Err(Failure::Usage(text.into()));
    }
    let cleans_up = matches!(command, Command::Index(_) | Command::Watch(_));
    let serves = matches!(
        command,
        Command::Serve(_) | Command::Run(_) | Command::Mount(_)
    );
    if !cleans_up && !serves {
        end_quietly_on_closed_pipe();
    }
    match command {
        Command::Index(args) => index::run(index, &args),
        Command::Sources(args) => sources::run(index, &args),
        Command::Watch(args) => watch::run(index, &args),
        Command::Serve(args) => serve::run(index, &args),
        Command::Run(args) => Ok(run::run(index, &args)),
        Command::Mount(args) => run::mount(&args),
        Command::Unmount(args) => run::unmount(&args),
        Command::Verify(args) => index::upkeep::verify(&settings::index_dir(index)?, args.json),
        Command::Gc(args) => {
            let dir = settings::index_dir(index)?;
            let act = match args.dry_run {
                true => index::upkeep::tell_all,
                false => index::upkeep::collect_all,
            };
            act(&dir, &args.retention, args.json)
        }
        Command::Find(args) => find::run(index, &args.arguments, args.called, manner),
        Command::Locate(args) => locate::run(index, &args, manner),
        Command::Search(args) => search::run(index, &args, manner),
        Command::Du(args) => du::run(index, &args, manner),
        Command::Ls(args) => ls::run(index, &args, manner),
        Command::Stat(args) => stat::run(index, &args, manner),
        Command::Getfattr(args) => getfattr::run(index, &args, manner),
        Command::Stats(args) => stats::run(index, &args, manner),
        Command::Sql(_) | Command::Export(_) => Err(sql::hand_over(words)),
        Command::Top(args) => top::run(index, &args, manner),
        Command::Duplicates(args) => duplicates::run(index, &args, manner),
        Command::Diff(args) => diff::run(index, &args, manner),
        Command::History(args) => history::run(index, &args, manner),
        Command::Growth(args) => growth::run(index, &args, manner),
        // `parse` has already read this as the command's `--help`.
        Command::Help { .. } => Ok(Exit::Complete),
        Command::Completions { shell } => generate::print_completions(shell),
        Command::Man(args) => generate::man(&args),
    }
}
