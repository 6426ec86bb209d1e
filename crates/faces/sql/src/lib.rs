//! SQL over an index.
//!
//! | module | content |
//! |---|---|
//! | `catalog` | the index as one statement sees it: sources, snapshots, views |
//! | `tables` | the tables: their columns and how rows become columns |
//! | `areas`, `narrow` | the part of the index that a predicate leaves |
//! | `scan` | a table as a source of DataFusion's plans |
//! | `contents` | conditions on the contents of files |
//! | `files` | Parquet files of the command line as tables |
//! | `functions` | SQL functions, one file per group, and their registry |
//! | `session` | the configured engine; runs one statement from text to rows |
//! | `allowed` | the statements and plans that may run: only those that read |
//! | `output` | rows as text, JSON, CSV, Parquet, Arrow |
//! | `shell`, `complete` | the interactive shell |
//! | `export` | whole tables as files for other programs |
//!
//! Invariants: only data in files that the kernel lets this process open is shown (`trawl-query`
//! reads the index; this crate has no path logic); only files that the command line names, and
//! files of the index whose contents a statement asks about, are read, and only the former written; names that are not text never make a query fail.
#![forbid(unsafe_code)]

mod allowed;
mod areas;
mod ask;
mod catalog;
mod complete;
mod contents;
mod error;
mod export;
mod files;
mod functions;
mod narrow;
mod nesting;
mod output;
mod scan;
mod session;
mod shell;
mod tables;

use std::ffi::{OsStr, OsString};
use std::path::Path;

use trawl_cli::exit::Exit;
use trawl_cli::sql::{PROGRAM, Task, read};

pub use functions::help as function_help;
pub use tables::help as table_help;

/// Runs the program with these words, of which the first is its own name, and returns how it ended.
pub fn run(words: Vec<OsString>) -> Exit {
    let exit = execute(words);
    trawl_cli::sql::finish();
    exit
}

fn execute(words: Vec<OsString>) -> Exit {
    let order = match read(as_trawl(words)) {
        Ok(order) => order,
        Err(exit) => return exit,
    };
    let done = match &order.task {
        Task::Sql(args) => ask::run(&order, args),
        Task::Export(args) => export::run(&order, args),
    };
    match done {
        Ok(exit) => exit,
        Err(error) if error.is_closed_pipe() => Exit::Complete,
        Err(error) => {
            output::say(&error);
            error.exit()
        }
    }
}

/// Inserts `sql` behind the index options if the program was called by its own name; when `trawl`
/// calls it, all words are there already.
fn as_trawl(mut words: Vec<OsString>) -> Vec<OsString> {
    let name = words.first().map(Path::new).and_then(Path::file_name);
    if name != Some(OsStr::new(PROGRAM)) {
        return words;
    }
    words[0] = "trawl".into();
    let mut at = 1;
    while let Some(word) = words.get(at).map(|word| word.as_encoded_bytes()) {
        match word {
            b"-i" | b"--index" => at += 2,
            _ if word.starts_with(b"-i") || word.starts_with(b"--index=") => at += 1,
            _ => break,
        }
    }
    if words.get(at).is_none_or(|word| word != "export") {
        words.insert(at.min(words.len()), "sql".into());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_stands_where_trawl_has_it() {
        let read = |line: &str| {
            let words = as_trawl(line.split(' ').map(OsString::from).collect());
            words.join(OsStr::new(" ")).into_string().unwrap()
        };
        assert_eq!(read("/b/trawl-sql SELECT"), "trawl sql SELECT");
        assert_eq!(
            read("trawl-sql -i x --csv SELECT"),
            "trawl -i x sql --csv SELECT"
        );
        assert_eq!(read("trawl-sql --index=x export"), "trawl --index=x export");
        assert_eq!(read("trawl-sql -i"), "trawl -i sql");
        assert_eq!(read("trawl --status sql"), "trawl --status sql");
    }
}
