//! The program `trawl-http`, which `trawl web` and `trawl serve --http` start: serves one user, or many,
//! over HTTP. All of its code is in the library of this crate.

#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::process::ExitCode;

use trawl_http::gate::openid::process;
use trawl_http::gate::{desk, front, keeper, password};
use trawl_http::options::Options;
use trawl_http::server;

/// Wrong usage or a fatal error.
const FATAL: u8 = 2;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("trawl: {why}");
            ExitCode::from(FATAL)
        }
    }
}

/// Does the work that the first word names; without such a word, serves one user.
fn run() -> Result<(), String> {
    let mut words = std::env::args_os().skip(1).peekable();
    let work = words.peek().and_then(|word| word.to_str());
    let rest = |words: std::iter::Peekable<_>| words.skip(1).collect::<Vec<OsString>>();
    match work {
        Some(keeper::WORD) => keeper::keep(rest(words)),
        Some(keeper::FRONT) => front::serve(),
        Some(keeper::DESK) => server::run(desk::serve(rest(words))),
        Some(process::WORD) => process::serve(),
        Some(password::WORD) => password::answer(),
        _ => {
            let options = Options::parse(words).map_err(|error| error.to_string())?;
            server::run(server::serve(options))
        }
    }
}
