//! `trawl-gen`: writes the trace of a large fictional file system, in GUFI's text format.
//!
//! It models a computing centre: homes, projects, scratch space, archives and installed software,
//! with names, sizes, times, owners and permissions as people and programs make them. The same
//! arguments give the same bytes. Directories come in depth-first order and sorted by name, so that
//! a trace can be indexed while it is written:
//!
//! ```text
//! trawl-gen 100000000 | trawl index --from-trace - --root /t
//! ```

#![forbid(unsafe_code)]

mod centre;
mod line;
mod pattern;
mod people;
mod plan;
mod random;
mod themes;
mod tree;
mod words;

use std::io::{self, ErrorKind};
use std::process::ExitCode;

use crate::centre::{Centre, Openness};

const USAGE: &str = "\
usage: trawl-gen ROWS [SEED [closed]]

Writes a trace of exactly ROWS entries to standard output. With `closed`,
homes, projects, scratch space and archives are private to their owners, so
that a stranger sees little more than installed software, a twentieth.";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some(centre) = arguments(&words) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match centre.write(io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader closed the pipe early.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("trawl-gen: cannot write to standard output: {error}");
            ExitCode::from(2)
        }
    }
}

/// Parses the arguments; `None` if they are invalid.
fn arguments(words: &[String]) -> Option<Centre> {
    let (rows, more) = words.split_first()?;
    let rows = rows.parse().ok().filter(|rows| *rows > 0)?;
    let (seed, openness) = match more {
        [] => (42, Openness::Mixed),
        [seed] => (seed.parse().ok()?, Openness::Mixed),
        [seed, closed] if closed == "closed" => (seed.parse().ok()?, Openness::Closed),
        _ => return None,
    };
    Some(Centre {
        rows,
        seed,
        openness,
    })
}
