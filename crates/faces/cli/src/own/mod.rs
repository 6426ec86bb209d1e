//! `--profile FILE`: records the operations of this process and writes the recording when the
//! process ends, also after a failure or by a signal.
//!
//! Invariant: standard output and the exit code are those of the command without the option. A
//! recording that cannot be written is a message. SIGINT, SIGTERM, SIGHUP and SIGPIPE still end the
//! process, after the recording is written.

pub(crate) mod published;

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use trawl_profile::own;
use trawl_sys::SysError;
use trawl_sys::signal::Caught;

use crate::failure::Failure;
use crate::output::say;

/// The recording that is to be written.
static PENDING: Mutex<Option<Pending>> = Mutex::new(None);

struct Pending {
    file: File,
    path: PathBuf,
    subject: String,
}

/// Begins to record, unless this process already does. `words` are those of the command line.
pub(crate) fn begin(path: &Path, words: &[std::ffi::OsString]) -> Result<(), Failure> {
    let mut pending = PENDING.lock().unwrap_or_else(PoisonError::into_inner);
    if pending.is_some() {
        return Ok(());
    }
    let file = File::create(path).map_err(|source| Failure::File {
        action: "write",
        path: path.to_owned(),
        source,
    })?;
    own::start().map_err(|error| Failure::Usage(error.to_string()))?;
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    *pending = Some(Pending {
        file,
        path: path.to_owned(),
        subject: words.join(" "),
    });
    drop(pending);
    write_at_signals().map_err(|error| Failure::Usage(format!("cannot catch signals: {error}")))
}

/// Starts the thread that writes the recording before a signal ends the process.
fn write_at_signals() -> Result<(), SysError> {
    let caught = Caught::take()?;
    let write = move || {
        caught.wait();
        finish();
        caught.end();
    };
    let thread = std::thread::Builder::new().name("profile".into());
    thread.spawn(write).map(drop).map_err(|error| {
        let errno = trawl_sys::Errno(error.raw_os_error().unwrap_or(0));
        SysError::new(trawl_sys::Op::Clone, errno)
    })
}

/// Returns whether a recording is to be written.
pub(crate) fn is_recording() -> bool {
    let pending = PENDING.lock().unwrap_or_else(PoisonError::into_inner);
    pending.is_some()
}

/// Writes the recording, if one was begun and is not written yet.
pub(crate) fn finish() {
    let mut pending = PENDING.lock().unwrap_or_else(PoisonError::into_inner);
    let (Some(pending), Some(own)) = (pending.take(), own::started()) else {
        return;
    };
    let Pending {
        mut file,
        path,
        subject,
    } = pending;
    let recording = own.recording(&subject).and_then(|one| one.to_json());
    let written = match recording {
        Ok(text) => file.write_all(text.as_bytes()).map_err(|e| e.to_string()),
        Err(error) => Err(error.to_string()),
    };
    if let Err(why) = written {
        say(format_args!("cannot write {}: {why}", path.display()));
    }
}
