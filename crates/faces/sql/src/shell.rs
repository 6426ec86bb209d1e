//! The interactive shell: lines with history and completion, statements over several lines, and a
//! few commands of its own.

use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;

use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Config, Editor};
use trawl_cli::exit::Exit;

use crate::ask::{Manner, Timing, run_one};
use crate::complete::Assistant;
use crate::error::{Result, SqlError};
use crate::functions;
use crate::output;
use crate::session::Engine;
use crate::tables::{TABLES, TableInfo};

const HELP: &str = "\
Statements end with a semicolon and may take several lines. Commands:
  \\d           list the tables
  \\d TABLE     list a table's columns
  \\df          list the functions
  \\timing      switch the display of statement times on or off
  \\q           leave (also Ctrl-D)
  \\?           this help (also .help)
Ctrl-C ends a statement, not the shell.
";

/// The prompt of a first line.
const PROMPT: &str = "trawl> ";
/// The prompt of a continuation line.
const CONTINUATION_PROMPT: &str = "  ...> ";

/// Maximum number of history lines.
const HISTORY_LINES: usize = 10_000;

/// A classified line of input.
#[derive(Debug, PartialEq, Eq)]
enum Line<'a> {
    /// An empty line.
    Empty,
    /// A command of the shell.
    Command(&'a str),
    /// SQL.
    Statements(&'a str),
}

fn sort_out(line: &str) -> Line<'_> {
    let text = line.trim();
    match text.chars().next() {
        None => Line::Empty,
        Some('\\' | '.') => Line::Command(text),
        Some(_) if matches!(text, "quit" | "exit" | "help") => Line::Command(text),
        Some(_) => Line::Statements(text),
    }
}

/// Returns true if the input can be run: a command, or statements with a final semicolon.
fn is_whole(text: &str) -> bool {
    match sort_out(text) {
        Line::Empty | Line::Command(_) => true,
        Line::Statements(text) => ends_outside(text),
    }
}

/// Returns true if the text ends with a semicolon outside quotes and comments.
fn ends_outside(text: &str) -> bool {
    let mut ended = false;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' | '"' => {
                ended = false;
                if !letters.by_ref().any(|other| other == letter) {
                    return false;
                }
            }
            '-' if letters.peek() == Some(&'-') => {
                letters.by_ref().find(|other| *other == '\n');
            }
            '/' if letters.peek() == Some(&'*') => {
                let mut last = ' ';
                letters.next();
                if !letters
                    .by_ref()
                    .any(|next| std::mem::replace(&mut last, next) == '*' && next == '/')
                {
                    return false;
                }
            }
            ';' => ended = true,
            letter if letter.is_whitespace() => {}
            _ => ended = false,
        }
    }
    ended
}

/// Whether the shell continues.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    GoOn,
    Leave,
}

/// Runs until the user leaves.
pub(crate) fn run(engine: &mut Engine, mut manner: Manner) -> Result<Exit> {
    let mut editor = editor()?;
    let history = history_file();
    if let Some(file) = &history {
        // The file may not exist yet.
        let _ = editor.load_history(file);
    }
    eprintln!("trawl sql {}; \\? for help", env!("CARGO_PKG_VERSION"));
    loop {
        let line = match read(&mut editor) {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(SqlError::Usage(format!("cannot read a line: {error}"))),
        };
        if !line.trim().is_empty() {
            let _ = editor.add_history_entry(line.trim());
            keep(&mut editor, history.as_ref());
        }
        match act(engine, &mut manner, &line) {
            Ok(Next::GoOn) => {}
            Ok(Next::Leave) => break,
            Err(error) if error.is_closed_pipe() => return Err(error),
            Err(error) => {
                output::say(&error);
                if matches!(error, SqlError::Interrupted | SqlError::TimedOut { .. }) {
                    engine.renew()?;
                }
            }
        }
    }
    Ok(Exit::Complete)
}

/// Reads a command, or statements up to a final semicolon, over as many lines as needed.
fn read(editor: &mut Editor<Assistant, FileHistory>) -> rustyline::Result<String> {
    let mut text = editor.readline(PROMPT)?;
    while !is_whole(&text) {
        text.push('\n');
        text.push_str(&editor.readline(CONTINUATION_PROMPT)?);
    }
    Ok(text)
}

