//! The project's chores: `cargo xtask generate [--check]`.
//!
//! - `generate`: the table of generated files; writes them or finds stale ones.
//! - `api`: `clients/openapi.json` from the table of questions and the schemas of rows.
//! - `columns`: `docs/columns.md` from the table of columns.
//! - `predicates`: `docs/find.md` from the registry of the find language.
//! - `program`: man pages and completions from the built program.
//!
//! The rules that the code must follow (dependencies, style, paths named in documents) are this
//! package's tests.

#![forbid(unsafe_code)]

mod api;
mod columns;
mod conformance;
mod fields;
mod generate;
mod predicates;
mod program;

use std::process::ExitCode;

use generate::Mode;

const USAGE: &str = "usage: cargo xtask generate [--check]
  generate           rewrite every generated file
  generate --check   say which generated files are stale; exit code 1 if any is";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mode = match words.as_slice() {
        ["generate"] => Mode::Write,
        ["generate", "--check"] => Mode::Check,
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match generate::run(&generate::repository(), generate::GENERATORS, mode) {
        Ok(changes) if changes.is_empty() => ExitCode::SUCCESS,
        Ok(changes) => {
            for change in &changes {
                println!("{change}");
            }
            match mode {
                Mode::Write => ExitCode::SUCCESS,
                Mode::Check => {
                    eprintln!("generated files are stale: run `cargo xtask generate`");
                    ExitCode::FAILURE
                }
            }
        }
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::from(2)
        }
    }
}
