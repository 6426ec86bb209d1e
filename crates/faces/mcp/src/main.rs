//! The program `trawl-mcp`, which `trawl mcp` starts: serves an assistant on standard input and
//! output. All of its code is in the library of this crate.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use trawl_mcp::options::Options;
use trawl_mcp::server::serve;

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

fn run() -> Result<(), String> {
    let options = Options::parse(std::env::args_os().skip(1)).map_err(|error| error.to_string())?;
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot start: {error}"))?;
    let served = runtime.block_on(serve(options));
    // A read that a file system does not answer must not keep the process.
    runtime.shutdown_background();
    served
}
