//! The program `trawl-more`: `trawl` with what takes longer to start. All of its code is in the library
//! of this crate.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    trawl_cli::trawl_more().into()
}
