//! Sends a report with sendmail(8), or a program that is called like it.

use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use trawl_overview::document::Document;
use trawl_overview::mail::{Address, Envelope, message};

use super::{SENDMAIL, host, user};
use crate::failure::{Failure, cause, shown};

/// Sends the report. The program reads the recipients from the message.
///
/// # Errors
/// If the program cannot be run, or says that it failed.
pub(super) fn send(
    document: &Document,
    to: &[Address],
    program: Option<&Path>,
) -> Result<(), Failure> {
    let program = program.map_or_else(sendmail, Path::to_owned);
    let failed = |why: String| Failure::Mail {
        program: program.clone(),
        why,
    };
    let (user, host) = (user()?, host());
    let envelope = Envelope {
        user: &user,
        host: &host,
        to,
        subject: &subject(document, &host),
        time: document.made,
        number: std::process::id().into(),
    };
    let text = trawl_overview::text(document);
    let message = message(&envelope, &text, &trawl_overview::html(document));
    // A file, not a pipe: a program that ends early is no reason to end by SIGPIPE.
    let mut file =
        trawl_sys::file::nowhere(c"trawl-report").map_err(|error| failed(error.to_string()))?;
    let filled = file
        .write_all(message.as_bytes())
        .and_then(|()| file.rewind());
    filled.map_err(|error| failed(cause(&error)))?;
    let mut command = Command::new(&program);
    let command = command.args(["-t", "-i"]).stdin(Stdio::from(file));
    let output = command.output().map_err(|error| failed(cause(&error)))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [&output.stderr[..], &output.stdout[..]].concat();
    let said = shown(said.trim_ascii());
    let ended = output.status;
    Err(failed(match said.is_empty() || said == "/" {
        true => ended.to_string(),
        false => format!("{ended}: {said}"),
    }))
}

/// Returns where sendmail is: in its usual places, else in the search path.
fn sendmail() -> PathBuf {
    let usual = SENDMAIL.iter().map(Path::new);
    let found = usual.into_iter().find(|path| path.exists());
    found.unwrap_or(Path::new("sendmail")).to_owned()
}

fn subject(document: &Document, host: &[u8]) -> Vec<u8> {
    let end: &[u8] = match document.lacking().is_complete() {
        true => b"",
        false => b" (incomplete)",
    };
    [&document.title[..], b" on ", host, end].concat()
}
