//! Runs a command with the preload library over some directories: `bulk LIBRARY ROOTS COMMAND…`.
//! `TRAWL_BULK_EAGER=1` makes it ask at the first call; `TRAWL_BULK_REPORT=1` prints what the
//! service did.

#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use trawl_table_service::{Config, Haste, Running, Service};

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    let [library, roots, command, arguments @ ..] = &words[..] else {
        eprintln!("usage: bulk LIBRARY ROOTS COMMAND [ARGUMENT]…");
        return ExitCode::from(2);
    };
    let roots: Vec<PathBuf> = std::env::split_paths(roots).collect();
    let mut config = Config::local(roots);
    if std::env::var_os("TRAWL_BULK_EAGER").is_some() {
        config.haste = Haste::Eager;
    }
    let service = match Service::start(config) {
        Ok(service) => service,
        Err(error) => {
            eprintln!("bulk: {error}");
            return ExitCode::from(2);
        }
    };
    let mut command = Command::new(command);
    command.args(arguments).envs(service.environment());
    let (name, value) = Running::preload(Path::new(library));
    let status = command.env(name, value).status();
    if std::env::var_os("TRAWL_BULK_REPORT").is_some() {
        let (answers, entries) = service.statistics();
        eprintln!("bulk: {answers} questions, {entries} entries");
    }
    match status {
        Ok(status) => ExitCode::from(
            status
                .code()
                .and_then(|code| u8::try_from(code).ok())
                .unwrap_or(1),
        ),
        Err(error) => {
            eprintln!("bulk: {error}");
            ExitCode::from(2)
        }
    }
}