fn editor() -> Result<Editor<Assistant, FileHistory>> {
    let failed = |error| SqlError::Usage(format!("cannot use the terminal: {error}"));
    let config = Config::builder()
        .completion_type(CompletionType::List)
        .auto_add_history(false)
        .max_history_size(HISTORY_LINES)
        .map_err(failed)?
        .build();
    let mut editor = Editor::with_config(config).map_err(failed)?;
    editor.set_helper(Some(Assistant::new()));
    Ok(editor)
}

/// Returns the path of the history file, readable by the user alone, in `$XDG_STATE_HOME/trawl` or
/// `~/.local/state/trawl`.
fn history_file() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let state = match set("XDG_STATE_HOME").map(PathBuf::from) {
        Some(path) if path.is_absolute() => path,
        _ => PathBuf::from(set("HOME")?).join(".local/state"),
    };
    let dir = state.join("trawl");
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(&dir).ok()?;
    Some(dir.join("sql_history"))
}

/// Writes the history; a failure is ignored.
fn keep(editor: &mut Editor<Assistant, FileHistory>, file: Option<&PathBuf>) {
    if let Some(file) = file {
        let mut options = std::fs::OpenOptions::new();
        let _ = options.create(true).append(true).mode(0o600).open(file);
        let _ = editor.save_history(file);
    }
}

fn act(engine: &Engine, manner: &mut Manner, line: &str) -> Result<Next> {
    match sort_out(line) {
        Line::Empty => Ok(Next::GoOn),
        Line::Command(text) => command(manner, text),
        Line::Statements(text) => {
            for statement in Engine::parse(text)? {
                run_one(engine, statement, *manner, None)?;
            }
            Ok(Next::GoOn)
        }
    }
}

fn command(manner: &mut Manner, text: &str) -> Result<Next> {
    let text = text.trim_end_matches(';').trim();
    let mut words = text.split_whitespace();
    let (name, argument) = (words.next().unwrap_or_default(), words.next());
    match (name, argument) {
        ("\\q" | ".quit" | ".exit" | "quit" | "exit", _) => return Ok(Next::Leave),
        ("\\?" | "\\h" | ".help" | "help", _) => print(HELP)?,
        ("\\d" | ".tables" | ".schema", None) => print(&list_tables())?,
        ("\\d" | ".schema", Some(name)) => {
            let of_it = |info: &&TableInfo| info.name == name;
            match TABLES.iter().find(of_it) {
                Some(info) => print(&list_columns(info))?,
                None => output::say(format_args!("there is no table {name}; \\d lists them")),
            }
        }
        ("\\df" | ".functions", _) => print(&list_functions())?,
        ("\\timing" | ".timing" | ".timer", _) => {
            manner.timing = match manner.timing {
                Timing::On => Timing::Off,
                Timing::Off => Timing::On,
            };
            let now = if manner.timing == Timing::On {
                "on"
            } else {
                "off"
            };
            print(&format!("timing is {now}\n"))?;
        }
        (name, _) => output::say(format_args!("there is no command {name}; \\? lists them")),
    }
    Ok(Next::GoOn)
}

fn print(text: &str) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
        .map_err(SqlError::Write)
}

fn list_tables() -> String {
    let line = |info: &TableInfo| format!("{:<16} {}\n", info.name, info.doc);
    TABLES.iter().map(line).collect()
}

fn list_columns(info: &TableInfo) -> String {
    let columns = info.table.columns().into_iter();
    let line = |one: crate::tables::TableColumn| {
        format!("{:<14} {:<13} {}\n", one.name, one.kind.name(), one.doc)
    };
    columns.map(line).collect()
}

fn list_functions() -> String {
    let functions = functions::every();
    functions
        .map(|info| format!("{:<26} {}\n", info.usage, info.doc))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_whole_at_its_semicolon() {
        for whole in [
            "select 1;",
            "\\d",
            ".help",
            "",
            "select ';';",
            "select 1; -- x",
            "select 1;\n",
            "/* it's **/ select 1; /* one */",
        ] {
            assert!(is_whole(whole), "{whole:?}");
        }
        for part in [
            "select 1",
            "select ';",
            "select 1 --;",
            "select 1; select",
            "select '\n;",
            "select 1; /* not yet",
        ] {
            assert!(!is_whole(part), "{part:?}");
        }
    }
}
