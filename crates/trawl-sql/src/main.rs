//! The program `trawl-sql`: everything is in the library beside it.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    trawl_sql::run(std::env::args_os().collect()).into()
}
