//! The program `trawl-hook`: a worker that runs built-in hooks on files that it is given. Only this
//! program contains the parsers of files, and it has no rights once it runs ([`trawl_parsers`]).

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    trawl_parsers::serve()
}
