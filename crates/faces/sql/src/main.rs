//! The program `trawl-sql`: all code is in the library.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    trawl_sql::run(std::env::args_os().collect()).into()
}
