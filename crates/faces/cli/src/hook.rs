//! The program `trawl-hook`, which has no rights once it runs. Without arguments it is a worker that
//! runs built-in hooks on files that it is given: only this program contains the parsers of files
//! ([`trawl_parsers`]). With arguments it runs a user's WebAssembly module ([`trawl_modules`]).

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1).peekable();
    match words.peek() {
        None => trawl_parsers::serve(),
        Some(_) => trawl_modules::serve(words),
    }
}
