//! `trawl-shell`: a login shell or forced command that runs the search server, whatever command it
//! is given.
//!
//! Invariants: it ignores arguments and environment, so a user who controls only those gets nothing
//! but the protocol on standard input and output; it exports the trees listed in a file that only
//! the superuser can write. Where that file exports everything, command lines are answered, too, by
//! the program `trawl` beside this one, which answers questions alone (`trawl answer`). It starts no
//! other program.

#![forbid(unsafe_code)]

use std::os::fd::AsFd;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use trawl_call::LiveWalk;
use trawl_remote::transport::Transport;
use trawl_remote::{Commands, Exports, Limits, RemoteError, Serving, exports, serve};

/// Returns what answers command lines: the program beside this one, with an environment in which
/// nothing is the client's.
fn commands() -> Option<Arc<Commands>> {
    let own = std::env::current_exe().ok()?;
    Some(Arc::new(Commands {
        program: own.parent()?.join("trawl"),
        words: vec!["answer".into()],
        variables: vec![
            ("HOME".into(), "/nonexistent".into()),
            ("PATH".into(), "/usr/bin:/bin".into()),
        ],
    }))
}

fn run() -> Result<(), RemoteError> {
    let serving = Serving {
        exports: Exports::from_file(Path::new(exports::FILE))?,
        executor: Arc::new(LiveWalk::default()),
        limits: Limits::default(),
        delay: Duration::ZERO,
        commands: commands(),
    };
    let failed = |source| RemoteError::File {
        action: "use",
        path: "standard input and output".into(),
        source,
    };
    let input = std::io::stdin().as_fd().try_clone_to_owned();
    let output = std::io::stdout().as_fd().try_clone_to_owned();
    let transport = input.and_then(|input| Transport::over(input, output?));
    serve(transport.map_err(failed)?, &serving)
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("trawl-shell: {error}");
            ExitCode::from(2)
        }
    }
}
